package tabular

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check/checktest"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/irl/irltest"
	"github.com/go-birl/birl/qvirl/problemfile"
)

// testConfig is AdamConfig on the pure Go backend: compiling a small program by XLA takes longer than running it.
func testConfig() Config {
	c := AdamConfig()
	c.Backend = "go"
	return c
}

func fit(t *testing.T, c Config, problems ...*irl.Problem) []*Gaussian {
	t.Helper()
	return irltest.Fit[*Gaussian](t, problems...)(New(c))
}

// chain is a two-state MDP: in state 0 the agent stays or moves to the terminal state 1, each against a slip of 0.2.
func chain(t *testing.T) *mdp.MDP {
	t.Helper()
	m, err := mdp.FromDense(2, 2, []float64{0.8, 0.2, 0.2, 0.8, 0, 0, 0, 0}, []float64{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// chainMoments integrates the exact posterior over the two rewards of a chain on a grid, and returns their means and
// standard deviations.
func chainMoments(t *testing.T, p *irl.Problem) (mean, std [2]float64) {
	t.Helper()
	const points, width = 301, 6.0
	total := 0.0
	var first, second [2]float64
	for i := 0; i < points; i++ {
		for j := 0; j < points; j++ {
			z := [2]float64{width * (2*float64(i)/(points-1) - 1), width * (2*float64(j)/(points-1) - 1)}
			r := []float64{p.Prior.Mean[0] + p.Prior.Std[0]*z[0], p.Prior.Mean[1] + p.Prior.Std[1]*z[1]}
			sol, err := p.MDP.Solve(r, p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			policy := mdp.Boltzmann(nil, sol.Q, 2, p.Beta)
			logDensity := -0.5 * (z[0]*z[0] + z[1]*z[1])
			for _, d := range p.Demos {
				logDensity += math.Log(policy[d.State*2+d.Action])
			}
			w := math.Exp(logDensity)
			total += w
			for k := range r {
				first[k] += w * r[k]
				second[k] += w * r[k] * r[k]
			}
		}
	}
	for k := range mean {
		mean[k] = first[k] / total
		std[k] = math.Sqrt(second[k]/total - mean[k]*mean[k])
	}
	return mean, std
}

func TestPosteriorMatchesQuadrature(t *testing.T) {
	p := &irl.Problem{
		MDP: chain(t), Prior: irl.Prior{Mean: []float64{0, -1}, Std: []float64{1, 2}}, Discount: 0.8, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 1}, {State: 0, Action: 1}},
	}
	mean, std := chainMoments(t, p)
	c := Default()
	c.Steps = 500
	g := fit(t, c, p)[0]
	if !g.Converged() {
		t.Error("the fit did not converge")
	}
	for i := range mean {
		m := g.Reward(i)
		// The posterior is not Gaussian and the objective not the exact ELBO: a tenth of a standard deviation in the
		// mean and a seventh in the standard deviation is what the method itself errs here.
		if !scalar.EqualWithinAbs(m.Mean(), mean[i], 0.1*std[i]) || !scalar.EqualWithinAbs(m.StdDev()/std[i], 1, 0.15) {
			t.Errorf("reward %d: N(%.3f, %.3f), quadrature gives mean %.3f, std %.3f", i, m.Mean(), m.StdDev(), mean[i],
				std[i])
		}
	}
	if math.Abs(mean[1]-p.Prior.Mean[1]) < 0.3*std[1] {
		t.Errorf("the demonstrations moved the mean only from %g to %g: the fixture tests nothing", p.Prior.Mean[1],
			mean[1])
	}
}

// TestKLWeight: with half the weight, the posterior is that of demonstrations each of which was seen twice.
func TestKLWeight(t *testing.T) {
	once := smallProblems(t, true)[0]
	twice := *once
	twice.Demos = slices.Concat(once.Demos, once.Demos)
	drawn := testConfig()
	drawn.Objective, drawn.Steps = MonteCarlo, 20
	thin := Default()
	thin.Covariance, thin.Rank = LowRankCovariance, 2
	for name, c := range map[string]Config{"l-bfgs": Default(), "low rank": thin, "draws": drawn} {
		one, want := fit(t, c, once)[0], fit(t, c, &twice)[0]
		c.KLWeight = 0.5
		got := fit(t, c, once)[0]
		if got.ELBO() != want.ELBO() || got.Reward(1).Mean() != want.Reward(1).Mean() ||
			got.Reward(1).StdDev() != want.Reward(1).StdDev() {
			t.Errorf("%s: ELBO %g, reward %g ± %g; of two demonstrations each %g, %g ± %g", name, got.ELBO(),
				got.Reward(1).Mean(), got.Reward(1).StdDev(), want.ELBO(), want.Reward(1).Mean(),
				want.Reward(1).StdDev())
		}
		if got.ELBO() == one.ELBO() {
			t.Errorf("%s: the ELBO is that of weight 1, %g", name, one.ELBO())
		}
	}
}

func TestWithoutDemonstrationsThePosteriorIsThePrior(t *testing.T) {
	// Rewards are independent under the prior. (With strongly correlated ones Clark's residual variance, which is added
	// to the diagonal of the reward covariance, cannot be part of the prior, and the objective shrinks the values
	// instead.)
	for _, stateOnly := range []bool{true, false} {
		p := smallProblems(t, stateOnly)[0]
		p.Demos = nil
		c := testConfig()
		c.Steps, c.Rounds = 800, 1
		g := fit(t, c, p)[0]
		for i, mean := range p.Prior.Mean {
			// Values under the prior are not Gaussian, and the objective trades the mean for the covariance: a seventh
			// of a standard deviation is what the method itself errs here.
			m, std := g.Reward(i), p.Prior.Std[i]
			if !scalar.EqualWithinAbs(m.Mean(), mean, 0.2*std) || !scalar.EqualWithinAbs(m.StdDev()/std, 1, 0.1) {
				t.Errorf("stateOnly=%v, reward %d: N(%.3f, %.3f), the prior is N(%.3f, %.3f)", stateOnly, i, m.Mean(),
					m.StdDev(), mean, std)
			}
		}
	}
}

func TestBackendsAndPrecisionsAgree(t *testing.T) {
	problems := smallProblems(t, true)
	c := AdamConfig()
	c.Steps, c.Rounds = 200, 1
	best := fit(t, c, problems...) // XLA where it is installed
	c.Backend = "go"
	pure := fit(t, c, problems...)
	c.Float64 = true
	double := fit(t, c, problems...)
	for k := range problems {
		for i := range problems[k].Prior.Mean {
			for _, g := range []*Gaussian{best[k], pure[k]} {
				// rounding in single precision, after 200 steps of an optimizer that amplifies it
				if a, b := g.Reward(i), double[k].Reward(i); !scalar.EqualWithinAbs(a.Mean(), b.Mean(), 2e-3) ||
					!scalar.EqualWithinAbs(a.StdDev(), b.StdDev(), 2e-3) {
					t.Errorf("problem %d, reward %d: N(%.6f, %.6f) in single precision, N(%.6f, %.6f) in double", k, i,
						a.Mean(), a.StdDev(), b.Mean(), b.StdDev())
				}
			}
		}
	}
	if double[0].RewardMean()[0] == problems[0].Prior.Mean[0] {
		t.Error("nothing was learnt")
	}
}

func TestABatchFitsEachProblemAsIfAlone(t *testing.T) {
	problems := smallProblems(t, true)
	adam := testConfig()
	adam.Steps, adam.Rounds, adam.Float64 = 300, 1, true
	for _, c := range []Config{adam, Default()} {
		together := fit(t, c, problems...)
		for k, p := range problems {
			alone := fit(t, c, p)[0]
			for i := range p.Prior.Mean {
				if d := math.Abs(alone.Reward(i).Mean() - together[k].Reward(i).Mean()); d > 1e-8 {
					t.Errorf("%s, problem %d: mean of reward %d differs by %g from that of the problem alone",
						c.Optimizer, k, i, d)
				}
			}
		}
	}
}

func TestARefitStartsAfresh(t *testing.T) {
	problems := smallProblems(t, true)
	c := testConfig()
	c.Steps, c.Rounds = 50, 1
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	first, err := m.Fit(context.Background(), problems, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Fit(context.Background(), problems, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range problems[0].Prior.Mean {
		if a, b := first[0].Reward(i), again[0].Reward(i); a != b {
			t.Fatalf("reward %d: %v, then %v from the same compiled program", i, a, b)
		}
	}
}

func TestARefitContinuesFromAPosterior(t *testing.T) {
	problems := smallProblems(t, true)
	whitened, plain, lbfgs := testConfig(), testConfig(), Default()
	whitened.Steps, whitened.Rounds, whitened.Float64 = 100, 1, true
	plain.Steps, plain.Rounds, plain.Whiten, plain.Float64 = 100, 1, false, true
	lbfgs.Steps, lbfgs.Rounds = 10, 1
	for _, c := range []Config{whitened, plain, lbfgs} {
		before := fit(t, c, problems...)
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		after, err := m.FitFrom(context.Background(), problems, before, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range problems {
			reached := before[k].Curve()[len(before[k].Curve())-1].ELBO
			if first := after[k].(*Gaussian).Curve()[0].ELBO; !scalar.EqualWithinAbs(first, reached, 1e-6) {
				t.Errorf("%s, whiten=%v, problem %d: the refit starts at an ELBO of %g, the first fit ended at %g",
					c.Optimizer, c.Whiten, k, first, reached)
			}
		}
		if _, err := m.FitFrom(context.Background(), problems, before[:1], nil); err == nil {
			t.Error("one posterior for two problems was accepted")
		}
	}
}

func TestKernelCovarianceFits(t *testing.T) {
	problems := smallProblems(t, false)
	c := testConfig()
	c.Steps, c.Rounds = 800, 1
	full := fit(t, c, problems...)
	c.Covariance = KernelCovariance
	for k, g := range fit(t, c, problems...) {
		curve := g.Curve()
		first, last, best := curve[0].ELBO, curve[len(curve)-1].ELBO, full[k].Curve()[len(full[k].Curve())-1].ELBO
		if !(last > first+1) {
			t.Errorf("problem %d: the ELBO went from %g to %g", k, first, last)
		}
		if last > best+0.5 { // a family of fewer parameters; half a nat for what training has not reached
			t.Errorf("problem %d: ELBO %g beats the full covariance's %g", k, last, best)
		}
	}
}

func TestSamplesObeyTheBellmanEquation(t *testing.T) {
	for _, stateOnly := range []bool{true, false} {
		p := smallProblems(t, stateOnly)[1]
		c := Default()
		c.Steps, c.Rounds = 20, 1
		g := fit(t, c, p)[0]
		samples, err := g.ImpliedSample(gridworld.Stream(3, 3), 2000)
		if err != nil {
			t.Fatal(err)
		}
		own, err := g.Sample(gridworld.Stream(3, 3), 2000)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(own.Q, samples.Q) {
			t.Errorf("stateOnly=%v: Q-values of Sample and ImpliedSample differ for the same random numbers", stateOnly)
		}
		for i := 0; i < 20; i++ {
			sol, err := p.MDP.Solve(samples.Reward.RawRowView(i), p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			for j, q := range samples.Q.RawRowView(i) {
				if !scalar.EqualWithinAbs(q, sol.Q[j], 1e-8) {
					t.Fatalf("stateOnly=%v: sample %d: Q[%d] = %g, solving its reward gives %g", stateOnly, i, j, q,
						sol.Q[j])
				}
			}
		}
		values := samples.Values(p.MDP.Actions())
		for s := 0; s < p.MDP.States(); s++ {
			m, got := g.Value(s), irl.ColumnMeans(values)[s]
			// Monte Carlo error, and for state-action rewards Clark's
			if tolerance := m.StdDev() * (4/math.Sqrt(2000) + map[bool]float64{true: 0,
				false: 0.15}[stateOnly]); !scalar.EqualWithinAbs(got, m.Mean(), tolerance) {
				t.Errorf("stateOnly=%v: mean of V(%d) over samples %.3f, marginal %.3f ± %.3f", stateOnly, s, got,
					m.Mean(), m.StdDev())
			}
		}
		policy := irl.ColumnMeans(samples.Policies(p.MDP.Actions(), p.Beta))
		for i, prob := range g.ActionProbs() {
			if !scalar.EqualWithinAbs(policy[i], prob, 0.15) { // Lu's approximation, of five strongly dependent actions
				t.Errorf("stateOnly=%v: action probability %d: closed form %.3f, samples %.3f", stateOnly, i, prob,
					policy[i])
			}
		}
	}
}

// load reads a stored posterior.
func load(path string) (*Gaussian, error) {
	p, err := problemfile.Load(path, map[string]irl.Restore{Kind: Restore})
	if err != nil {
		return nil, err
	}
	return p.(*Gaussian), nil
}

func TestSaveAndLoad(t *testing.T) {
	problems := smallProblems(t, false)
	c := Default()
	c.Steps, c.Rounds = 10, 1
	g := fit(t, c, problems...)[1]
	path := filepath.Join(t.TempDir(), "posterior.npz")
	if err := problemfile.Save(path, g); err != nil {
		t.Fatal(err)
	}
	back, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(back.RewardCov(), g.RewardCov()) || back.Reward(4) != g.Reward(4) || back.Value(2) != g.Value(2) ||
		len(back.Curve()) != len(g.Curve()) || back.Curve()[1] != g.Curve()[1] || back.Converged() != g.Converged() {
		t.Error("the posterior read differs from the one written")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("reading half a file: error %v, want one that names it", err)
	}
}

func TestFitStopsWhenCancelled(t *testing.T) {
	for at, c := range map[int]Config{50: testConfig(), 3: Default()} {
		ctx, cancel := context.WithCancel(context.Background())
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		_, err = m.Fit(ctx, smallProblems(t, true)[:1], func(done, total int, _ string) {
			if last = done; done >= at {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || last > at+curveEvery {
			t.Errorf("%s: error %v after step %d, want that of the context", c.Optimizer, err, last)
		}
	}
}

// TestADivergingFitSaysSo needs a learning rate at which parameters overflow within a few steps.
func TestADivergingFitSaysSo(t *testing.T) {
	c := testConfig()
	c.LearningRate, c.Decay, c.Steps = 1e200, false, 50
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Fit(context.Background(), smallProblems(t, true), nil)
	if err == nil || !strings.Contains(err.Error(), "step") || !strings.Contains(err.Error(), "KL") ||
		!strings.Contains(err.Error(), "LearningRate = 1e+200") {
		t.Errorf("error %v, want the step, the terms of the loss and the learning rate", err)
	}
}

func TestBadConfigurations(t *testing.T) {
	checktest.Refuses(t, testConfig, New, map[string]func(*Config){
		"Objective": func(c *Config) { c.Objective = "" },
		"\"monte-carlo\" needs Covariance": func(c *Config) {
			c.Objective, c.Covariance = MonteCarlo,
				KernelCovariance
		},
		"\"closed-divergence\" needs Covariance": func(c *Config) {
			c.Objective, c.Covariance = ClosedDivergence,
				KernelCovariance
		},
		"KLWeight = -1":              func(c *Config) { c.KLWeight = -1 },
		"KLWeight = NaN":             func(c *Config) { c.KLWeight = math.NaN() },
		"LogExpected":                func(c *Config) { c.LogExpected = true },
		"Maximum":                    func(c *Config) { c.Maximum = "best" },
		"Covariance":                 func(c *Config) { c.Covariance = "" },
		"Optimizer = \"sgd\"":        func(c *Config) { c.Optimizer = "sgd" },
		"\"l-bfgs\" needs Objective": func(c *Config) { c.Optimizer, c.Whiten = LBFGS, false },
		"LearningRate":               func(c *Config) { c.LearningRate = math.NaN() },
		"Steps":                      func(c *Config) { c.Steps = 0 },
		"Rounds":                     func(c *Config) { c.Rounds = -1 },
		"Tolerance":                  func(c *Config) { c.Tolerance = math.NaN() },
	})
}
