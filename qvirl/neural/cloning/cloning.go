// Package cloning is behaviour cloning (Pomerleau 1991): a classifier of the demonstrator's actions.
package cloning

import (
	"github.com/go-birl/birl/qvirl/neural"
	. "github.com/gomlx/gomlx/core/graph"
)

// Name is the method's name in result rows.
const Name = "bc"

// network is the name of the classifier.
const network = "policy"

// Objective is the negative log-likelihood of the demonstrated actions, per transition.
type Objective struct{}

// New returns behaviour cloning with the given training.
func New(c neural.Config) (*neural.Learner, error) {
	return neural.NewLearner(Name, c, Objective{})
}

// Networks lists the classifier, which gives each action a logit.
func (Objective) Networks() []neural.Network {
	return []neural.Network{{Name: network, Outputs: 1}}
}

// Parameters lists none.
func (Objective) Parameters(*neural.Data) ([]neural.Parameter, error) { return nil, nil }

// Noise returns 0.
func (Objective) Noise(expert, aux, actions int) int { return 0 }

// Loss returns the cross-entropy on the expert transitions.
func (o Objective) Loss(w *neural.Weights, b *neural.Batch) neural.Loss {
	logProbs, _ := o.Predict(w, b.Expert.State)
	logLikelihood := ReduceMean(ReduceSum(Mul(logProbs, b.Expert.Action), -1), -1) // [runs]
	return neural.Loss{
		Total: Neg(logLikelihood),
		Terms: []neural.Term{{Name: neural.TermLogLikelihood, Value: logLikelihood}},
	}
}

// Predict returns the classifier's log-probabilities; the apprentice takes the most probable action.
func (Objective) Predict(w *neural.Weights, states *Node) (logProbs, values *Node) {
	logits := Squeeze(w.Network(network, states), -1)
	logProbs = LogSoftmax(logits, -1)
	return logProbs, logProbs
}
