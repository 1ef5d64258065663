package avril

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check/checktest"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/irl/irltest"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/zoo"
)

// paperProblem is the problem of one of the paper's 8×8 worlds. Tests use seeds that results do not.
func paperProblem(t testing.TB, seed uint64) *irl.Problem {
	t.Helper()
	p, err := zoo.Gridworld(8, seed, 5)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fit fits one problem.
func fit(t testing.TB, c Config, p *irl.Problem) *Posterior {
	t.Helper()
	return irltest.Fit[*Posterior](t, p)(New(c))[0]
}

func withLambda(lambda float64) Config {
	c := Default()
	c.Lambda = lambda
	return c
}

// oneState has one state, whose only action ends the episode: R = Q, and demonstrations say nothing.
func oneState(t testing.TB) *irl.Problem {
	t.Helper()
	m, err := mdp.New(1, 1, make([][]mdp.Transition, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(1, 2, 3), Discount: 0.9, Beta: 1, Demos: []mdp.Step{{}}}
}

// Where Q meets the mean, the variance is the prior's times 1 − kλ; k is the number of actions for state-only rewards,
// and 1 for state-action rewards.
func TestWidthIsSetByLambdaAlone(t *testing.T) {
	w, err := gridworld.New(3, 3, make([]float64, 9), make([]bool, 9), 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rewards, k int
		lambda     float64
	}{{9, 5, 0}, {9, 5, 0.1}, {9, 5, 0.17}, {45, 1, 0.17}, {45, 1, 0.9}} {
		p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(c.rewards, -1, 3), Discount: 0.9, Beta: 2}
		post := fit(t, withLambda(c.lambda), p)
		if d := post.Diagnostics(); !d.Converged || d.Collapsed != 0 {
			t.Errorf("λ = %g: %+v, want convergence without collapse", c.lambda, d)
		}
		want := 3 * math.Sqrt(1-float64(c.k)*c.lambda)
		for i := 0; i < c.rewards; i++ {
			// the optimisation ends within 1e-3 nats of its maximum, at which the std is within a few per cent
			if m := post.Reward(i); !scalar.EqualWithinAbs(m.StdDev(), want, 0.02*want) ||
				!(math.Abs(m.Mean()+1) <= 0.05) {
				t.Errorf("λ = %g: reward %d is N(%g, %g²), want N(-1, %g²)", c.lambda, i, m.Mean(), m.StdDev(), want)
			}
		}
	}
}

// With two state-action pairs that end the episode there is a closed system to compare with: by symmetry
// R = Q = ±x and m = ±y satisfy  βN(1 − π(x)) = λ(x − y)/s²,  λ(x − y)/s² = y/σ²,  s²/σ² = 1 − λ + λ(x − y)²/s²,
// where π(x) = 1/(1 + e^{−2βx}) and N is the number of demonstrations.
func TestOneDecisionAgainstStationarity(t *testing.T) {
	m, err := mdp.New(1, 2, make([][]mdp.Transition, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	const n, beta, sigma, lambda = 3, 1.5, 2.0, 0.4
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, sigma), Discount: 0.9, Beta: beta,
		Demos: make([]mdp.Step, n)}
	c := withLambda(lambda)
	c.Tolerance = 1e-9
	post := fit(t, c, p)
	x := (post.q[0] - post.q[1]) / 2
	y, s := (post.mean[0]-post.mean[1])/2, post.std[0]
	if !(y > 0.1 && x > y) {
		t.Fatalf("x = %g, y = %g: want x > y > 0, as the demonstrations prefer the first action", x, y)
	}
	force := lambda * (x - y) / (s * s)
	for name, pair := range map[string][2]float64{
		"Q":    {beta * n * (1 - 1/(1+math.Exp(-2*beta*x))), force},
		"mean": {force, y / (sigma * sigma)},
		"std":  {s * s / (sigma * sigma), 1 - lambda + lambda*(x-y)*(x-y)/(s*s)},
		"sum":  {post.mean[0] + post.mean[1], 0},
	} {
		if !scalar.EqualWithinAbs(pair[0], pair[1], 1e-3) { // Adam's last learning rate is 1e-6
			t.Errorf("the condition for %s is %g = %g, which does not hold", name, pair[0], pair[1])
		}
	}
}

// Above λ = 1 nothing holds the standard deviation of a reward that Q can meet, until the bound does.
func TestStdIsBounded(t *testing.T) {
	p := oneState(t)
	c := withLambda(2)
	c.LearningRate, c.Steps, c.Tolerance, c.InitStd = 0.1, 1000, 0, 0
	post := fit(t, c, p)
	if bound := p.Prior.Std[0] * math.Exp(MinLogStd); !scalar.EqualWithinRel(post.std[0], bound, 1e-9) ||
		post.Diagnostics().Collapsed != 1 {
		t.Errorf("standard deviation %g, want the bound %g, and one collapsed reward, not %d", post.std[0], bound,
			post.Diagnostics().Collapsed)
	}
}

// The unit of reward makes no difference, from the first step on.
func TestUnitOfReward(t *testing.T) {
	const unit = 1000
	p := oneState(t)
	other := *p
	other.Prior = irl.IndependentPrior(1, unit*p.Prior.Mean[0], unit*p.Prior.Std[0])
	other.Beta /= unit
	c := withLambda(0.1)
	c.Steps, c.Tolerance, c.InitStd = 50, 0, 1
	a, b := fit(t, c, p), fit(t, c, &other)
	for name, pair := range map[string][2]float64{"Q": {a.q[0], b.q[0]}, "mean": {a.mean[0], b.mean[0]},
		"std": {a.std[0], b.std[0]}} {
		if !scalar.EqualWithinRel(unit*pair[0], pair[1], 1e-6) {
			t.Errorf("%s is %g, and %g in thousandths of the unit", name, pair[0], pair[1])
		}
	}
}

// Paper, App. "3x3 Gridworld and a Comparison to AVRIL": λ = 0.5 collapses, 0.1 stays near the prior, 0.2 lies between.
func TestCollapse(t *testing.T) {
	w, err := gridworld.Parse("0S -30 100T\n0 0 0\n0 0 0", 0.1)
	if err != nil {
		t.Fatal(err)
	}
	var demos []mdp.Step
	for range 5 {
		demos = append(demos, mdp.Step{State: 0, Action: gridworld.Down}, mdp.Step{State: 3, Action: gridworld.Right},
			mdp.Step{State: 4, Action: gridworld.Right}, mdp.Step{State: 5, Action: gridworld.Up})
	}
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(9, 0, 66), Discount: 0.9, Beta: 1, Demos: demos}
	low, middle, high := fit(t, withLambda(0.1), p), fit(t, withLambda(0.2), p), fit(t, withLambda(0.5), p)
	if floats.Min(low.std) < 40 || low.Diagnostics().Collapsed != 0 {
		t.Errorf("λ = 0.1: standard deviations %.3g, want all near √½ of the prior's 66", low.std)
	}
	if floats.Max(middle.std) > 33 || floats.Min(middle.std) < 0.05 {
		t.Errorf("λ = 0.2: standard deviations %.3g, want them between prior and collapse", middle.std)
	}
	if got := high.Diagnostics().Collapsed; got < 8 || floats.Min(high.std) < 66*math.Exp(MinLogStd)*(1-1e-12) {
		t.Errorf("λ = 0.5: %d of 9 rewards collapsed, to %.3g; want at least 8, and none below the bound", got,
			high.std)
	}
	if ok, reason := high.Convergence(); ok || !strings.Contains(reason, "collapsed to a point") {
		t.Errorf("λ = 0.5: converged %t, %q", ok, reason)
	}
	if floats.Norm(low.mean, math.Inf(1)) < 0.1 {
		t.Error("λ = 0.1: the demonstrations have moved no mean")
	}
}

