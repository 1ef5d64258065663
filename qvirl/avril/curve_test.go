package avril

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// Against samples of the prior, the best λ is the one that returns it, and W1 grows with λ.
func TestCurveAgainstPrior(t *testing.T) {
	var worlds []World
	for seed := uint64(1000); seed < 1002; seed++ {
		p := paperProblem(t, seed)
		rng := rand.New(rand.NewPCG(seed, 5))
		rewards := mat.NewDense(500, 64, nil)
		for i := range rewards.RawMatrix().Data {
			rewards.RawMatrix().Data[i] = -1 + 3*rng.NormFloat64()
		}
		samples, err := p.SolveSamples(rewards)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := metric.NewReference(p, samples)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := metric.NewTruth(p, rewards.RawRowView(0))
		if err != nil {
			t.Fatal(err)
		}
		worlds = append(worlds, World{Problem: p, Truth: truth, References: metric.References{Exact: ref}})
	}
	curve, err := Curve(t.Context(), Default(), []float64{0.1, 0, 0.3}, worlds, 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w1 []float64
	for _, point := range curve {
		s := point.Summary()[metric.W1]
		if s.N != 2 {
			t.Errorf("λ = %g: W1 of %d worlds, want 2", point.Lambda, s.N)
		}
		w1 = append(w1, s.Mean)
	}
	if !(w1[1] < 0.25 && w1[0] > 0.5 && w1[2] > 2) { // σ(1 − √½)√(2/π) = 0.70 at 0.1, σ√(2/π) = 2.4 when collapsed
		t.Errorf("W1 to the prior is %v at λ = 0.1, 0, 0.3", w1)
	}
	if curve[0].Collapsed != 0 || curve[2].Collapsed < 0.5 {
		t.Errorf("fractions %g and %g have collapsed at λ = 0.1 and 0.3", curve[0].Collapsed, curve[2].Collapsed)
	}
	if best, err := BestLambda(curve); err != nil || best != 0 {
		t.Errorf("the best λ is %g, %v; want 0", best, err)
	}
	if _, err := BestLambda([]CurvePoint{{Results: []metric.Result{{}}}}); err == nil {
		t.Error("a curve without W1 has a best λ")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Curve(cancelled, Default(), Lambdas, worlds, 300, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelling gives the error %v", err)
	}
	if _, err := Curve(t.Context(), Default(), []float64{-1}, []World{{Problem: &irl.Problem{}}}, 300,
		nil); err == nil {
		t.Error("a negative λ is accepted")
	}
}
