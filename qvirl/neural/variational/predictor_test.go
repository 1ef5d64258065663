package variational

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/neural"
)

// What the graph says of many states is what the predictor says of the network's outputs there, to a few roundings of
// float32, whatever the marginals and the unit, and also where probabilities are far below what an exponential holds.
func TestPredictionsInTheGraph(t *testing.T) {
	const states, actions = 300, 3
	random, observations := rand.New(rand.NewPCG(1, 1)), make([]float32, states*2)
	for i := range observations {
		observations[i] = float32(3 * random.NormFloat64())
	}
	for name, change := range map[string]func(o *Objective){
		"the paper's": func(*Objective) {}, "skewed": func(o *Objective) { o.Marginals = SinhArcsinh },
		"per β": func(o *Objective) { o.PerBeta = true }, "steep": func(o *Objective) { o.PriorStd = 1e3 },
	} {
		o := DefaultObjective(1)
		change(&o)
		m := train(t, o, 20, 1)[0]
		got, err := m.Predict(observations)
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := m.Outputs(observations)
		if err != nil {
			t.Fatal(err)
		}
		logProbs, values := make([]float32, states*actions), make([]float32, states*actions)
		find := func(name string) []float32 {
			for _, p := range m.Parameters() {
				if p.Name == name {
					return p.Value
				}
			}
			return nil
		}
		o.Predictor(neural.Constants{Actions: actions, Beta: 2, Parameter: find})(outputs, logProbs, values)
		for i, l := range logProbs {
			if gap := math.Abs(float64(got.Own[i] - l)); !(gap <= 2e-5*(1+math.Abs(float64(l)))) {
				t.Fatalf("%s: log p %g of action %d in state %d, want %g", name, got.Own[i], i%actions, i/actions, l)
			}
			if gap := math.Abs(float64(got.Values[i] - values[i])); !(gap <= 1e-6*math.Abs(float64(values[i]))) {
				t.Fatalf("%s: value %g of action %d in state %d, want %g", name, got.Values[i], i%actions, i/actions,
					values[i])
			}
		}
	}
}

// BenchmarkPredictor turns a network's outputs for ten thousand states into policies, in one goroutine.
func BenchmarkPredictor(b *testing.B) {
	const states, actions = 10_000, 4
	o := DefaultObjective(1)
	random, outputs := rand.New(rand.NewPCG(1, 1)), make([]float32, states*actions*(outEmbedding+o.Embedding))
	for i := range outputs {
		outputs[i] = float32(random.NormFloat64())
	}
	logProbs, values := make([]float32, states*actions), make([]float32, states*actions)
	predict := o.Predictor(neural.Constants{Actions: actions, Beta: 3})
	for b.Loop() {
		predict(outputs, logProbs, values)
	}
}
