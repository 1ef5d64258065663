package qvirl

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
)

func TestBadProblemsAreRefusedBeforeAnyGraphIsBuilt(t *testing.T) {
	for want, change := range map[string]func(*Problem){
		"no MDP":                               func(p *Problem) { p.MDP = nil },
		"discount = 1 is outside":              func(p *Problem) { p.Discount = 1 },
		"discount = NaN":                       func(p *Problem) { p.Discount = math.NaN() },
		"β = 0":                                func(p *Problem) { p.Beta = 0 },
		"β = +Inf":                             func(p *Problem) { p.Beta = math.Inf(1) },
		"prior mean: got 5 numbers":            func(p *Problem) { p.Prior.Mean = make([]float64, 5) },
		"prior mean[2] = NaN":                  func(p *Problem) { p.Prior.Mean[2] = math.NaN() },
		"prior std[1] = 0":                     func(p *Problem) { p.Prior.Std[1] = 0 },
		"prior std: got 3":                     func(p *Problem) { p.Prior.Std = p.Prior.Std[:3] },
		"exactly one of":                       func(p *Problem) { p.Prior.Cov = mat.NewSymDense(6, nil) },
		"it has none":                          func(p *Problem) { p.Prior.Std = nil },
		"covariance: got 2×2":                  func(p *Problem) { p.Prior.Std, p.Prior.Cov = nil, mat.NewSymDense(2, nil) },
		"zero everywhere":                      func(p *Problem) { p.Prior.Std, p.Prior.Cov = nil, mat.NewSymDense(6, nil) },
		"factor: got 5×1, want 6 rows":         func(p *Problem) { p.Prior.LowRank = mat.NewDense(5, 1, nil) },
		"factor[3][0] = NaN is not finite":     func(p *Problem) { p.Prior.LowRank = column(0, 0, 0, math.NaN(), 0, 0) },
		"row 1 of the prior low-rank":          func(p *Problem) { p.Prior.Std, p.Prior.LowRank = nil, column(1, 1e-90, 0, 0, 0, 0) },
		"is zero everywhere":                   func(p *Problem) { p.Prior.Std, p.Prior.LowRank = nil, column(0, 0, 0, 0, 0, 0) },
		"std[1] = 1e-300, want a number from":  func(p *Problem) { p.Prior.Std[1] = 1e-300 },
		"β = 1e+300, want a number from 1e-60": func(p *Problem) { p.Beta = 1e300 },
		"mean[2] = -1e+200, want a number":     func(p *Problem) { p.Prior.Mean[2] = -1e200 },
		"demos[1]: state 6 is outside 0..5":    func(p *Problem) { p.Demos = []mdp.Step{{State: 0}, {State: 6}} },
		"demos[0]: action -1 is outside 0..4":  func(p *Problem) { p.Demos = []mdp.Step{{Action: -1}} },
		"covariance[0,3] = +Inf is not finite": func(p *Problem) { p.Prior.Std, p.Prior.Cov = nil, withInf() },
	} {
		p := smallProblems(t, true)[0]
		change(p)
		m, err := New(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Fit(context.Background(), []*Problem{smallProblems(t, true)[0], p}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "problem 1") {
			t.Errorf("error %v, want problem 1 and %q", err, want)
		}
	}
	m, err := New(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(context.Background(), nil, nil); err == nil || !strings.Contains(err.Error(), "no problems") {
		t.Errorf("no problems: error %v", err)
	}
	singular := *smallProblems(t, true)[0]
	singular.Prior = Prior{Mean: singular.Prior.Mean, LowRank: column(1, 2, 3, 4, 5, 6)}
	if _, err := m.Fit(context.Background(), []*Problem{&singular}, nil); !errors.Is(err, ErrSingularPrior) {
		t.Errorf("a singular prior: error %v", err)
	}
	mixed := []*Problem{smallProblems(t, true)[0], smallProblems(t, false)[0]}
	if _, err := m.Fit(context.Background(), mixed, nil); err == nil || !strings.Contains(err.Error(), "equal sizes") {
		t.Errorf("two sizes in a batch: error %v", err)
	}
}

func withInf() *mat.SymDense {
	cov := mat.NewSymDense(6, nil)
	for i := 0; i < 6; i++ {
		cov.SetSym(i, i, 1)
	}
	cov.SetSym(0, 3, math.Inf(1))
	return cov
}

func column(x ...float64) *mat.Dense { return mat.NewDense(len(x), 1, x) }

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
