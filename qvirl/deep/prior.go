package deep

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/continuous"
)

// The parameters of the prior over rewards.
const (
	paramPriorMean    = "prior.mean"
	paramPriorLogStd  = "prior.log_std"         // log σ_0
	paramLengthscales = "prior.log_lengthscale" // log ℓ_d [observation + actions]
)

// prior is a Gaussian process over rewards of constant mean and a radial basis function kernel with a lengthscale for each feature
// of state ⊕ one-hot action (Appendix "Prior Distribution").
type prior struct {
	mean, std   *Node // [runs]
	lengthscale *Node // [runs, features]
}

func newPrior(w *continuous.Weights) prior {
	return prior{
		mean: w.Parameter(paramPriorMean), std: Exp(w.Parameter(paramPriorLogStd)),
		lengthscale: Exp(w.Parameter(paramLengthscales)),
	}
}

// rewards returns the rewards of states [runs, n, observation] and one-hot actions [runs, n, actions]. The features are those that the
// network sees, which the paper standardises: their unit and origin make no difference, as the lengthscales have the same unit.
func (p prior) rewards(states, actions *Node) combination {
	features := Div(Concatenate([]*Node{states, actions}, -1), ExpandAxes(p.lengthscale, 1))
	n := states.Shape().Dim(1)
	std := BroadcastToDims(ExpandAxes(p.std, 1, 2), p.std.Shape().Dim(0), 1, n)
	return combination{weight: std, point: ExpandAxes(features, 1)}
}

// lengthscales returns the prior's initial lengthscales: the root mean square of the differences between successive transitions of a
// trajectory, feature by feature. As a lengthscale starts from the feature's own differences, and training moves its logarithm, the unit
// of a feature makes no difference. A feature that never changes from one transition to the next gets 1.
func lengthscales(d *continuous.Data) []float64 {
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
		if square[f] > 0 {
			out[f] = math.Sqrt(square[f] / float64(pairs))
		}
	}
	return out
}
