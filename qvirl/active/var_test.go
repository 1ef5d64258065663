package active

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/irl"
)

// TestActiveVaRByHand: in state 0 both actions end the episode; in state 1 the first leads to state 0 and the second
// ends. Rewards are of state-action pairs, γ = ½.
func TestActiveVaRByHand(t *testing.T) {
	m, err := mdp.New(2, 2, [][]mdp.Transition{nil, nil, {{Next: 0, Prob: 1}}, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(4, 0, 1), Discount: 0.5, Beta: 1}
	samples, err := p.SolveSamples(mat.NewDense(4, 4, []float64{
		4, 0, 0, 0,
		2, 3, 0, 9,
		0, 2, 1, 0,
		6, 0, 2, 3,
	}))
	if err != nil {
		t.Fatal(err)
	}
	// The mean reward is (3, 1¼, ¾, 3): the apprentice takes the first action in state 0, worth 3, and the second in
	// state 1, worth 3 against ¾ + ½·3. It loses (0, 1, 2, 0) from state 0. From state 1 its values are (0, 9, 0, 3),
	// the optimal ones max(R(1,0) + ½V(0), R(1,1)) = max(2, 0), max(1½, 9), max(2, 0), max(5, 3): it loses (2, 0, 2,
	// 2).
	for _, c := range []struct{ level, from0, from1 float64 }{
		{0.25, 0, 0}, {0.5, 0, 2}, {0.75, 1, 2}, {0.76, 2, 2}, {0.95, 2, 2},
	} {
		scores, err := ActiveVaR{c.level}.Score(p, samples, []int{0, 1, 0}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !scalar.EqualWithinAbs(scores[0].Value, c.from0, 1e-12) || !scalar.EqualWithinAbs(scores[1].Value, c.from1,
			1e-12) || scores[2] != scores[0] {
			t.Errorf("level %g: %+v, want %g and %g", c.level, scores, c.from0, c.from1)
		}
	}
	// at ½ the standard deviation of the rank is ¼: half the distance from the ¼ to the ¾ quantile
	scores, err := ActiveVaR{0.5}.Score(p, samples, []int{0, 1}, nil)
	if err != nil || scores[0].StdErr != 0.5 || scores[1].StdErr != 1 {
		t.Errorf("%+v, want standard errors ½ and 1 (error %v)", scores, err)
	}
}

// TestPolicyLossesFactoriseOnce: the losses of more samples take the memory of their values, not that of another system
// of equations each.
func TestPolicyLossesFactoriseOnce(t *testing.T) {
	const states, actions = 128, 2
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]mdp.Transition, states*actions)
	for i := range rows { // far successors: the system has no band
		rows[i] = []mdp.Transition{{Next: rng.IntN(states), Prob: 0.5}, {Next: states - 1, Prob: 0.25},
			{Next: 0, Prob: 0.25}}
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(states, 0, 1), Discount: 0.9, Beta: 1}
	const n = 64
	rewards := mat.NewDense(n, states, nil)
	for i := range n {
		for s := range states {
			rewards.Set(i, s, rng.NormFloat64())
		}
	}
	samples, err := p.SolveSamples(rewards)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	losses, err := policyLosses(p, samples)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if got, system := after.TotalAlloc-before.TotalAlloc, uint64(8*states*states); got > n*system/4 {
		t.Errorf("the losses of %d samples take %d bytes, a system of equations %d", n, got, system)
	}
	policy, err := apprentice.OptimalPolicy(p, irl.ColumnMeans(rewards))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 7, n - 1} {
		best, err := m.Solve(rewards.RawRowView(i), p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		value, err := m.PolicyValue(policy, rewards.RawRowView(i), p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []int{0, 50, states - 1} {
			if want := best.V[s] - value[s]; !scalar.EqualWithinAbs(losses.At(i, s), want, 1e-10) {
				t.Errorf("sample %d loses %g from state %d, want %g", i, losses.At(i, s), s, want)
			}
		}
	}
}

// 0.55·100 is a little more than 55 in floating point.
func TestQuantileOfAWholeRank(t *testing.T) {
	sorted := make([]float64, 100)
	for i := range sorted {
		sorted[i] = float64(i + 1)
	}
	for level, want := range map[float64]float64{0: 1, 0.005: 1, 0.07: 7, 0.55: 55, 0.551: 56, 0.95: 95, 1: 100} {
		if got := quantile(sorted, level); got != want {
			t.Errorf("the quantile %g of 1 … 100 is %g, want %g", level, got, want)
		}
	}
}