// The result does not depend on where the optimisation starts, nor on its learning rate.
func TestRobustness(t *testing.T) {
	p := paperProblem(t, 1000)
	base := fit(t, Default(), p)
	for name, change := range map[string]func(*Config){
		"seed":          func(c *Config) { c.Seed = 99 },
		"learning rate": func(c *Config) { c.LearningRate = 0.03 },
		"start":         func(c *Config) { c.InitStd = 0.3 },
	} {
		c := Default()
		change(&c)
		other := fit(t, c, p)
		// half a nat of about −100, and a twentieth of the prior's standard deviation 3 on average
		if gap := math.Abs(other.Diagnostics().Objective - base.Diagnostics().Objective); gap > 0.5 {
			t.Errorf("another %s changes the objective by %g", name, gap)
		}
		if gap := floats.Distance(other.mean, base.mean, 1) / 64; gap > 0.15 {
			t.Errorf("another %s changes the means by %g on average", name, gap)
		}
	}
	if spread := stat.StdDev(base.mean, nil); spread < 0.05 {
		t.Errorf("the means have standard deviation %g over states: nothing was learnt", spread)
	}
}

func TestFitBatch(t *testing.T) {
	c := Default()
	c.Steps, c.Tolerance = 1000, 0
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	problems := []*irl.Problem{paperProblem(t, 1001), paperProblem(t, 1002), paperProblem(t, 1003)}
	calls := make(chan int, 3)
	got, err := m.Fit(t.Context(), problems, func(done, total int, _ string) { calls <- done*10 + total })
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != 3 {
		t.Errorf("progress was reported %d times, want once a problem", len(calls))
	}
	for i, p := range problems {
		alone := fit(t, c, p)
		if post := got[i].(*Posterior); post.Problem() != p || !cmp.Equal(post.mean, alone.mean) ||
			!cmp.Equal(post.q, alone.q) {
			t.Errorf("problem %d: in a batch the result differs from that alone", i)
		}
		if d := alone.Diagnostics(); d.Steps != 1000 || d.Converged || len(d.Curve) != 2 || !(d.Curve[1] > d.Curve[0]) {
			t.Errorf("problem %d: diagnostics %+v", i, d)
		}
	}
}

