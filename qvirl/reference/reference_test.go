package reference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/irl/irltest"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/summary"
)

// small are problems of one or two whitened rewards, so that quadrature answers them, of kinds that upset one kernel or
// another.
func small(t testing.TB) map[string]*irl.Problem {
	t.Helper()
	world := fork(t)
	loop, err := mdp.New(2, 2, [][]mdp.Transition{ // recurrent
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 0, Prob: 0.2}, {Next: 1, Prob: 0.8}},
		{{Next: 1, Prob: 0.7}, {Next: 0, Prob: 0.3}}, {{Next: 0, Prob: 1}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bandit, err := mdp.New(1, 2, make([][]mdp.Transition, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	go1, stay := mdp.Step{State: 0, Action: 1}, mdp.Step{State: 0, Action: 0}
	plain := irl.IndependentPrior(2, 0, 2)
	return map[string]*irl.Problem{
		"plain":             {MDP: world, Prior: plain, Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, go1, stay}},
		"no demonstrations": {MDP: loop, Prior: plain, Discount: 0.9, Beta: 2},
		"β of 1e4": {MDP: loop,
			Prior: plain, Discount: 0.9, Beta: 1e4, Demos: []mdp.Step{go1, {State: 1, Action: 0}}},
		"singular covariance": {MDP: world,
			Prior:    irl.Prior{Mean: []float64{0.5, -0.5}, Cov: mat.NewSymDense(2, []float64{1, 1, 1, 1})},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, stay, stay}},
		"a known reward": {MDP: world,
			Prior:    irl.Prior{Mean: []float64{0.1, 0.7}, Cov: mat.NewSymDense(2, []float64{4, 0, 0, 0})},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, stay}},
		"all but known": {MDP: loop, Prior: irl.Prior{Mean: []float64{0.1, 0.7}, Std: []float64{2, 1e-30}},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, stay}},
		"many scales": {MDP: world,
			Prior:    irl.Prior{Mean: []float64{0, 0}, Std: []float64{1e-3, 1e3}},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, go1}},
		"discount 0.9999": {MDP: loop,
			Prior: plain, Discount: 0.9999, Beta: 2, Demos: []mdp.Step{go1, {State: 1, Action: 0}}},
		"mean of 1000": {MDP: world,
			Prior: irl.IndependentPrior(2, 1000, 2), Discount: 0.9, Beta: 0.01, Demos: []mdp.Step{go1, stay}},
		"β inferred": {MDP: loop,
			Prior:    irl.IndependentPrior(2, 1, 2),
			Discount: 0.9, Beta: 1, BetaLogStd: 1, Demos: []mdp.Step{go1, go1, {State: 1, Action: 0}}},
		"β alone": {MDP: loop, // as the error of a prior under which all rewards are known advises
			Prior:    irl.Prior{Mean: []float64{0, 1}, Std: []float64{1e-6, 1e-6}},
			Discount: 0.9, Beta: 1, BetaLogStd: 1, Demos: []mdp.Step{go1, go1, stay}},
		"rewards of pairs": {MDP: bandit,
			Prior:    irl.Prior{Mean: []float64{0, 1}, Std: []float64{1, 3}},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, go1, stay}},
		"low rank, pairs": {MDP: loop,
			Prior: irl.Prior{Mean: []float64{0, 1, 0, -1}, LowRank: mat.NewDense(4, 2, []float64{1, 0, 0, 1, 2, 1,
				-1, 1})},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, stay, {State: 1, Action: 0}}},
		"low rank, in another order": {MDP: world,
			Prior: irl.Prior{Mean: []float64{0.5, 0}, LowRank: mat.NewDense(2, 1, []float64{0, 3}),
				Std: []float64{1, 0}},
			Discount: 0.9, Beta: 2, Demos: []mdp.Step{go1, go1, stay}},
	}
}

