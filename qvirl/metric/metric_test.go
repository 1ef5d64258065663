package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// twoStates is an MDP of two states and two actions: in state 0 one may stay or go to state 1, which is terminal.
func twoStates(t *testing.T) *irl.Problem {
	t.Helper()
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}, nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.5, Beta: 2}
}

// fixed is a posterior with given marginals.
type fixed struct {
	problem   *irl.Problem
	marginals []irl.Marginal
}

func (f fixed) Problem() *irl.Problem                        { return f.problem }
func (f fixed) Reward(i int) irl.Marginal                    { return f.marginals[i] }
func (f fixed) Sample(*rand.Rand, int) (*irl.Samples, error) { panic("not asked in these tests") }
func normal(mean, std float64) irl.Marginal {
	return irl.NewMarginal(distuv.Normal{Mu: mean, Sigma: std})
}
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v ± %g", what, got, want, tolerance)
	}
}

// sortedNormal returns n draws of N(0, 1), as a distribution.
func sortedNormal(t *testing.T, seed uint64, n int) *irl.Empirical {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	e, err := irl.NewEmpirical(x)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWassersteinOfShiftedNormals(t *testing.T) {
	e := sortedNormal(t, 1, 100_000)
	for _, shift := range []float64{-3, 0.5, 2} {
		// a shift is the distance between the normals; the samples' own error is of order sqrt(π/2n) ≈ 0.004
		near(t, "W1", Wasserstein(e.Sorted(), normal(shift, 1)), math.Abs(shift), 0.015)
	}
	// of two normals with equal means it is |σ − τ| E|Z|
	near(t, "W1", Wasserstein(e.Sorted(), normal(0, 3)), 2*math.Sqrt(2/math.Pi), 0.015)
}

func TestWassersteinOfSamples(t *testing.T) {
	e := sortedNormal(t, 2, 5000)
	if got := Wasserstein(e.Sorted(), e); got != 0 {
		t.Errorf("W1 to itself = %g, want exactly 0", got)
	}
	small, err := irl.NewEmpirical([]float64{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	large, err := irl.NewEmpirical([]float64{5, 5, 9, 9})
	if err != nil {
		t.Fatal(err)
	}
	// the quantiles of {5,5,9,9} at ¼ and ¾ are 5 and 9
	near(t, "W1", Wasserstein(small.Sorted(), large), (4+6)/2.0, 1e-12)
	// the quantiles of {1,3}, linear between ¼ and ¾, at ⅛, ⅜, ⅝, ⅞ are 1, 1.5, 2.5, 3
	near(t, "W1", Wasserstein(large.Sorted(), small), (4+3.5+6.5+6)/4.0, 1e-12)
}

func TestEvaluateByHand(t *testing.T) {
	p := twoStates(t)
	// Two samples whose policy in state 0 is (½, ½) and (¼, ¾): with β = 2, a gap in Q of log(3)/2.
	gap := math.Log(3) / 2
	samples := &irl.Samples{
		Reward: mat.NewDense(2, 2, []float64{0, 1, 2, 1}),
		Q:      mat.NewDense(2, 4, []float64{0, 0, 1, 1, 0, gap, 1, 1}),
	}
	reference := &irl.Samples{
		Reward: mat.NewDense(2, 2, []float64{3, 1, 1, 1}),
		Q:      mat.NewDense(2, 4, []float64{0, gap, 1, 1, 0, gap, 1, 1}),
	}
	ref, err := NewReference(p, reference)
	if err != nil {
		t.Fatal(err)
	}
	post := fixed{p, []irl.Marginal{normal(2, 1), normal(0, 2)}}
	truth := &Truth{Reward: []float64{3.6, 3.3}, Policy: []float64{0.3, 0.7, 0.5, 0.5}}
	got, err := Evaluate(post, samples, truth, References{Exact: ref, NoDet: ref})
	if err != nil {
		t.Fatal(err)
	}
	// W1: state 0 has samples {1, 3} and quantiles 2 ± z, with z = Φ⁻¹(¾); state 1 has {1, 1} and ∓2z, further
	// away than 1, so |1 + 2z| + |1 − 2z| = 4z.
	z := 0.6744897501960817
	near(t, W1, got[W1], ((1-z)+2*z)/2, 1e-12)
	if got[W1NoDet] != got[W1] {
		t.Errorf("w1_nodet = %g differs from w1 = %g of the same reference", got[W1NoDet], got[W1])
	}
	// standardised truths: 1.6 and 1.65
	density := -math.Log(2*math.Pi)/2 - (1.6*1.6+1.65*1.65)/4 - math.Log(2)/2
	near(t, LogDensity, got[LogDensity], density, 1e-12)
	near(t, RewardCoverage, got[RewardCoverage], 0.5, 0) // the 95 % quantile stands at 1.645, between them
	near(t, PolicyCoverage, got[PolicyCoverage], 1, 0)
	near(t, PolicyCoverageNonterminal, got[PolicyCoverageNonterminal], 1, 0)
	// mean policies in state 0: (3/8, 5/8) and (1/4, 3/4); state 1 is terminal and both are uniform there
	near(t, PolicyL1, got[PolicyL1], 0.125, 1e-12)
	near(t, PolicyTV, got[PolicyTV], 0.0625, 1e-12)
	near(t, PolicyTVNoDet, got[PolicyTVNoDet], 0.0625, 1e-12)
	near(t, PolicyL1Nonterminal, got[PolicyL1Nonterminal], 0.25, 1e-12)
	near(t, PolicyTVNonterminal, got[PolicyTVNonterminal], 0.125, 1e-12)
	if len(got) != len(Names) {
		t.Errorf("got %d metrics, want all %d", len(got), len(Names))
	}

	truth.Policy = []float64{0.2, 0.8, 0.5, 0.5} // outside [¼, ½] and [½, ¾]
	if got, err = Evaluate(post, samples, truth, References{}); err != nil {
		t.Fatal(err)
	}
	near(t, PolicyCoverage, got[PolicyCoverage], 0.5, 0)
	near(t, PolicyCoverageNonterminal, got[PolicyCoverageNonterminal], 0, 0)
	if _, ok := got[W1]; ok {
		t.Error("w1 is reported without a reference")
	}
}

// An oracle is at no distance at all from itself.
func TestEvaluateOracleAgainstItself(t *testing.T) {
	p := twoStates(t)
	rng := rand.New(rand.NewPCG(3, 0))
	rewards := mat.NewDense(500, 2, nil)
	for i := 0; i < 500; i++ {
		rewards.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
	}
	samples, err := p.SolveSamples(rewards)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := NewReference(p, samples)
	if err != nil {
		t.Fatal(err)
	}
	post := fixed{problem: p}
	for i := 0; i < 2; i++ {
		e, err := irl.NewEmpirical(mat.Col(nil, i, rewards))
		if err != nil {
			t.Fatal(err)
		}
		post.marginals = append(post.marginals, e)
	}
	truth, err := NewTruth(p, []float64{0.3, -0.2})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Evaluate(post, samples, truth, References{Exact: ref})
	if err != nil {
		t.Fatal(err)
	}
	if got[W1] != 0 || got[PolicyTV] != 0 || got[PolicyL1Nonterminal] != 0 {
		t.Errorf("distances to itself are w1 = %g, policy_tv = %g, want exactly 0", got[W1], got[PolicyTV])
	}
	if got[PolicyCoverage] != 1 || got[RewardCoverage] != 1 || !(got[LogDensity] < -0.9) {
		t.Errorf("a truth near the centre of the prior gives %v", got)
	}
}

// The expert of the two-state problem with R = (1, r): staying for ever is worth 1/(1 − γ) = 2, going 1 + γr.
func TestNewTruth(t *testing.T) {
	p := twoStates(t)
	truth, err := NewTruth(p, []float64{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	// V(0) = 1 + ½·3 = 2.5 by going; staying one step longer is worth 1 + ½·2.5 = 2.25: a gap of ¼, and β = 2
	near(t, "π(go|0)", truth.Policy[1], 1/(1+math.Exp(-2*0.25)), 1e-12)
	near(t, "π(·|1)", truth.Policy[2], 0.5, 1e-12)

	p.Prior = irl.IndependentPrior(4, 0, 1)
	if truth, err = NewTruth(p, []float64{1, 3}); err != nil {
		t.Fatal(err)
	}
	if len(truth.Reward) != 4 || truth.Reward[1] != 1 || truth.Reward[2] != 3 {
		t.Errorf("the state reward expands to %v, want [1 1 3 3]", truth.Reward)
	}
	if _, err = NewTruth(p, []float64{1, 2, 3}); err == nil {
		t.Error("a true reward of length 3 is accepted")
	}
}

func TestEvaluateRefusesWrongShapes(t *testing.T) {
	p := twoStates(t)
	post := fixed{p, []irl.Marginal{normal(0, 1), normal(0, 1)}}
	good := &irl.Samples{Reward: mat.NewDense(3, 2, nil), Q: mat.NewDense(3, 4, nil)}
	truth := &Truth{Reward: make([]float64, 2), Policy: make([]float64, 4)}
	for name, c := range map[string]struct {
		samples *irl.Samples
		truth   *Truth
		refs    References
	}{
		"rewards": {&irl.Samples{Reward: mat.NewDense(3, 3, nil), Q: mat.NewDense(3, 4, nil)}, truth,
			References{}},
		"Q-values": {&irl.Samples{Reward: mat.NewDense(3, 2, nil), Q: mat.NewDense(3, 6, nil)}, truth,
			References{}},
		"counts": {&irl.Samples{Reward: mat.NewDense(3, 2, nil), Q: mat.NewDense(4, 4, nil)}, truth,
			References{}},
		"one sample": {&irl.Samples{Reward: mat.NewDense(1, 2, nil), Q: mat.NewDense(1, 4, nil)}, truth,
			References{}},
		"true reward": {good, &Truth{Reward: make([]float64, 3), Policy: make([]float64, 4)}, References{}},
		"true policy": {good, &Truth{Reward: make([]float64, 2), Policy: make([]float64, 2)}, References{}},
		"reference":   {good, truth, References{Exact: &Reference{}}},
		"NaN Q-values": {&irl.Samples{Reward: mat.NewDense(3, 2, nil),
			Q: mat.NewDense(3, 4, []float64{0, 0, 0, 0, math.NaN(), 0, 0, 0, 0, 0, 0, 0})}, truth, References{}},
	} {
		if _, err := Evaluate(post, c.samples, c.truth, c.refs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Evaluate(post, good, truth, References{}); err != nil {
		t.Errorf("good input is refused: %v", err)
	}
}
