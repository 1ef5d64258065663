package reference

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// farGoal returns a problem with one unknown w ~ N(0, 1): the expert takes a door behind which max(6w − 27, 0) is to be
// had, and not that with max(w, 0). w < 0, where both are worth nothing, explains the 28 steps with probability 2⁻²⁸;
// w > 5.4 explains them, and has most of the posterior; between the two nothing does.
func farGoal(t *testing.T) *irl.Problem {
	t.Helper()
	to := func(s int) []mdp.Transition { return []mdp.Transition{{Next: s, Prob: 1}} }
	rows := [][]mdp.Transition{to(1), to(2), to(3), to(4), to(5), to(4), nil, nil, nil, nil, nil, nil}
	m, err := mdp.New(6, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	slope := mat.NewDense(6, 1, []float64{0, 0, 0, 6, 0, 1})
	p := &irl.Problem{MDP: m, Prior: irl.Prior{Mean: []float64{0, 0, 0, -27, 0, 0}, LowRank: slope}, Discount: 0.999,
		Beta: 3}
	for range 28 {
		p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 0})
	}
	return p
}

// TestFarStarts: of two starts one is far out if most of the posterior is, which no draw of the prior is.
func TestFarStarts(t *testing.T) {
	target, err := NewTarget(farGoal(t))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		starts := target.farStarts(rand.New(rand.NewPCG(seed, 0)), 2)
		if len(starts) != 2 || !(math.Max(math.Abs(starts[0][0]), math.Abs(starts[1][0])) > 5) {
			t.Errorf("seed %d: starts %v, want one beyond 5", seed, starts)
		}
	}
}

// TestFarGoal: chains that do not find where most of the posterior is must not say that they agree.
func TestFarGoal(t *testing.T) {
	p := farGoal(t)
	for seed := range uint64(3) {
		c := Default()
		c.Seed, c.MaxIterations = seed, 80000
		method, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		posts, err := method.Fit(t.Context(), []*irl.Problem{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ok, reason := irl.Converged(posts[0]); ok {
			t.Errorf("seed %d: converged, %s", seed, reason)
		}
	}
}
