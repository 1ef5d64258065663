// Package iqlearn is IQ-Learn (Garg et al. 2021), offline and χ²-regularised: a soft Q-function whose implied reward
// Q(s,a) − γV(s') is high on what the demonstrator did, and the ensemble of several of them.
package iqlearn

import (
	"cmp"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/neural"
)

// The methods' names in result rows.
const (
	Name         = "iqlearn"
	NameEnsemble = "iqlearn-ensemble"
)

// network is the name of the Q-function.
const network = "q"

// Objective is the negative of IQ-Learn's concave objective in the space of Q-functions, per transition:
//
//	−E[r] + E[V(s) − γV(s')] + E[r²]/(4α)   with   r = Q(s,a) − γV(s'),   V(s) = T log Σ_a exp(Q(s,a)/T)
//
// where all expectations are over demonstrated transitions, and γ is 0 where one ended the episode. The second term
// telescopes to the soft value of the initial states; the authors recommend it for learning offline ("value_expert" in
// their code).
type Objective struct {
	neural.Plain
	// Temperature is T. With 0 it is 1/β, so that the soft Q-function is on the scale of the demonstrator's Q-values.
	Temperature float64 `json:"temperature"`
	// Alpha is α: the smaller, the smaller the rewards. The authors' is 0.5.
	Alpha float64 `json:"alpha"`
}

// DefaultObjective returns the authors' choices, at the temperature of the demonstrator.
func DefaultObjective() Objective { return Objective{Alpha: 0.5} }

// Validate reports the first field that is out of range, by its key in JSON.
func (o Objective) Validate() error {
	return check.All("iqlearn", check.NotNegative("temperature", o.Temperature),
		check.That(o.Alpha > 0, "alpha = %g, want a positive number", o.Alpha))
}

// New returns IQ-Learn with the given training.
func New(c neural.Config, o Objective) (*neural.Learner, error) {
	return neural.NewLearner(Name, c, o)
}

// Networks lists the Q-function.
func (Objective) Networks() []neural.Network {
	return []neural.Network{{Name: network, Outputs: 1}}
}

// Loss returns the negative objective.
func (o Objective) Loss(w *neural.Weights, b *neural.Batch) neural.Loss {
	n := b.Expert.Len()
	states := Concatenate([]*Node{b.Expert.State, b.Expert.Next}, 1)
	q := Squeeze(w.Network(network, states), -1) // [runs, 2n, actions]
	temperature := o.temperature(w.Beta)
	v := neural.SoftMax(q, temperature)
	part := func(i int) *Node { return SliceAxis(v, 1, AxisRange(i*n, (i+1)*n)) } // [runs, n]
	taken := ReduceSum(Mul(SliceAxis(q, 1, AxisRange(0, n)), b.Expert.Action), -1)
	next := Mul(b.Expert.Discount, part(1))

	reward := Sub(taken, next)
	value := ReduceMean(Sub(part(0), next), -1)
	meanReward := ReduceMean(reward, -1)
	chi2 := MulScalar(ReduceMean(Square(reward), -1), 1/(4*o.Alpha))
	return neural.Loss{
		Total: Add(Sub(value, meanReward), chi2),
		Terms: []neural.Term{
			{Name: neural.TermLogLikelihood,
				Value: MulScalar(ReduceMean(Sub(taken, part(0)), -1), 1/temperature)},
			{Name: "reward", Value: meanReward},
			{Name: "value", Value: value},
			{Name: "chi2", Value: chi2},
		},
	}
}

// Predictor returns the soft policy and the Q-values.
func (o Objective) Predictor(c neural.Constants) neural.Predictor {
	return neural.Boltzmann(c.Actions, 1/o.temperature(c.Beta))
}

// temperature returns T for a demonstrator of rationality β.
func (o Objective) temperature(beta float64) float64 { return cmp.Or(o.Temperature, 1/beta) }
