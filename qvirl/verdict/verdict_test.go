package verdict

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/summary"
)

// world has three states in a ring, two actions, and no demonstrations, so that the posterior is the prior N(1, 2²) of
// each reward.
func world(t testing.TB) *irl.Problem {
	t.Helper()
	var rows [][]mdp.Transition
	for s := range 3 {
		rows = append(rows, []mdp.Transition{{Next: s, Prob: 1}},
			[]mdp.Transition{{Next: (s + 1) % 3, Prob: 0.9}, {Next: s, Prob: 0.1}})
	}
	m, err := mdp.New(3, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, 1, 2), Discount: 0.8, Beta: 0.5}
}

// normal is the posterior of world, or what is wrong with it.
type normal struct {
	problem            *irl.Problem
	shift, scale       float64 // of rewards, in prior standard deviations; 0 and 1 are right
	sharpness          float64 // of the policy: Q becomes V + sharpness (Q − V), which leaves the values; 1 is right
	valueShift         float64 // of what Value says
	valueSpread        float64 // and how much wider it is than right, relative
	betaScale          float64 // of what Beta says
	claimed            float64 // width that the density claims, in widths of the draws; 1 is right
	stuck, broken, nan bool
}

func right(p *irl.Problem) normal {
	return normal{problem: p, scale: 1, sharpness: 1, betaScale: 1, claimed: 1}
}

func (n normal) Problem() *irl.Problem { return n.problem }

func (n normal) marginal(i int) distuv.Normal {
	prior := n.problem.Prior
	return distuv.Normal{Mu: prior.Mean[i] + n.shift*prior.Std[i], Sigma: n.scale * prior.Std[i]}
}

func (n normal) Reward(i int) irl.Marginal {
	m := n.marginal(i)
	if n.nan {
		m.Mu = math.NaN()
	}
	return irl.NewMarginal(m)
}

func (n normal) Sample(rng *rand.Rand, count int) (*irl.Samples, error) {
	if n.broken {
		return nil, errors.New("it broke")
	}
	dim := n.problem.RewardDim()
	reward := mat.NewDense(count, dim, nil)
	var betas []float64
	for i := range count {
		for j := range dim {
			m := n.marginal(j)
			reward.Set(i, j, m.Mu+m.Sigma*rng.NormFloat64())
		}
		if n.problem.InfersBeta() {
			betas = append(betas, n.problem.Beta*math.Exp(n.problem.BetaLogStd*rng.NormFloat64()))
		}
	}
	s, err := n.problem.SolveSamples(reward)
	if err != nil {
		return nil, err
	}
	s.Beta = betas
	actions := n.problem.MDP.Actions()
	for i := range count {
		for q := s.Q.RawRowView(i); len(q) > 0; q = q[actions:] {
			v := floats.Max(q[:actions])
			for a := range actions {
				q[a] = v + n.sharpness*(q[a]-v)
			}
		}
	}
	return s, nil
}

func (n normal) SampleValues(rng *rand.Rand, count int) (*mat.Dense, error) {
	s, err := n.Sample(rng, count)
	if err != nil {
		return nil, err
	}
	values := s.Values(n.problem.MDP.Actions())
	if s.Beta == nil {
		return values, nil
	}
	dim := n.problem.RewardDim()
	out := mat.NewDense(count, dim+1, nil)
	for i, beta := range s.Beta {
		copy(out.RawRowView(i), values.RawRowView(i))
		out.Set(i, dim, math.Log(beta))
	}
	return out, nil
}

func (n normal) RewardLogProbs(x *mat.Dense) ([]float64, error) {
	count, _ := x.Dims()
	out := make([]float64, count)
	for i := range out {
		for j := range n.problem.RewardDim() {
			m := n.marginal(j)
			m.Sigma *= n.claimed
			out[i] += m.LogProb(x.At(i, j))
		}
		if n.problem.InfersBeta() {
			prior := distuv.Normal{Mu: math.Log(n.problem.Beta), Sigma: n.problem.BetaLogStd}
			out[i] += prior.LogProb(x.At(i, n.problem.RewardDim()))
		}
	}
	return out, nil
}

func (n normal) Convergence() (bool, string) { return !n.stuck, "it stood still" }

// withValue also knows values, right but for valueShift and valueSpread, and withBeta β.
type withValue struct{ normal }

func (w withValue) Value(s int) irl.Marginal {
	samples, _ := right(w.problem).Sample(rand.New(rand.NewPCG(1, 0)), 20000)
	column := mat.Col(nil, s, samples.Values(w.problem.MDP.Actions()))
	mean := stat.Mean(column, nil)
	for i, v := range column {
		column[i] = v + w.valueShift + w.valueSpread*(v-mean)
	}
	e, _ := irl.NewEmpirical(column)
	return e
}

