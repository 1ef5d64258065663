package avril

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

const (
	testObservation, testActions = 3, 4
	testDiscount, testBeta       = 0.9, 2.0
)

// fitContinuous returns a model after two steps of training on random demonstrations.
func fitContinuous(t *testing.T, o Objective) *neural.Fitted {
	t.Helper()
	c := neural.Default()
	c.Hidden, c.Steps, c.ReportEvery, c.Folds, c.Backend = []int{7, 6}, 2, 1, 0, "go"
	return neuraltest.Fit(t, &neural.Task{Observation: testObservation, Actions: testActions, Discount: testDiscount,
		Beta: testBeta, Runs: []neural.Run{{Seed: 3,
			Demos: neuraltest.Demos(rand.New(rand.NewPCG(1, 2)), testObservation, testActions)}}})(New(c, o))[0]
}

// plainContinuous is the loss in plain Go, and what it is made of.
func plainContinuous(p neuraltest.Parameters, o Objective, b *neuraltest.Batch) (total, logLikelihood, kl,
	constraint float64) {
	n := float64(len(b.State))
	value := func(s []float64) (q []float64) {
		for _, out := range p.Network(networkQ, neural.Heads, testActions, s) {
			q = append(q, out[0])
		}
		return q
	}
	count := 0.0
	for i, s := range b.State {
		q := value(s)
		scaled := make([]float64, len(q))
		floats.ScaleTo(scaled, testBeta, q)
		logLikelihood += (scaled[b.Action[i]] - floats.LogSumExp(scaled)) / n
		reward := p.Network(networkReward, neural.Heads, testActions, s)[b.Action[i]]
		mean, std := reward[0], math.Exp(reward[1])
		kl += (math.Log(o.PriorStd/std) + (std*std+mean*mean)/(2*o.PriorStd*o.PriorStd) - 0.5) / n
		future := 0.0
		switch {
		case b.NextAction[i] >= 0:
			future = b.Discount[i] * value(b.Next[i])[b.NextAction[i]]
		case b.Discount[i] != 0:
			continue
		}
		count++
		constraint += distuv.Normal{Mu: mean, Sigma: std}.LogProb(q[b.Action[i]] - future)
	}
	constraint /= count
	return kl - logLikelihood - o.Lambda*constraint, logLikelihood, kl, constraint
}

func TestContinuousLossAndGradientAgreeWithPlainGo(t *testing.T) {
	for _, o := range []Objective{DefaultObjective(), {Lambda: 0.2, PriorStd: 3}} {
		m := fitContinuous(t, o)
		b := neuraltest.NewBatch(10, testObservation, testActions, testDiscount, rand.New(rand.NewPCG(3, 4)))
		total, terms, gradient, err := neuraltest.Evaluate(m, b)
		if err != nil {
			t.Fatal(err)
		}
		p := neuraltest.NewParameters(m)
		want, logLikelihood, kl, constraint := plainContinuous(p, o, b)
		if !scalar.EqualWithinAbs(total, want, 2e-6*(1+math.Abs(want))) { // float32
			t.Errorf("%+v: loss %g, plain Go has %g", o, total, want)
		}
		for name, want := range map[string]float64{neural.TermLogLikelihood: logLikelihood, neural.TermKL: kl,
			"constraint": constraint} {
			if got := terms[name]; !scalar.EqualWithinAbs(got, want, 2e-6*(1+math.Abs(want))) || want == 0 {
				t.Errorf("%+v: %s %g, plain Go has %g", o, name, got, want)
			}
		}
		for name, got := range gradient {
			for _, i := range []int{0, len(got) / 2, len(got) - 1} {
				want := p.Difference(name, i, func(p neuraltest.Parameters) float64 {
					total, _, _, _ := plainContinuous(p, o, b)
					return total
				})
				if !scalar.EqualWithinAbs(got[i], want, 1e-5) { // float32, of terms of about 1
					t.Errorf("%+v: gradient in %s[%d] is %g, the difference quotient %g", o, name, i, got[i], want)
				}
			}
		}
	}
}
