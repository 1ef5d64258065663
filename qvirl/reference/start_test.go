package reference

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
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
		starts, _ := target.farStarts(t.Context(), rand.New(rand.NewPCG(seed, 0)), 2)
		if len(starts) != 2 || !(math.Max(math.Abs(starts[0][0]), math.Abs(starts[1][0])) > 5) {
			t.Errorf("seed %d: starts %v, want one beyond 5", seed, starts)
		}
	}
}

// TestFarGoal: chains find how much of the posterior is on either side, and say that they agree.
func TestFarGoal(t *testing.T) {
	p := farGoal(t)
	target, err := NewTarget(p)
	if err != nil {
		t.Fatal(err)
	}
	var near, far []float64
	for w := -10.; w < 10; w += 1e-3 {
		if l := target.LogLikelihood([]float64{w}, nil) - w*w/2; w < 3 {
			near = append(near, l)
		} else {
			far = append(far, l)
		}
	}
	want := 1 / (1 + math.Exp(floats.LogSumExp(near)-floats.LogSumExp(far)))
	for seed := range uint64(3) {
		c := Default()
		c.Seed = seed
		post := fit(t, c, p)[0]
		share := 0.0
		for i := range post.Len() {
			if post.Rewards().At(i, 5) > 3 {
				share += 1 / float64(post.Len())
			}
		}
		if ok, reason := post.Convergence(); !ok || math.Abs(share-want) > 0.05 { // four standard errors
			t.Errorf("seed %d: %.3f of the draws are far, want %.3f; converged: %v, %s", seed, share, want, ok, reason)
		}
	}
}
