package active

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Belief is what samples of an expert's policy, equally likely at first, are worth once actions of the expert's were
// seen: weights w_j ∝ Π_t π_j(a_t|s_t), which sum to 1.
type Belief struct{ weights []float64 }

// NewBelief returns the belief in n equally likely samples.
func NewBelief(n int) *Belief {
	b := &Belief{make([]float64, n)}
	b.Forget()
	return b
}

// Forget makes all samples equally likely.
func (b *Belief) Forget() {
	for j := range b.weights {
		b.weights[j] = 1 / float64(len(b.weights))
	}
}

// Information returns what the expert's action in a state tells about which sample is the expert's, in nats,
//
//	H(Σ_j w_j π_j) − Σ_j w_j H(π_j),
//
// and sets predictive [actions] to Σ_j w_j π_j. probs are the π_j(a) in that state [actions][n], entropy the H(π_j)
// [n].
func (b *Belief) Information(probs [][]float64, entropy, predictive []float64) float64 {
	for a := range predictive {
		predictive[a] = floats.Dot(b.weights, probs[a])
	}
	return max(0, stat.Entropy(predictive)-floats.Dot(b.weights, entropy)) // negative by rounding only
}

// Observe takes an action of the expert's into account, of which probs are the π_j(a) [n] and predictive is Σ_j w_j
// π_j(a).
func (b *Belief) Observe(probs []float64, predictive float64) {
	floats.Mul(b.weights, probs)
	floats.Scale(1/predictive, b.weights)
}
