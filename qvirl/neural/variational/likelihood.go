package variational

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/graphs"
)

// Likelihood names how the log-likelihood of demonstrated actions is computed in training.
type Likelihood string

const (
	// ClosedForm is the log of the actions' expected probabilities, in closed form (Eq. mean-field-action-prob); the
	// paper's.
	ClosedForm Likelihood = "closed-form"
	// Sampled is the expectation of the actions' log-probabilities, from draws of the optimal values by the
	// reparametrisation trick.
	Sampled Likelihood = "sampled"
)

// sampledLogLikelihood returns the sum of the expected log-probabilities of actions [runs], by draws of the values.
//
//	action  [runs, actions, n], one-hot
//	noise   [runs, draws, actions, n], standard normal
func sampledLogLikelihood(v values, action, noise *Node, beta float64) *Node {
	actions := v.mean.Shape().Dim(1)
	drawn := make([]*Node, actions) // of each action [runs, draws, n]
	for a, row := range v.factor() {
		var z *Node
		for b, weight := range row {
			z = graphs.Plus(z, Mul(ExpandAxes(weight, 1), Squeeze(SliceAxis(noise, 2, AxisElem(b)), 2)))
		}
		if v.warp != nil {
			z = v.warp.apply(z)
		}
		of := func(x *Node) *Node { return SliceAxis(x, 1, AxisElem(a)) } // [runs, 1, n]
		drawn[a] = Add(of(v.mean), Mul(of(v.std), z))
	}
	logits := MulScalar(Stack(drawn, 2), beta) // [runs, draws, actions, n]
	top := StopGradient(ReduceAndKeep(logits, ReduceMax, 2))
	logits = Sub(logits, top)
	logProbs := Sub(logits, Log(ReduceAndKeep(Exp(logits), ReduceSum, 2)))
	return MulScalar(ReduceSum(Mul(logProbs, ExpandAxes(action, 1)), 1, 2, 3), 1/float64(noise.Shape().Dim(1)))
}

// factorFloor is what the remaining variance of a value of unit variance, given those of earlier actions, is at least
// taken for.
const factorFloor = 1e-6

// factor returns the lower triangular factors of the states' correlations k, entry by entry [runs, n].
func (v values) factor() [][]*Node {
	keep := graphs.Materializer(identityFor(v.mean))
	correlation := v.correlation()
	actions := v.mean.Shape().Dim(1)
	rows := make([][]*Node, actions)
	for a := range actions {
		at := func(b int) *Node { return Squeeze(Slice(correlation, AxisRange(), AxisElem(a), AxisElem(b)), 1, 2) }
		rest := at(a)
		for b := range a {
			entry := at(b)
			for c := range b {
				entry = Sub(entry, Mul(rows[a][c], rows[b][c]))
			}
			entry = keep(Div(entry, rows[b][b]))
			rows[a] = append(rows[a], entry)
			rest = Sub(rest, Square(entry))
		}
		rows[a] = append(rows[a], keep(Sqrt(Max(rest, ConstAs(rest, factorFloor)))))
	}
	return rows
}
