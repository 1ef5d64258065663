package irl

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

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
	flat, err := NewEmpirical([]float64{2, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for x, want := range map[float64]float64{2: math.Inf(1), 3: math.Inf(-1)} {
		if got := flat.LogProb(x); got != want {
			t.Errorf("without spread, log density at %g = %g, want %g", x, got, want)
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
	p := &Problem{MDP: m, Prior: IndependentPrior(2, 0, 1), Beta: 2, Demos: []mdp.Step{{State: 1, Action: 0},
		{State: 1, Action: 1}}}
	want := -math.Log1p(math.Exp(-2)) - math.Log1p(math.Exp(2))
	for _, shift := range []float64{0, 1e4} { // neither overflow nor underflow
		q := []float64{700, -700, 1 + shift, shift}
		if got := p.LogLikelihood(q, p.DemoCounts()); !scalar.EqualWithinAbs(got, want, 1e-11) {
			t.Errorf("shifted by %g: log likelihood %g, want %g", shift, got, want)
		}
	}
}

// TestNames: they are as many as states, differ, and fit into a line of a table.
func TestNames(t *testing.T) {
	for want, names := range map[string][]string{"": {"a", "b"}, "3 names": {"a", "b", "c"},
		"that of number 0": {"a", "a"}, "is empty": {"a", ""}, "in a line": {"a", "b\n"}} {
		err := checkNames("states", names, 2)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", names, err, want)
		}
	}
}
