package apprentice

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// twoStates is an MDP of two states and two actions with all kinds of transitions, and random rewards.
func twoStates(t *testing.T, samples, dim int, seed uint64) (*irl.Problem, *mat.Dense) {
	t.Helper()
	m, err := mdp.New(2, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 1, Prob: 0.8}, {Next: 0, Prob: 0.2}},
		{{Next: 1, Prob: 1}}, {{Next: 0, Prob: 0.7}, {Next: 1, Prob: 0.3}},
	}, []float64{0.4, 0.6})
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(dim, 0, 1), Discount: 0.8, Beta: 1},
		normals(samples, dim, seed)
}

// normals returns standard normal numbers, shifted by ½ in every other column.
func normals(n, dim int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 7))
	out := mat.NewDense(n, dim, nil)
	for i := range n {
		for j := range dim {
			out.Set(i, j, rng.NormFloat64()+0.5*float64(j%2))
		}
	}
	return out
}

// grid is a random gridworld of the paper's kind without demonstrations.
func grid(t *testing.T, side int, seed uint64) (*irl.Problem, *gridworld.World) {
	t.Helper()
	c := gridworld.Paper()
	c.Width, c.Height = side, side
	w, err := gridworld.Random(c, seed)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(side*side, -1, 3), Discount: 0.9, Beta: 2}, w
}

func solve(t *testing.T, p *irl.Problem, rewards *mat.Dense, alpha float64) *RiskAverse {
	t.Helper()
	r, err := CVaRPolicy(p, rewards, alpha)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.MDP.CheckPolicy(r.Policy); err != nil {
		t.Fatal(err)
	}
	if !(r.Gap() > -1e-9 && r.Gap() < 0.01) { // a gap below zero by more than rounding would disprove the certificate
		t.Errorf("alpha = %g: gap %g", alpha, r.Gap())
	}
	returns, err := Returns(p, r.Policy, rewards)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := CVaR(returns, alpha); err != nil || !scalar.EqualWithinAbs(again, r.CVaR, 1e-10) {
		t.Errorf("alpha = %g: CVaR %g, but that of the policy's returns is %g (%v)", alpha, r.CVaR, again, err)
	}
	if sol, err := p.MDP.Solve(r.Worst, p.Discount); err != nil ||
		!scalar.EqualWithinAbs(floats.Dot(p.MDP.Initial(), sol.V), r.Bound, 1e-10) {
		t.Errorf("alpha = %g: the bound is not the optimal return under the worst reward (%v)", alpha, err)
	}
	return r
}

// TestCVaRPolicyAgainstGrid compares with the best of 40,401 stochastic policies, state-only and state-action.
func TestCVaRPolicyAgainstGrid(t *testing.T) {
	for seed, dim := range []int{2, 4, 2, 4} {
		p, rewards := twoStates(t, 20, dim, uint64(seed))
		const alpha = 0.23 // 4.6 samples
		r := solve(t, p, rewards, alpha)
		best := math.Inf(-1)
		for i := 0; i <= 200; i++ {
			for j := 0; j <= 200; j++ {
				a, b := float64(i)/200, float64(j)/200
				returns, err := Returns(p, []float64{a, 1 - a, b, 1 - b}, rewards)
				if err != nil {
					t.Fatal(err)
				}
				cvar, err := CVaR(returns, alpha)
				if err != nil {
					t.Fatal(err)
				}
				best = math.Max(best, cvar)
			}
		}
		// the grid's policies are within 0.0025 of the optimum's probabilities, and returns change by at most about ten
		// times as much
		if best > r.Bound+1e-9 || best < r.CVaR-0.02 {
			t.Errorf("dim %d: best CVaR of the grid %g, found %g with the bound %g", dim, best, r.CVaR, r.Bound)
		}
	}
}

// TestCVaRPolicyAgainstSimplex compares with the linear programme as Gonum's simplex solves it.
func TestCVaRPolicyAgainstSimplex(t *testing.T) {
	for seed := uint64(10); seed < 13; seed++ {
		for _, alpha := range []float64{0.1, 0.33, 0.8} {
			p, rewards := twoStates(t, 20, 4, seed)
			r := solve(t, p, rewards, alpha)
			want := simplex(t, p, rewards, alpha)
			if want > r.Bound+1e-8 || want < r.CVaR-1e-8 { // the simplex' own tolerance
				t.Errorf("seed %d, alpha %g: simplex finds %.9g, outside [%.9g, %.9g]", seed, alpha, want, r.CVaR,
					r.Bound)
			}
		}
	}
}

