package variational

import (
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/neural"
)

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
