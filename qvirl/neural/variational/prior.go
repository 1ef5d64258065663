package variational

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/neural"
)

// The parameters of the prior over rewards.
const (
	paramPriorMean    = "prior.mean"
	paramPriorLogStd  = "prior.log_std"         // log σ_0
	paramLengthscales = "prior.log_lengthscale" // log ℓ_d [observation + actions]
)

// prior is a Gaussian process over rewards of constant mean and a radial basis function kernel with a lengthscale for
// each feature of state ⊕ one-hot action (Appendix "Prior Distribution").
type prior struct {
	mean, std   *Node // [runs]
	lengthscale *Node // [runs, features], or those of an ImagePrior

	image       ImagePrior
	observation neural.Image // zeros where states are vectors of numbers, which image is not for
}

func (o Objective) newPrior(w *neural.Weights) prior {
	p := prior{mean: w.Parameter(paramPriorMean), std: Exp(w.Parameter(paramPriorLogStd)), image: o.Image,
		observation: w.Image}
	if p.observation == (neural.Image{}) {
		p.lengthscale = Exp(w.Parameter(paramLengthscales))
	} else {
		p.lengthscale = w.Parameter(paramImageScales)
	}
	return p
}

// farApart is a squared difference of features beyond which no rewards correlate, and what larger ones are taken for:
// an infinite one would leave no gradient.
const farApart = 1e30

// covariance returns the covariances of the rewards [runs, n, n] of states [runs, n, observation] and one-hot actions
// [runs, n, actions]. The features are those that the network sees, which the paper standardises: their unit and origin
// make no difference, as the lengthscales have the same unit.
//
// A feature that hardly varied in the demonstrations may do so later, and is then some 10^10 standard deviations from
// zero. The lengthscales therefore scale differences: divided by them, features as large would leave their gradients
// nothing but rounding errors.
func (p prior) covariance(states, actions *Node) *Node {
	variance := ExpandAxes(Square(p.std), 1, 2)
	if p.observation != (neural.Image{}) {
		return Mul(p.image.correlation(p.observation, states, actions, p.lengthscale), variance)
	}
	features := Concatenate([]*Node{states, actions}, -1)
	apart2 := Square(Sub(ExpandAxes(features, 2), ExpandAxes(features, 1))) // [runs, n, n, features]
	apart2 = Min(apart2, ConstAs(apart2, farApart))
	corr := Exp(MulScalar(Einsum("rijf,rf->rij", apart2, Inverse(Square(p.lengthscale))), -0.5))
	return Mul(corr, variance)
}

// unchanging is the root mean square, in the network's units, below which the changes of a feature are taken for
// rounding: numbers of order one are no closer together in single precision. A prior with such a lengthscale would tell
// rewards apart by nothing else.
const unchanging = 1e-6

// lengthscales returns the prior's initial lengthscales: the root mean square of the differences between successive
// transitions of a trajectory, feature by feature. As a lengthscale starts from the feature's own differences, and
// training moves its logarithm, the unit of a feature makes no difference. A feature that does not change from one
// transition to the next, but for rounding, gets 1.
func lengthscales(d *neural.Data) []float64 {
	observation := len(d.Scale.Mean)
	square := make([]float64, observation+d.Actions)
	starts := map[int]bool{}
	for _, i := range d.Starts {
		starts[i] = true
	}
	pairs := 0
	for i := 1; i < d.Len(); i++ {
		if starts[i] {
			continue
		}
		pairs++
		for f := range observation {
			change := float64(d.State[i*observation+f] - d.State[(i-1)*observation+f])
			square[f] += change * change
		}
		if a, b := d.Action[i], d.Action[i-1]; a != b {
			square[observation+int(a)]++
			square[observation+int(b)]++
		}
	}
	out := make([]float64, len(square))
	for f := range out {
		out[f] = 1
		if change := math.Sqrt(square[f] / float64(max(pairs, 1))); change > unchanging {
			out[f] = change
		}
	}
	return out
}
