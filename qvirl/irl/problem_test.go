package irl

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
)

func TestEmpirical(t *testing.T) {
	e, err := NewEmpirical([]float64{3, 1, 2, 6})
	if err != nil {
		t.Fatal(err)
	}
	if e.Mean() != 3 || !scalar.EqualWithinAbs(e.StdDev(), math.Sqrt(14.0/3), 1e-12) {
		t.Errorf("mean %g, std %g", e.Mean(), e.StdDev())
	}
	for p, want := range map[float64]float64{0: 1, 0.125: 1, 0.25: 1.5, 0.375: 2, 0.625: 3, 0.75: 4.5, 0.875: 6, 1: 6} {
		if got := e.Quantile(p); !scalar.EqualWithinAbs(got, want, 1e-12) {
			t.Errorf("quantile %g = %g, want %g", p, got, want)
		}
	}
	h := e.StdDev() * math.Pow(4, -0.2)
	for _, x := range []float64{2.5, 500} { // the density far out underflows, its log must not
		want := math.Inf(-1)
		for _, v := range []float64{3, 1, 2, 6} {
			z := (x - v) / h
			want = logAdd(want, -z*z/2-math.Log(4*h*math.Sqrt(2*math.Pi)))
		}
		if got := e.LogProb(x); !scalar.EqualWithinAbs(got, want, 1e-9*math.Abs(want)) {
			t.Errorf("log density at %g = %g, want %g", x, got, want)
		}
	}
	for _, bad := range [][]float64{nil, {1}, {1, math.NaN()}} {
		if _, err := NewEmpirical(bad); err == nil {
			t.Errorf("samples %v were accepted", bad)
		}
	}
}

func logAdd(a, b float64) float64 {
	top := math.Max(a, b)
	return top + math.Log(math.Exp(a-top)+math.Exp(b-top))
}

// Two demonstrations in a state with Q = (1, 0) at β = 2 have log(σ(2)) + log(σ(−2)); a state without any adds nothing.
func TestLogLikelihoodByHand(t *testing.T) {
	m, err := mdp.New(2, 2, make([][]mdp.Transition, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{MDP: m, Prior: IndependentPrior(2, 0, 1), Beta: 2, Demos: []mdp.Step{{State: 1, Action: 0}, {State: 1, Action: 1}}}
	want := -math.Log1p(math.Exp(-2)) - math.Log1p(math.Exp(2))
	for _, shift := range []float64{0, 1e4} { // neither overflow nor underflow
		q := []float64{700, -700, 1 + shift, shift}
		if got := p.LogLikelihood(q, p.DemoCounts()); !scalar.EqualWithinAbs(got, want, 1e-11) {
			t.Errorf("shifted by %g: log likelihood %g, want %g", shift, got, want)
		}
	}
}

// The factor squares to the covariance, and draws have it.
func TestPriorFactorAndDraw(t *testing.T) {
	const n = 40_000
	for _, p := range []Prior{
		{Mean: []float64{1, -2}, Std: []float64{3, 0.5}},
		{Mean: []float64{1, -2}, Cov: mat.NewSymDense(2, []float64{4, -1.2, -1.2, 1})},
	} {
		factor, err := p.Factor()
		if err != nil {
			t.Fatal(err)
		}
		cov := p.Covariance()
		var square mat.Dense
		if square.Mul(factor, factor.T()); !mat.EqualApprox(&square, cov, 1e-14) {
			t.Errorf("L Lᵀ = %v, want %v", mat.Formatted(&square), mat.Formatted(cov))
		}
		rng := rand.New(rand.NewPCG(3, 0))
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			x := p.Draw(rng, factor)
			a[i], b[i] = x[0], x[1]
		}
		for _, c := range []struct{ got, want, stdErr float64 }{ // the standard errors of Gaussian moments
			{stat.Mean(a, nil), 1, math.Sqrt(cov.At(0, 0) / n)}, {stat.Mean(b, nil), -2, math.Sqrt(cov.At(1, 1) / n)},
			{stat.Variance(a, nil), cov.At(0, 0), cov.At(0, 0) * math.Sqrt(2.0/n)},
			{stat.Covariance(a, b, nil), cov.At(0, 1), math.Sqrt((cov.At(0, 0)*cov.At(1, 1) + cov.At(0, 1)*cov.At(0, 1)) / n)},
		} {
			if !scalar.EqualWithinAbs(c.got, c.want, 4*c.stdErr) {
				t.Errorf("moment %g, want %g ± %g", c.got, c.want, c.stdErr)
			}
		}
	}
	if _, err := (Prior{Mean: []float64{0, 0}, Cov: mat.NewSymDense(2, []float64{1, 2, 2, 1})}).Factor(); err == nil {
		t.Error("an indefinite covariance was accepted")
	}
}