// prepared returns chains of a problem that is not divided, before their warm-up.
func prepared(t *testing.T, c Config, p *irl.Problem) *sampling {
	t.Helper()
	j, err := newJoint(c, p, &mcmc.Job{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := j.subs[0]
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func fit(t testing.TB, c Config, problems ...*irl.Problem) []*Posterior {
	t.Helper()
	return irltest.Fit[*Posterior](t, problems...)(New(c))
}

// expectExact compares a sampled posterior with quadrature: each number within 4 Monte Carlo standard errors, and 0.003
// standard deviations or 0.001 of a probability, that the grid may be off.
func expectExact(t *testing.T, name string, post irl.Posterior, exact *summary.Summary) {
	t.Helper()
	if ok, why := irl.Converged(post); !ok {
		t.Errorf("%s: %s", name, why)
	}
	got, err := summary.Of(post, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	compare := func(what string, got, stderr, exact, slack []float64) {
		for i := range exact {
			if rounding := 1e-11 * math.Abs(exact[i]); !(math.Abs(got[i]-exact[i]) <= 4*stderr[i]+slack[i]+rounding) {
				t.Errorf("%s: %s %d: %.5g ± %.2g, by quadrature %.5g", name, what, i, got[i], stderr[i], exact[i])
			}
		}
	}
	of := func(share float64, x []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = share * x[i]
		}
		return out
	}
	const grid = 0.003
	compare("mean of reward", got.RewardMean, got.Error.RewardMean, exact.RewardMean, of(grid, exact.RewardStd))
	compare("deviation of reward", got.RewardStd, got.Error.RewardStd, exact.RewardStd, of(grid, exact.RewardStd))
	compare("mean of value", got.ValueMean, got.Error.ValueMean, exact.ValueMean, of(grid, exact.ValueStd))
	compare("deviation of value", got.ValueStd, got.Error.ValueStd, exact.ValueStd, of(grid, exact.ValueStd))
	thousandths := make([]float64, len(exact.Policy))
	for i := range thousandths {
		thousandths[i] = 0.001
	}
	compare("policy", got.Policy, got.Error.Policy, exact.Policy, thousandths)
	compare("mean and deviation of β", []float64{got.BetaMean, got.BetaStd},
		[]float64{got.Error.BetaMean, got.Error.BetaStd},
		[]float64{exact.BetaMean, exact.BetaStd}, of(grid, []float64{exact.BetaStd, exact.BetaStd}))
}

func TestFitIsExact(t *testing.T) {
	for name, p := range small(t) {
		t.Run(name, func(t *testing.T) {
			c := Default()
			c.Seed = 1
			expectExact(t, name, fit(t, c, p)[0], quadrature(t, p))
		})
	}
}

// TestSamplesAreReproducible fits a problem alone, in a batch and with other numbers of processors.
func TestSamplesAreReproducible(t *testing.T) {
	p := small(t)["plain"]
	c := Default()
	c.Samples, c.MinESS, c.Seed = 400, 100, 4
	draws := func(seed uint64, problems ...*irl.Problem) []float64 {
		c.Seed = seed
		posts := fit(t, c, problems...)
		return posts[len(posts)-1].Rewards().RawMatrix().Data
	}
	alone := draws(4, p)
	if !slices.Equal(alone, draws(4, p)) {
		t.Error("the same fit gave other samples")
	}
	if !slices.Equal(alone, draws(4, small(t)["many scales"], p)) {
		t.Error("the place in a batch changes the samples")
	}
	before := runtime.GOMAXPROCS(1)
	serial := draws(4, p)
	runtime.GOMAXPROCS(before)
	if !slices.Equal(alone, serial) {
		t.Error("the number of processors changes the samples")
	}
	if slices.Equal(alone, draws(5, p)) {
		t.Error("another seed gave the same samples")
	}
}

func TestCancelledFit(t *testing.T) {
	m, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Fit(ctx, []*irl.Problem{small(t)["plain"]}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %v", err)
	}
	c := Default()
	c.MaxIterations, c.MinESS, c.MaxWork = 1<<40, math.MaxFloat64, math.MaxFloat64 // for ever
	if m, err = New(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	posts, err := m.Fit(ctx, []*irl.Problem{small(t)["plain"]}, func(_, _ int, status string) { cancel() })
	if !errors.Is(err, context.Canceled) || posts != nil {
		t.Errorf("cancelled while sampling: %v, %v", posts, err)
	}
}

// TestShortChainsSaySo gives chains too few iterations, and too little work, for a world that needs more.
func TestShortChainsSaySo(t *testing.T) {
	m := randomMDP(t, rand.New(rand.NewPCG(8, 0)), 12, 3)
	var demos []mdp.Step
	for s := range 12 {
		demos = append(demos, slices.Repeat([]mdp.Step{{State: s, Action: s % 3}}, 20)...)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(12, 0, 3), Discount: 0.95, Beta: 5, Demos: demos}
	for what, limit := range map[string]func(c *Config){
		"iterations": func(c *Config) { c.MaxIterations = 50 },
		"work":       func(c *Config) { c.MaxWork = 1 },
	} {
		c := Default()
		c.Samples, c.MinESS = 200, 180
		limit(&c)
		post := fit(t, c, p)[0]
		ok, reason := irl.Converged(post)
		if ok || !strings.Contains(reason, "mcmc: ") {
			t.Errorf("too few %s: converged: %s", what, reason)
		}
		if n := post.Sampling().Iterations; n > 100 {
			t.Errorf("too few %s: %d iterations", what, n)
		}
	}
}

// elsewhere is a posterior whose draws are all the same.
type elsewhere struct {
	irl.Posterior
	problem *irl.Problem
	reward  []float64
	err     error
}

func (e elsewhere) Problem() *irl.Problem { return e.problem }

func (e elsewhere) Sample(_ *rand.Rand, n int) (*irl.Samples, error) {
	if e.err != nil {
		return nil, e.err
	}
	return e.problem.SolveSamples(mat.NewDense(n, len(e.reward), slices.Repeat(e.reward, n)))
}

// TestFitFromABadPosterior starts half of the chains 40 prior standard deviations away.
func TestFitFromABadPosterior(t *testing.T) {
	m, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "singular covariance", "β of 1e4"} {
		p := small(t)[name]
		post, err := m.FitFrom(context.Background(), elsewhere{problem: p, reward: []float64{-80, 60}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		expectExact(t, name, post, quadrature(t, p))
	}
}

func TestFitFromNothing(t *testing.T) {
	m, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	p := small(t)["plain"]
	broken := fmt.Errorf("it broke")
	if _, err := m.FitFrom(context.Background(), elsewhere{problem: p, err: broken}, nil); !errors.Is(err, broken) {
		t.Errorf("draws that fail: %v", err)
	}
	bad := elsewhere{problem: p, reward: []float64{1, math.NaN()}}
	if _, err := m.FitFrom(context.Background(), bad, nil); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("draws that are not numbers: %v", err)
	}
}

func TestBadConfigs(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"Samples = 10":      func(c *Config) { c.Samples = 10 },
		"Chains = 0":        func(c *Config) { c.Chains = 0 },
		"Warmup = 79":       func(c *Config) { c.Warmup = 79 },
		"MaxWork = NaN":     func(c *Config) { c.MaxWork = math.NaN() },
		"MaxRHat = 1,":      func(c *Config) { c.MaxRHat = 1 },
		"TargetAccept = 1 ": func(c *Config) { c.TargetAccept = 1 },
		"Trajectory = 0 ":   func(c *Config) { c.Trajectory = 0 },
		"MaxIterations = 3": func(c *Config) { c.MaxIterations = 3 },
	} {
		c := Default()
		change(&c)
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "reference: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNothingDemonstrated: the posterior is the prior, from independent draws, and β's too.
func TestNothingDemonstrated(t *testing.T) {
	for name, p := range small(t) {
		p.Demos = nil
		post := fit(t, Default(), p)[0]
		if ok, reason := post.Convergence(); !ok {
			t.Errorf("%s: %s", name, reason)
		}
		for i, v := range p.Prior.Variances() {
			std, draws := math.Sqrt(v), float64(post.Len())
			m := post.Reward(i)
			if math.Abs(m.Mean()-p.Prior.Mean[i]) > 4*std/math.Sqrt(draws)+1e-12 ||
				math.Abs(m.StdDev()-std) > 4*std/math.Sqrt(2*draws)+1e-12 {
				t.Errorf("%s: reward %d is %.3f ± %.3f, want %.3f ± %.3f", name, i, m.Mean(), m.StdDev(),
					p.Prior.Mean[i], std)
			}
		}
		if p.InfersBeta() {
			log := 0.0
			for _, b := range post.Betas() {
				log += math.Log(b) / float64(post.Len())
			}
			if math.Abs(log-math.Log(p.Beta)) > 4*p.BetaLogStd/math.Sqrt(float64(post.Len())) {
				t.Errorf("%s: log β has the mean %.3f, want %.3f", name, log, math.Log(p.Beta))
			}
		}
	}
}

// TestRoundingIsSaid: where all rewards are shifted by so much that rounding hides how actions differ, the posterior is
// not said to be known; where rewards are as large and so are their differences, it is.
func TestRoundingIsSaid(t *testing.T) {
	for _, c := range []struct {
		mean, std float64
		known     bool
	}{{0, 1, true}, {1e13, 1, false}, {0, 1e13, true}} {
		p := *small(t)["no demonstrations"]
		p.Demos = []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 0}, {State: 1, Action: 1}}
		p.Prior, p.Beta = irl.IndependentPrior(2, c.mean, c.std), 2/c.std
		ok, reason := fit(t, Default(), &p)[0].Convergence()
		if ok != c.known || ok == strings.Contains(reason, "rounding") {
			t.Errorf("%+v: converged: %v, %s", c, ok, reason)
		}
	}
}
