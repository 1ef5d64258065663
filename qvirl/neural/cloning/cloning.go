// Package cloning is behaviour cloning (Pomerleau 1991): a classifier of the expert's actions.
package cloning

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/neural"
)

// Name is the method's name in result rows.
const Name = "bc"

// network is the name of the classifier.
const network = "policy"

// Objective is the negative log-likelihood of the demonstrated actions, per transition.
type Objective struct{ neural.Plain }

// New returns behaviour cloning with the given training.
func New(c neural.Config) (*neural.Learner, error) {
	return neural.NewLearner(Name, c, Objective{})
}

// Networks lists the classifier, which gives each action a logit.
func (Objective) Networks() []neural.Network {
	return []neural.Network{{Name: network, Outputs: 1}}
}

// Loss returns the cross-entropy on the expert transitions.
func (o Objective) Loss(w *neural.Weights, b *neural.Batch) neural.Loss {
	logProbs := LogSoftmax(Squeeze(w.Network(network, b.Expert.State), -1), -1)
	logLikelihood := ReduceMean(ReduceSum(Mul(logProbs, b.Expert.Action), -1), -1) // [runs]
	return neural.Loss{
		Total: Neg(logLikelihood),
		Terms: []neural.Term{{Name: neural.TermLogLikelihood, Value: logLikelihood}},
	}
}

// Predictor returns the classifier's log-probabilities; the apprentice takes the most probable action.
func (Objective) Predictor(c neural.Constants) neural.Predictor {
	predict := neural.Boltzmann(c.Actions, 1)
	return func(logits, logProbs, values []float32) {
		predict(logits, logProbs, values)
		copy(values, logProbs)
	}
}