// simplex returns the maximal CVaR for state-action rewards. Its variables are the visits, ν as a difference, u and w.
func simplex(t *testing.T, p *irl.Problem, rewards *mat.Dense, alpha float64) float64 {
	t.Helper()
	n, pairs := rewards.Dims()
	states, actions := p.MDP.States(), p.MDP.Actions()
	a := mat.NewDense(states+n, pairs+2+2*n, nil)
	b, cost := make([]float64, states+n), make([]float64, pairs+2+2*n)
	copy(b, p.MDP.Initial())
	for i := range pairs {
		a.Set(i/actions, i, 1)
		next, prob := p.MDP.Row(i/actions, i%actions)
		for k, to := range next {
			a.Set(int(to), i, a.At(int(to), i)-p.Discount*prob[k])
		}
	}
	cost[pairs], cost[pairs+1] = -1, 1
	for i := range n {
		for j := range pairs {
			a.Set(states+i, j, rewards.At(i, j))
		}
		a.Set(states+i, pairs, -1)
		a.Set(states+i, pairs+1, 1)
		a.Set(states+i, pairs+2+i, 1)
		a.Set(states+i, pairs+2+n+i, -1)
		cost[pairs+2+i] = 1 / (alpha * float64(n))
	}
	value, _, err := lp.Simplex(cost, a, b, 1e-10, nil)
	if err != nil {
		t.Fatal(err)
	}
	return -value
}

