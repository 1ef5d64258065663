package tabular

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

func TestBadProblemsAreRefusedBeforeAnyGraphIsBuilt(t *testing.T) {
	for want, change := range map[string]func(*irl.Problem){
		"no MDP":                    func(p *irl.Problem) { p.MDP = nil },
		"discount = 1 is outside":   func(p *irl.Problem) { p.Discount = 1 },
		"discount = NaN":            func(p *irl.Problem) { p.Discount = math.NaN() },
		"β = 0":                     func(p *irl.Problem) { p.Beta = 0 },
		"β = +Inf":                  func(p *irl.Problem) { p.Beta = math.Inf(1) },
		"prior mean: got 5 numbers": func(p *irl.Problem) { p.Prior.Mean = make([]float64, 5) },
		"prior mean[2] = NaN":       func(p *irl.Problem) { p.Prior.Mean[2] = math.NaN() },
		"prior std[1] = 0":          func(p *irl.Problem) { p.Prior.Std[1] = 0 },
		"prior std: got 3":          func(p *irl.Problem) { p.Prior.Std = p.Prior.Std[:3] },
		"exactly one of":            func(p *irl.Problem) { p.Prior.Cov = mat.NewSymDense(6, nil) },
		"it has none":               func(p *irl.Problem) { p.Prior.Std = nil },
		"covariance: got 2×2": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.Cov = nil,
				mat.NewSymDense(2, nil)
		},
		"zero everywhere": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.Cov = nil,
				mat.NewSymDense(6, nil)
		},
		"factor: got 5×1, want 6 rows": func(p *irl.Problem) { p.Prior.LowRank = mat.NewDense(5, 1, nil) },
		"factor[3][0] = NaN is not finite": func(p *irl.Problem) {
			p.Prior.LowRank = column(0, 0, 0, math.NaN(), 0,
				0)
		},
		"row 1 of the prior low-rank": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.LowRank = nil,
				column(1, 1e-90, 0, 0, 0, 0)
		},
		"is zero everywhere": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.LowRank = nil,
				column(0, 0, 0, 0, 0, 0)
		},
		"std[1] = 1e-300, want a number from":  func(p *irl.Problem) { p.Prior.Std[1] = 1e-300 },
		"β = 1e+300, want a number from 1e-60": func(p *irl.Problem) { p.Beta = 1e300 },
		"mean[2] = -1e+200, want a number":     func(p *irl.Problem) { p.Prior.Mean[2] = -1e200 },
		"demos[1]: state 6 is outside 0..5":    func(p *irl.Problem) { p.Demos = []mdp.Step{{State: 0}, {State: 6}} },
		"demos[0]: action -1 is outside 0..4":  func(p *irl.Problem) { p.Demos = []mdp.Step{{Action: -1}} },
		"covariance[0,3] = +Inf is not finite": func(p *irl.Problem) { p.Prior.Std, p.Prior.Cov = nil, withInf() },
	} {
		p := smallProblems(t, true)[0]
		change(p)
		m, err := New(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Fit(context.Background(), []*irl.Problem{smallProblems(t, true)[0], p}, nil)
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
	singular.Prior = irl.Prior{Mean: singular.Prior.Mean, LowRank: column(1, 2, 3, 4, 5, 6)}
	if _, err := m.Fit(context.Background(), []*irl.Problem{&singular}, nil); !errors.Is(err, irl.ErrSingularPrior) {
		t.Errorf("a singular prior: error %v", err)
	}
	mixed := []*irl.Problem{smallProblems(t, true)[0], smallProblems(t, false)[0]}
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
