// Package avril is AVRIL (Chan & van der Schaar, 2021) in continuous spaces, on demonstrations alone.
package avril

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/neural"
)

// The networks of the continuous form.
const (
	networkQ      = "q"
	networkReward = "reward"
)

// The outputs of networkReward for a state and an action.
const (
	outputMean = iota
	outputLogStd
	rewardOutputs
)

// Objective is AVRIL in continuous spaces, in its batch form (Chan & van der Schaar 2021, Sec. 3.3): it sees
// demonstrated transitions (s, a, s', a') alone. It minimises, per transition,
//
//	−log π(a|s) + KL(N(m, d²) ‖ N(0, σ²)) − λ log N(Q(s,a) − γ Q(s',a'); m, d²)
//
// with π(a|s) ∝ exp(βQ(s,a)), and the mean m and deviation d of the reward R(s,a) given by a second network. A
// transition that ended the episode has no future; the last one of a trajectory that ended otherwise has no a' and no
// part in the last term.
type Objective struct {
	neural.Plain
	// Lambda is λ; the authors' code has 1.
	Lambda float64 `json:"lambda"`
	// PriorStd is the prior's σ; the authors' code has 1.
	PriorStd float64 `json:"prior_std"`
}

// DefaultObjective returns the authors' choices.
func DefaultObjective() Objective { return Objective{Lambda: 1, PriorStd: 1} }

// Validate reports the first field that is out of range, by its key in JSON.
func (o Objective) Validate() error {
	return check.All("avril", check.NotNegative("lambda", o.Lambda), check.Positive("prior_std", o.PriorStd))
}

// Name is the method's name in result rows.
const Name = "avril"

// New returns AVRIL in continuous spaces with the given training.
func New(c neural.Config, o Objective) (*neural.Learner, error) {
	return neural.NewLearner(Name, c, o)
}

// Networks lists the Q-function and the encoder of rewards.
func (Objective) Networks() []neural.Network {
	return []neural.Network{{Name: networkQ, Outputs: 1}, {Name: networkReward, Outputs: rewardOutputs}}
}

// Loss returns the negative ELBO per transition.
func (o Objective) Loss(w *neural.Weights, b *neural.Batch) neural.Loss {
	t := &b.Expert
	n := t.Len()
	// [runs, 2n, actions]
	q := graph.Squeeze(w.Network(networkQ, graph.Concatenate([]*graph.Node{t.State, t.Next}, 1)), -1)
	now, next := graph.SliceAxis(q, 1, graph.AxisRange(0, n)), graph.SliceAxis(q, 1, graph.AxisRange(n))
	logProbs := graph.LogSoftmax(graph.MulScalar(now, w.Beta), -1)
	logLikelihood := graph.ReduceMean(choose(logProbs, t.Action), -1) // [runs]

	reward := w.Network(networkReward, t.State)
	part := func(i int) *graph.Node {
		return choose(graph.Squeeze(graph.SliceAxis(reward, -1, graph.AxisElem(i)), -1), t.Action) // [runs, n]
	}
	mean, logStd := part(outputMean), part(outputLogStd)
	precision := 1 / (o.PriorStd * o.PriorStd)
	kl := graph.MulScalar(graph.Add(graph.Square(mean), graph.Exp(graph.MulScalar(logStd, 2))), precision/2)
	kl = graph.ReduceMean(graph.AddScalar(graph.Sub(kl, logStd), math.Log(o.PriorStd)-0.5), -1)

	difference := graph.Sub(choose(now, t.Action), graph.Mul(t.Discount, choose(next, t.NextAction)))
	standardised := graph.Mul(graph.Sub(difference, mean), graph.Exp(graph.Neg(logStd)))
	logDensity := graph.AddScalar(graph.Sub(graph.MulScalar(graph.Square(standardised), -0.5), logStd),
		-math.Log(2*math.Pi)/2)
	known := graph.ReduceSum(t.NextAction, -1) // 1 where there is a', [runs, n]
	ended := graph.ConvertDType(graph.Equal(t.Discount, graph.ZerosLike(t.Discount)), known.DType())
	known = graph.Max(known, ended)
	count := graph.Max(graph.ReduceSum(known, -1), graph.OnesLike(kl))
	constraint := graph.Div(graph.ReduceSum(graph.Mul(known, logDensity), -1), count)

	return neural.Loss{
		Total: graph.Sub(graph.Sub(kl, logLikelihood), graph.MulScalar(constraint, o.Lambda)),
		Terms: []neural.Term{
			{Name: neural.TermLogLikelihood, Value: logLikelihood},
			{Name: neural.TermKL, Value: kl},
			{Name: "constraint", Value: constraint},
		},
	}
}

// Predictor returns the Boltzmann policy of the Q-values, and these.
func (Objective) Predictor(c neural.Constants) neural.Predictor {
	return neural.Boltzmann(c.Actions, c.Beta)
}

// choose returns the entries [runs, n] of x [runs, n, actions] at one-hot actions.
func choose(x, actions *graph.Node) *graph.Node { return graph.ReduceSum(graph.Mul(x, actions), -1) }