// TestCVaRPolicyOverLevels checks a gridworld from the worst case to the mean.
func TestCVaRPolicyOverLevels(t *testing.T) {
	p, w := grid(t, 4, 1100)
	rewards := normals(501, 16, 3)
	for i := range 501 {
		floats.AddScaled(rewards.RawRowView(i), 0.5, w.Reward)
	}
	meanReward := irl.ColumnMeans(rewards)
	best, err := p.MDP.Solve(meanReward, p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	neutral, err := OptimalPolicy(p, meanReward)
	if err != nil {
		t.Fatal(err)
	}
	neutralReturns, err := Returns(p, neutral, rewards)
	if err != nil {
		t.Fatal(err)
	}
	last := math.Inf(-1)
	for _, alpha := range []float64{math.SmallestNonzeroFloat64, 1e-12, 1e-6, 1. / 501, 0.05, 0.1, 0.5, 0.9, 0.999, 1} {
		r := solve(t, p, rewards, alpha)
		if r.CVaR < last-0.01 { // the gaps
			t.Errorf("alpha = %g: CVaR %g is below that of a smaller level, %g", alpha, r.CVaR, last)
		}
		last = r.CVaR
		own, err := CVaR(neutralReturns, alpha)
		if err != nil {
			t.Fatal(err)
		}
		if own > r.CVaR+1e-12 {
			t.Errorf("alpha = %g: the mean policy has the higher CVaR %g > %g", alpha, own, r.CVaR)
		}
		if alpha == 0.1 && r.CVaR < own+0.1 {
			t.Errorf("alpha = %g: CVaR %g, hardly above that of the mean policy, %g: nothing is tested", alpha, r.CVaR,
				own)
		}
	}
	if want := floats.Dot(p.MDP.Initial(), best.V); !scalar.EqualWithinAbs(last, want, 1e-9) {
		t.Errorf("at alpha = 1: CVaR %g, want the optimal return under the mean reward, %g", last, want)
	}
}

// TestCVaRPolicyOnDegenerateProblems checks states that cannot be reached, rewards without uncertainty, and one sample.
func TestCVaRPolicyOnDegenerateProblems(t *testing.T) {
	_, w := grid(t, 3, 1101)
	start := make([]float64, 9)
	start[4] = 1
	terminal := make([]bool, 9)
	for s := range terminal {
		terminal[s] = s != 4 // so that the corners cannot be reached
	}
	island, err := gridworld.New(3, 3, w.Reward, terminal, 0.1, start)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: island.MDP, Prior: irl.IndependentPrior(9, -1, 3), Discount: 0.9, Beta: 2}
	all := solve(t, p, normals(200, 9, 4), 0.1)
	cut := normals(200, 9, 4)
	for i := range 200 {
		for _, s := range []int{0, 2, 6, 8} {
			cut.Set(i, s, 0)
		}
	}
	if r := solve(t, p, cut, 0.1); !scalar.EqualWithinAbs(r.CVaR, all.CVaR, 0.01) { // the gaps
		t.Errorf("CVaR %g and %g, but rewards of states that cannot be reached do not matter", all.CVaR, r.CVaR)
	}

	p, w = grid(t, 3, 1102)
	certain := mat.NewDense(5, 9, nil)
	for i := range 5 {
		certain.SetRow(i, w.Reward)
	}
	want, err := OptimalPolicy(p, w.Reward)
	if err != nil {
		t.Fatal(err)
	}
	optimal, err := p.MDP.Return(want, w.Reward, p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	for _, rewards := range []*mat.Dense{certain, certain.Slice(0, 1, 0, 9).(*mat.Dense)} {
		if r := solve(t, p, rewards, 0.3); !scalar.EqualWithinAbs(r.CVaR, optimal, 1e-9) ||
			!slices.Equal(r.Policy, want) {
			t.Errorf("CVaR %g of a certain reward, want the optimal return %g", r.CVaR, optimal)
		}
	}
	if r := solve(t, p, mat.NewDense(3, 9, nil), 0.1); r.CVaR != 0 || r.Bound != 0 {
		t.Errorf("CVaR %g, bound %g of no reward at all", r.CVaR, r.Bound)
	}
}

func TestCVaR(t *testing.T) {
	values := []float64{4, -1, 7, 2, 0}
	for _, c := range []struct{ alpha, want float64 }{
		{0.01, -1}, {0.2, -1}, {0.4, -0.5}, {0.5, (-1 + 0 + 0.5*2) / 2.5}, {0.6, 1. / 3}, {1, 2.4},
	} {
		if got, err := CVaR(values, c.alpha); err != nil || !scalar.EqualWithinAbs(got, c.want, 1e-12) {
			t.Errorf("CVaR at %g is %g (%v), want %g", c.alpha, got, err, c.want)
		}
	}
	if !slices.Equal(values, []float64{4, -1, 7, 2, 0}) {
		t.Error("CVaR changed its argument")
	}
	// the standard normal's CVaR at 0.1 is −φ(z)/0.1 with z = −1.2816; its estimate of 100,000 values has a standard
	// error of about 0.006
	returns := mat.Col(nil, 0, normals(100_000, 1, 5))
	if got, err := CVaR(returns, 0.1); err != nil || !(math.Abs(got+1.75498) <= 0.024) {
		t.Errorf("CVaR of a standard normal is %g (%v), want −1.755", got, err)
	}
}

// posterior is independent normal rewards, for MeanPolicy.
type posterior struct {
	irl.Posterior
	problem *irl.Problem
	samples *mat.Dense
}

func (p posterior) Problem() *irl.Problem { return p.problem }

func (p posterior) Reward(i int) irl.Marginal {
	e, err := irl.NewEmpirical(mat.Col(nil, i, p.samples))
	if err != nil {
		panic(err)
	}
	return e
}

func TestMeanPolicyMaximisesTheMeanReturn(t *testing.T) {
	for _, dim := range []int{2, 4} {
		p, rewards := twoStates(t, 30, dim, 21)
		policy, err := MeanPolicy(posterior{problem: p, samples: rewards})
		if err != nil {
			t.Fatal(err)
		}
		mean := func(policy []float64) float64 {
			returns, err := Returns(p, policy, rewards)
			if err != nil {
				t.Fatal(err)
			}
			// by evaluating the policy instead of its visits
			direct, err := p.MDP.Return(policy, rewards.RawRowView(3), p.Discount)
			if err != nil || !scalar.EqualWithinAbs(direct, returns[3], 1e-10) {
				t.Errorf("return %g under sample 3, want %g (%v)", returns[3], direct, err)
			}
			return stat.Mean(returns, nil)
		}
		best := mean(policy)
		for i := range 4 {
			other := mean([]float64{float64(i % 2), float64(1 - i%2), float64(i / 2), float64(1 - i/2)})
			if other > best+1e-12 {
				t.Errorf("dim %d: mean return %g, another policy's is %g", dim, best, other)
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	p, rewards := twoStates(t, 5, 2, 1)
	for _, alpha := range []float64{0, -0.1, 1.1, math.NaN()} {
		if _, err := CVaRPolicy(p, rewards, alpha); err == nil || !strings.Contains(err.Error(), "level") {
			t.Errorf("level %g: error %v", alpha, err)
		}
	}
	if _, err := CVaRPolicy(p, normals(5, 3, 1), 0.1); err == nil || !strings.Contains(err.Error(), "[5,3]") {
		t.Errorf("wrong shape: error %v", err)
	}
	rewards.Set(3, 1, math.NaN())
	if _, err := CVaRPolicy(p, rewards, 0.1); err == nil || !strings.Contains(err.Error(), "rewards[3][1]") {
		t.Errorf("NaN: error %v", err)
	}
	if _, err := CVaR(nil, 0.1); err == nil {
		t.Error("the CVaR of nothing exists")
	}
	if _, err := CVaR([]float64{1, math.NaN()}, 0.9); err == nil {
		t.Error("the CVaR of NaN exists")
	}
	if _, err := Returns(p, []float64{1, 1, 1, 1}, normals(5, 2, 1)); err == nil ||
		!strings.Contains(err.Error(), "policy") {
		t.Errorf("bad policy: error %v", err)
	}
}

// BenchmarkCVaRPolicy takes 5000 samples of an 8×8 world.
func BenchmarkCVaRPolicy(b *testing.B) {
	w, err := gridworld.Random(gridworld.Paper(), 1000)
	if err != nil {
		b.Fatal(err)
	}
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(64, -1, 3), Discount: 0.9, Beta: 2}
	rewards := normals(5000, 64, 9)
	rewards.Scale(2, rewards)
	for i := range 5000 {
		floats.AddScaled(rewards.RawRowView(i), 0.5, w.Reward)
	}
	for b.Loop() {
		r, err := CVaRPolicy(p, rewards, 0.1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Iterations), "iterations")
		b.ReportMetric(r.Gap(), "gap")
	}
}