type withBeta struct{ normal }

func (w withBeta) Beta() irl.Marginal {
	return irl.NewMarginal(distuv.LogNormal{Mu: math.Log(w.betaScale * w.problem.Beta), Sigma: w.problem.BetaLogStd})
}

// noDensity hides that a posterior has one.
type noDensity struct{ irl.Posterior }

func diagnose(t *testing.T, post irl.Posterior, c Config) *Diagnosis {
	t.Helper()
	d, samples, err := Diagnose(context.Background(), post, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if samples.Problem() != post.Problem() {
		t.Error("the samples are of another problem")
	}
	for _, figure := range []string{string(d.Verdict), d.Reason} {
		if figure == "" || !strings.Contains(d.String(), figure) {
			t.Errorf("%q is not in %q", figure, d)
		}
	}
	return d
}

func TestDiagnose(t *testing.T) {
	p := world(t)
	inferred := *p
	inferred.BetaLogStd = 0.5
	change := func(problem *irl.Problem, f func(n *normal)) normal {
		n := right(problem)
		f(&n)
		return n
	}
	for name, c := range map[string]struct {
		post    irl.Posterior
		verdict Verdict
		reason  string
	}{
		"right":              {right(p), Trust, "k̂"},
		"right, with values": {withValue{right(p)}, Trust, "k̂"},
		"right, with β":      {withBeta{right(&inferred)}, Trust, "k̂"},
		"mean off by 0.2 sd": {change(p, func(n *normal) { n.shift = 0.2 }), Refine, "a mean is off by 0.2"},
		"sd 15 % too small":  {change(p, func(n *normal) { n.scale = 0.85 }), Refine, "off by"},
		"sd 15 % too large":  {change(p, func(n *normal) { n.scale = 1.15 }), Refine, "off by"},
		"values off":         {withValue{change(p, func(n *normal) { n.valueShift = 2 })}, Refine, "a mean is off by"},
		"values too wide": {withValue{change(p, func(n *normal) { n.valueSpread = 0.2 })}, Refine,
			"a standard deviation is off by"},
		"β off": {withBeta{change(&inferred, func(n *normal) { n.betaScale = 1.3 })},
			Refine, "a mean is off by 0"},
		"policy too sharp": {change(p, func(n *normal) { n.sharpness = 1.5 }), Refine,
			"the policy of a state is off"},
		"tails too light": {change(p, func(n *normal) { n.claimed = 0.6 }), Refine,
			"k̂ of the importance ratios is"},
		"no density":               {noDensity{right(p)}, Refine, "no density"},
		"not converged":            {change(p, func(n *normal) { n.stuck = true }), Refine, "it stood still"},
		"a mean that is no number": {change(p, func(n *normal) { n.nan = true }), Refine, "a mean is off by +Inf"},
	} {
		d := diagnose(t, c.post, Default(1))
		if d.Verdict != c.verdict || !strings.Contains(d.Reason, c.reason) {
			t.Errorf("%s: %s; want %s: %s", name, d, c.verdict, c.reason)
		}
		if (d.Beta > MaxMean) != (name == "β off") ||
			strings.Contains(d.String(), "β mean") != c.post.Problem().InfersBeta() {
			t.Errorf("%s: β is off by %g: %s", name, d.Beta, d)
		}
	}
}

// TestPoliciesAreComparedByTotalVariation, which of two actions is the difference of the first's probabilities.
func TestPoliciesAreComparedByTotalVariation(t *testing.T) {
	post, c, want := right(world(t)), Default(1), 0.
	post.sharpness = 1.5
	d, samples, err := Diagnose(t.Context(), post, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	mine, err := summary.Of(post, c.Draws, c.Reference.Seed)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := summary.Of(samples, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for s := range 3 {
		want = max(want, math.Abs(mine.Policy[2*s]-exact.Policy[2*s]))
	}
	if math.Abs(d.Policy-want) > 1e-12 || want < MaxPolicy {
		t.Errorf("the policy is off by %g, want %g", d.Policy, want)
	}
}

// holed is right, but for its density, which is zero at one of its draws.
type holed struct{ normal }

func (h holed) RewardLogProbs(x *mat.Dense) ([]float64, error) {
	out, err := h.normal.RewardLogProbs(x)
	if err == nil {
		out[0] = math.Inf(-1)
	}
	return out, err
}

// TestInfiniteRatiosAreNotTrusted: no weights can be made of them.
func TestInfiniteRatiosAreNotTrusted(t *testing.T) {
	if d := diagnose(t, holed{right(world(t))}, Default(1)); d.Verdict != Refine ||
		!strings.Contains(d.Reason, "k̂ of the importance ratios is +Inf") || d.WeightESS != 0 {
		t.Errorf("%s; want %s", d, Refine)
	}
}

// odd is right, but for what happens when its ratios are asked for.
type odd struct {
	normal
	ask func() error
}

func (o odd) SampleValues(rng *rand.Rand, count int) (*mat.Dense, error) {
	if err := o.ask(); err != nil {
		return nil, err
	}
	return o.normal.SampleValues(rng, count)
}

// TestRatiosThatFail: only that there is no density is expected; other errors are returned, as is that of a context
// which ends.
func TestRatiosThatFail(t *testing.T) {
	p, failure := world(t), errors.New("it failed")
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		ask  func() error
		want error
	}{
		{func() error { return irl.ErrNoDensity }, nil},
		{func() error { return irl.ErrSingularPrior }, nil},
		{func() error { return failure }, failure},
		{func() error { cancel(); return nil }, context.Canceled},
	} {
		d, _, err := Diagnose(ctx, odd{right(p), c.ask}, Default(1), nil)
		if !errors.Is(err, c.want) || err == nil && !strings.Contains(d.Reason, "no density") {
			t.Errorf("%v, error %v; want %v", d, err, c.want)
		}
	}
}

// TestDiagnoseMatched judges Gaussians that are matched to draws of a correlated prior in a world of one action, where
// demonstrations say nothing, one of them of another correlation with the same marginals.
func TestDiagnoseMatched(t *testing.T) {
	m, err := mdp.New(2, 1, [][]mdp.Transition{{{Next: 1, Prob: 1}}, {{Next: 0, Prob: 0.5}, {Next: 1, Prob: 0.5}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.Prior{Mean: []float64{3, -1},
		Cov: mat.NewSymDense(2, []float64{1, 0.6, 0.6, 1})},
		Discount: 0.9, Beta: 1, Demos: []mdp.Step{{State: 0, Action: 0}}}
	for correlation, want := range map[float64]Verdict{0.6: Trust, -0.6: Refine} {
		prior := irl.Prior{Mean: p.Prior.Mean, Cov: mat.NewSymDense(2, []float64{1, correlation, correlation, 1})}
		factor, err := prior.Factor()
		if err != nil {
			t.Fatal(err)
		}
		rng, draws := rand.New(rand.NewPCG(2, 0)), mat.NewDense(20000, 2, nil)
		for i := range 20000 {
			draws.SetRow(i, prior.Draw(rng, factor))
		}
		post, err := matched.NewWarped(t.Context(), p, draws, nil, true, true)
		if err != nil {
			t.Fatal(err)
		}
		if d := diagnose(t, post, Default(1)); d.Verdict != want {
			t.Errorf("correlation %g: %s; want %s", correlation, d, want)
		}
	}
}

// TestKnownRewardsCount checks that rounding in a reward that the prior knows is no error, and another value is.
func TestKnownRewardsCount(t *testing.T) {
	for mean, want := range map[float64]float64{0.7 + 1e-15: 0, 0.8: 0.05} {
		m, s := worst([]float64{mean}, []float64{1e-16}, []float64{0.7}, []float64{3e-16}, 1)
		if !(math.Abs(m-want) < 0.01) || !(s < 1e-9) {
			t.Errorf("mean %g of a reward that is 0.7: errors %g and %g", mean, m, s)
		}
	}
	if _, s := worst([]float64{0.7}, []float64{1}, []float64{0.7}, []float64{0}, 1); s < 0.1 {
		t.Errorf("a standard deviation of 1 of a known reward: error %g", s)
	}
}

// TestLargeOffsets: rewards far from zero beside their standard deviations are unknown as others are.
func TestLargeOffsets(t *testing.T) {
	m, err := mdp.New(1, 1, [][]mdp.Transition{nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(1, 1e12, 2), Discount: 0.9, Beta: 0.01}
	for scale, want := range map[float64]Verdict{0.85: Refine, 1: Trust, 1.15: Refine} {
		post := right(p)
		post.scale = scale
		if d := diagnose(t, post, Default(1)); d.Verdict != want {
			t.Errorf("standard deviations of %g: %s; want %s", scale, d, want)
		}
	}
}

// TestStdsCount checks that standard deviations are judged where means are right, in a world of one action, where
// values are linear; those of rewards also where those of values are right.
func TestStdsCount(t *testing.T) {
	m, err := mdp.New(1, 1, [][]mdp.Transition{nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(1, 1, 2), Discount: 0.9, Beta: 1}
	for scale, want := range map[float64]Verdict{0.85: Refine, 0.95: Trust, 1: Trust, 1.05: Trust, 1.15: Refine} {
		post := right(p)
		post.scale = scale
		for _, q := range []irl.Posterior{post, withValue{post}} {
			d := diagnose(t, q, Default(1))
			if d.Verdict != want || want == Refine && !strings.Contains(d.Reason, "a standard deviation is off by 1") {
				t.Errorf("standard deviations of %g: %s; want %s", scale, d, want)
			}
		}
	}
}

func TestShortJudges(t *testing.T) {
	c := Default(1)
	c.Reference.Samples, c.Reference.MinESS, c.Reference.MaxIterations = 32, 1e6, 8
	d := diagnose(t, right(world(t)), c)
	if d.Verdict != DoNotUse || !strings.Contains(d.Reason, "nothing vouches for it") {
		t.Errorf("%s; want %s", d, DoNotUse)
	}
}

// method returns a posterior or fails.
type method struct {
	post irl.Posterior
	err  error
}

func (m method) Name() string { return "quick" }

func (m method) Fit(ctx context.Context, problems []*irl.Problem, _ irl.Progress) ([]irl.Posterior, error) {
	if m.err != nil {
		return nil, m.err
	}
	return []irl.Posterior{m.post}, ctx.Err()
}

// TestJudgesInDoubt: chains that agree, but on what rounding has made of rewards, vouch for nothing.
func TestJudgesInDoubt(t *testing.T) {
	p := world(t)
	p.Demos = []mdp.Step{{State: 0, Action: 1}}
	p.Beta = 0.05 // the demonstration says next to nothing
	for mean, want := range map[float64]Verdict{1: Trust, 1e14: DoNotUse} {
		p.Prior = irl.IndependentPrior(3, mean, 2)
		d, samples, err := Diagnose(t.Context(), right(p), Default(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := samples.Convergence(); d.Verdict != want || ok != (want == Trust) {
			t.Errorf("rewards of %g: %s", mean, d)
		}
	}
}

// TestAnotherRunLooksAnywhere compares what Fit goes on to with a run of the reference sampler of its own, whose chains
// exchange the rewards of any two states.
func TestAnotherRunLooksAnywhere(t *testing.T) {
	p := world(t)
	p.Demos = []mdp.Step{{State: 0, Action: 1}}
	c := Default(1)
	r, err := Fit(t.Context(), method{err: errors.New("it failed")}, p, true, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Reference.Seed, c.Reference.MaxWork = 2, 3*c.Reference.MaxWork
	for _, anywhere := range []bool{true, false} {
		c.Reference.Anywhere = anywhere
		sampler, err := reference.New(c.Reference)
		if err != nil {
			t.Fatal(err)
		}
		posts, err := sampler.Fit(t.Context(), []*irl.Problem{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Posterior.(*reference.Posterior).Rewards()
		if same := mat.Equal(got, posts[0].(*reference.Posterior).Rewards()); same != anywhere {
			t.Errorf("the samples are those of exchanges anywhere %v: %v", anywhere, same)
		}
	}
}

// TestElsewhere: a judging chain where the other run never is counts against it, by a reward or by a value alone, and
// one on the edge of it does not.
func TestElsewhere(t *testing.T) {
	p := world(t)
	at := func(chains int, centre func(chain int) float64, std, value float64) *mcmc.Posterior {
		const per = 1000
		post := mcmc.NewPosterior(p, chains, per)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range chains * per {
			reward := make([]float64, p.RewardDim())
			for j := range reward {
				reward[j] = rng.NormFloat64()
			}
			reward[1] = centre(i/per) + std*rng.NormFloat64()
			values := make([]float64, p.RewardDim())
			values[2] = value*centre(i/per) + std*rng.NormFloat64()
			post.Set(i, reward, values)
		}
		return post
	}
	longer := at(4, func(int) float64 { return 0 }, 1, 1)
	for want, c := range map[string]struct{ reward, value float64 }{"": {2, 1}, "reward 1 at 9": {9, 1},
		"the value of state 2 at 9": {0.5, 18}} {
		judges := at(8, func(chain int) float64 { return c.reward * float64(chain/7) }, 0.1, c.value)
		if got := elsewhere(judges, longer); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("a chain at %g, with %g times the value: %q, want %q", c.reward, c.value, got, want)
		}
	}
}
