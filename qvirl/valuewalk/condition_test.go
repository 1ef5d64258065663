package valuewalk

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// TestNearlySingularPriorsAreDoubted: a correlation of 1 − ε has the condition number (2 − ε)/ε.
func TestNearlySingularPriorsAreDoubted(t *testing.T) {
	m, err := mdp.New(2, 1, [][]mdp.Transition{nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gap  float64
		want bool
	}{{1e-3, true}, {1e-9, false}} {
		problem := &irl.Problem{MDP: m, Prior: irl.Prior{Mean: make([]float64, 2),
			Cov: mat.NewSymDense(2, []float64{1, 1 - c.gap, 1 - c.gap, 1})}}
		good := mcmc.Convergence{RHat: []float64{1}, BulkESS: []float64{1000}, TailESS: []float64{1000}}
		d := Diagnostics{Diagnostics: mcmc.Diagnostics{Reward: good, MinESS: 100, MaxRHat: 1.01}}
		p := &Posterior{Posterior: mcmc.NewPosterior(problem, 1, 4), diagnostics: d}
		ok, reason := p.Convergence()
		if ok != c.want || !ok && !strings.Contains(reason, "condition number 2e+09") {
			t.Errorf("correlation 1 − %g: converged %v, %q", c.gap, ok, reason)
		}
	}
}