func TestSample(t *testing.T) {
	p := paperProblem(t, 1004)
	post := fit(t, Default(), p)
	samples, err := post.Sample(rand.New(rand.NewPCG(1, 0)), 2000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range post.mean {
		mean, std := stat.MeanStdDev(mat.Col(nil, i, samples.Reward), nil)
		// five standard errors: there are 128 comparisons
		if !scalar.EqualWithinAbs(mean, post.mean[i], 5*post.std[i]/math.Sqrt(2000)) ||
			!scalar.EqualWithinAbs(std/post.std[i], 1, 5/math.Sqrt(4000)) {
			t.Errorf("reward %d: samples have mean %g and std %g, want %g and %g", i, mean, std, post.mean[i],
				post.std[i])
		}
	}
	for _, i := range []int{0, 1, 1999} { // the first ones of both workers, and the last
		sol, err := p.MDP.Solve(samples.Reward.RawRowView(i), p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(sol.Q, samples.Q.RawRowView(i)) {
			t.Errorf("sample %d: Q is not optimal for its reward", i)
		}
	}
	if _, err := post.Sample(rand.New(rand.NewPCG(1, 0)), 0); err == nil {
		t.Error("drawing 0 samples is accepted")
	}
}

// load reads a stored posterior.
func load(path string) (*Posterior, error) {
	p, err := problemfile.Load(path, map[string]irl.Restore{Kind: Restore})
	if err != nil {
		return nil, err
	}
	return p.(*Posterior), nil
}

func TestSaveLoad(t *testing.T) {
	p := oneState(t)
	post := fit(t, withLambda(0.5), p)
	path := filepath.Join(t.TempDir(), "posterior.npz")
	if err := problemfile.Save(path, post); err != nil {
		t.Fatal(err)
	}
	back, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if back.Reward(0) != post.Reward(0) || !cmp.Equal(back.PointQ(), post.PointQ()) ||
		!cmp.Equal(back.Diagnostics(), post.Diagnostics()) {
		t.Errorf("loaded %+v, saved %+v", back, post)
	}
	if _, err := load(filepath.Join(t.TempDir(), "none.npz")); err == nil {
		t.Error("a missing file is accepted")
	}
	if err := problemfile.Save(filepath.Join(t.TempDir(), "none", "posterior.npz"), post); err == nil {
		t.Error("a missing folder is accepted")
	}
	post.std[0] = -1
	if err := problemfile.Save(path, post); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil || !strings.Contains(err.Error(), "reward_std[0] = -1") {
		t.Errorf("a negative standard deviation gives the error %v", err)
	}
}

func TestRefuses(t *testing.T) {
	checktest.Refuses(t, Default, New, map[string]func(*Config){
		"Lambda = -1":      func(c *Config) { c.Lambda = -1 },
		"Lambda = NaN":     func(c *Config) { c.Lambda = math.NaN() },
		"Lambda = +Inf":    func(c *Config) { c.Lambda = math.Inf(1) },
		"LearningRate = 0": func(c *Config) { c.LearningRate = 0 },
		"Tolerance = -0.1": func(c *Config) { c.Tolerance = -0.1 },
		"InitStd = -1":     func(c *Config) { c.InitStd = -1 },
		"Steps = 0":        func(c *Config) { c.Steps = 0 },
	})
	m, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "avril" {
		t.Errorf("the name is %q", m.Name())
	}
	if labelled, err := New(Config{Label: "avril-0.5", LearningRate: 1, Steps: 1}); err != nil ||
		labelled.Name() != "avril-0.5" {
		t.Errorf("the label is not the name: %v", err)
	}
	if _, err := m.Fit(t.Context(), nil, nil); err == nil {
		t.Error("no problems are accepted")
	}
	bad := oneState(t)
	bad.Discount = 1
	if _, err := m.Fit(t.Context(), []*irl.Problem{oneState(t), bad}, nil); err == nil ||
		!strings.Contains(err.Error(), "problem 1") {
		t.Errorf("a bad problem gives the error %v", err)
	}
	singular := paperProblem(t, 1000)
	singular.Prior = irl.Prior{Mean: singular.Prior.Mean, LowRank: mat.NewDense(64, 1, slices.Repeat([]float64{1}, 64))}
	if _, err := m.Fit(t.Context(), []*irl.Problem{singular}, nil); !errors.Is(err, irl.ErrSingularPrior) {
		t.Errorf("a singular prior gives the error %v", err)
	}
	unsure := oneState(t)
	unsure.BetaLogStd = 1
	if _, err := m.Fit(t.Context(), []*irl.Problem{unsure}, nil); !errors.Is(err, irl.ErrUnsupported) {
		t.Errorf("an unknown β gives the error %v", err)
	}
	late, stop := context.WithCancel(t.Context()) // while it trains
	long := Default()
	long.Steps, long.Tolerance = math.MaxInt, 0
	method, err := New(long)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := method.Fit(late, []*irl.Problem{oneState(t)}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelling a training gives the error %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Fit(cancelled, []*irl.Problem{paperProblem(t, 1000)}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelling gives the error %v", err)
	}
}
