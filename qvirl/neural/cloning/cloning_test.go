package cloning

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

const observation, actions = 3, 4

func testConfig(a neural.Architecture) neural.Config {
	c := neural.Default()
	c.Architecture, c.Hidden, c.Steps, c.ReportEvery, c.Folds, c.Backend = a, []int{7, 6}, 1, 1, 0, "go"
	return c
}

// started returns a model after one step of training on random demonstrations.
func started(t *testing.T, a neural.Architecture) *neural.Fitted {
	t.Helper()
	return neuraltest.Fit(t, &neural.Task{Observation: observation, Actions: actions, Discount: 0.9, Beta: 2,
		Runs: []neural.Run{{Demos: neuraltest.Demos(rand.New(rand.NewPCG(1, 2)), observation, actions), Seed: 5}},
	})(New(testConfig(a)))[0]
}

// plainLoss is the cross-entropy in plain Go.
func plainLoss(p neuraltest.Parameters, a neural.Architecture, b *neuraltest.Batch) float64 {
	sum := 0.0
	for i, s := range b.State {
		logits := make([]float64, actions)
		for k, out := range p.Network(network, a, actions, s) {
			logits[k] = out[0]
		}
		sum += floats.LogSumExp(logits) - logits[b.Action[i]]
	}
	return sum / float64(len(b.State))
}

func TestLossAndGradientAgreeWithPlainGo(t *testing.T) {
	for _, a := range []neural.Architecture{neural.Heads, neural.Pairs} {
		m := started(t, a)
		b := neuraltest.NewBatch(10, observation, actions, 0.9, rand.New(rand.NewPCG(3, 4)))
		total, terms, gradient, err := neuraltest.Evaluate(m, b)
		if err != nil {
			t.Fatal(err)
		}
		p := neuraltest.NewParameters(m)
		want := plainLoss(p, a, b)
		if !scalar.EqualWithinAbs(total, want, 1e-5*want) || terms[neural.TermLogLikelihood] != -total { // float32
			t.Errorf("%s: loss %g with terms %v, plain Go has %g", a, total, terms, want)
		}
		for name, got := range gradient {
			for _, i := range []int{0, len(got) / 2, len(got) - 1} {
				want := p.Difference(name, i, func(p neuraltest.Parameters) float64 { return plainLoss(p, a, b) })
				if !scalar.EqualWithinAbs(got[i], want, 1e-5) { // float32, of a loss of about 1
					t.Errorf("%s: gradient in %s[%d] is %g, the difference quotient %g", a, name, i, got[i], want)
				}
			}
		}
	}
}
