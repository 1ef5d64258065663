package policywalk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check/checktest"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/irl/irltest"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// precise keeps sampling up to a fixed budget, to leave little Monte Carlo error.
func precise(sweeps int) Config {
	c := Default()
	c.Samples, c.MaxIterations, c.MinESS, c.Seed = 20000, sweeps, math.MaxFloat64, 1
	return c
}

func walk(t testing.TB, c Config, problems ...*irl.Problem) []*Posterior {
	t.Helper()
	return irltest.Fit[*Posterior](t, problems...)(New(c))
}

// estimate returns the mean of f over the chains' draws and its Monte Carlo standard error, by their effective size.
func estimate(chains [][]float64, f func(float64) float64) (mean, stdErr float64) {
	mapped := make([][]float64, len(chains))
	for i, c := range chains {
		for _, x := range c {
			mapped[i] = append(mapped[i], f(x))
		}
	}
	mean, std := stat.MeanStdDev(slices.Concat(mapped...), nil)
	return mean, std / math.Sqrt(mcmc.ESS(mapped))
}

// moments are functions of one quantity whose posterior means two computations must agree on: the mean, the variance
// about a point, and the distribution function at some points.
func moments(centre float64, points ...float64) map[string]func(float64) float64 {
	out := map[string]func(float64) float64{
		"mean":     func(x float64) float64 { return x },
		"variance": func(x float64) float64 { return (x - centre) * (x - centre) },
	}
	for _, at := range points {
		out[fmt.Sprintf("P(x ≤ %.3g)", at)] = func(x float64) float64 {
			if x <= at {
				return 1
			}
			return 0
		}
	}
	return out
}

// twoStates has a state from which one action stays and the other moves, and a state in which one action ends the
// episode.
func twoStates(t testing.TB) *irl.Problem {
	t.Helper()
	m, err := mdp.New(2, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 0, Prob: 0.2}, {Next: 1, Prob: 0.8}},
		{{Next: 0, Prob: 0.7}, {Next: 1, Prob: 0.3}}, nil,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: m, Prior: irl.Prior{Mean: []float64{0.5, -0.5}, Std: []float64{2, 1}}, Discount: 0.9,
		Beta: 0.7,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 1}, {State: 0, Action: 0}, {State: 1, Action: 0},
			{State: 1, Action: 1}}}
}

// TestQuadrature compares rewards and values with exact planning on a fine grid over the two rewards, under priors
// of every form.
func TestQuadrature(t *testing.T) {
	independent := twoStates(t)
	correlated := *independent
	correlated.Prior = irl.Prior{Mean: []float64{0.5, -0.5}, Cov: mat.NewSymDense(2, []float64{4, 1.4, 1.4, 1})}
	singular, lowRank := correlated, correlated
	singular.Prior.Cov = mat.NewSymDense(2, []float64{2.25, 1.5, 1.5, 1})
	lowRank.Prior = irl.Prior{Mean: []float64{0.5, -0.5}, LowRank: mat.NewDense(2, 1, []float64{1, 1}),
		Std: []float64{1.5, 0}}
	for name, p := range map[string]*irl.Problem{
		"independent": independent, "correlated": &correlated, "singular": &singular, "low rank": &lowRank,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 400 // points a dimension, over 6 standard deviations of the whitened rewards on each side
			given, err := p.Prior.Factor()
			if err != nil {
				t.Fatal(err)
			}
			// L U with an orthogonal U is a factor too; where L is one column, U spreads it, and the grid's points.
			padded, factor := mat.NewDense(2, 2, nil), mat.NewDense(2, 2, nil)
			padded.Copy(given)
			factor.Mul(padded, mat.NewDense(2, 2, []float64{.8, .6, -.6, .8}))
			rewards, weights := mat.NewDense(n*n, 2, nil), make([]float64, n*n)
			for i := range weights {
				a, b := -6+12*(float64(i%n)+0.5)/n, -6+12*(float64(i/n)+0.5)/n
				rewards.SetRow(i, []float64{p.Prior.Mean[0] + factor.At(0, 0)*a + factor.At(0, 1)*b,
					p.Prior.Mean[1] + factor.At(1, 0)*a + factor.At(1, 1)*b})
				weights[i] = -(a*a + b*b) / 2
			}
			samples, err := p.SolveSamples(rewards)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i := range weights {
				for _, d := range p.Demos { // not by the problem's own likelihood, which the walk uses
					q := samples.Q.RawRowView(i)[2*d.State : 2*d.State+2]
					weights[i] -= math.Log1p(math.Exp(p.Beta * (q[1-d.Action] - q[d.Action])))
				}
				weights[i] = math.Exp(weights[i])
				sum += weights[i]
			}
			expect := func(column []float64, f func(float64) float64) float64 {
				total := 0.0
				for i, x := range column {
					total += weights[i] / sum * f(x)
				}
				return total
			}
			posterior := walk(t, precise(20000), p)[0]
			values := samples.Values(2)
			for s := range 2 {
				for what, pair := range map[string]struct {
					exact  []float64
					chains [][]float64
				}{"reward": {mat.Col(nil, s, rewards), posterior.RewardChains(s)}, "value": {mat.Col(nil, s, values),
					posterior.ValueChains(s)}} {
					mean := expect(pair.exact, func(x float64) float64 { return x })
					for name, f := range moments(mean, mean-1, mean, mean+1) {
						want := expect(pair.exact, f)
						got, stdErr := estimate(pair.chains, f)
						// 4 Monte Carlo standard errors; a distribution function is off by up to half a cell's mass,
						// 1/400
						tolerance := 4*stdErr + 1e-4
						if strings.HasPrefix(name, "P") {
							tolerance += 0.0025
						}
						if !scalar.EqualWithinAbs(got, want, tolerance) || !(stdErr < 0.1) {
							t.Errorf("%s %d: %s = %.5f ± %.5f, want %.5f", what, s, name, got, stdErr, want)
						}
					}
				}
			}
		})
	}
}

// grid is a 3×3 gridworld with a terminal state, and demonstrations for a reward drawn from the prior.
func grid(t testing.TB, seed uint64) *irl.Problem {
	t.Helper()
	config := gridworld.Paper()
	config.Width, config.Height, config.TerminalProb, config.TopFraction = 3, 3, 0, 0.12
	w, err := gridworld.Random(config, seed)
	if err != nil {
		t.Fatal(err)
	}
	demos, err := w.Demonstrate(4, 3, 2, 0.9, seed)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(9, -1, 3), Discount: 0.9, Beta: 2,
		Demos: mdp.Flatten(demos)}
}

// TestValueWalk compares all rewards and values of a 3×3 gridworld with ValueWalk, which walks in another space.
func TestValueWalk(t *testing.T) {
	p := grid(t, 2000)
	posterior := walk(t, precise(30000), p)[0]
	c := valuewalk.Default()
	c.Samples, c.MaxIterations, c.MinESS = 20000, 20000, math.MaxFloat64
	other := irltest.Fit[*valuewalk.Posterior](t, p)(valuewalk.New(c))[0]
	moved := 0.0
	for s := range 9 {
		for what, pair := range map[string][2][][]float64{
			"reward": {posterior.RewardChains(s), other.RewardChains(s)}, "value": {posterior.ValueChains(s),
				other.ValueChains(s)},
		} {
			centre, _ := estimate(pair[1], func(x float64) float64 { return x })
			for name, f := range moments(centre, centre-2, centre, centre+2) {
				got, e1 := estimate(pair[0], f)
				want, e2 := estimate(pair[1], f)
				// 18 quantities × 5 moments: 4 standard errors leave a false alarm less than 1 in 150, and the seed is
				// fixed
				if !(math.Abs(got-want) <= 4*math.Hypot(e1, e2)) {
					t.Errorf("%s %d: %s = %.4f ± %.4f, ValueWalk's %.4f ± %.4f", what, s, name, got, e1, want, e2)
				}
			}
			if what == "reward" {
				moved = math.Max(moved, math.Abs(centre+1))
			}
		}
	}
	if moved < 0.5 { // or the prior itself would pass
		t.Errorf("the demonstrations moved no reward by more than %g", moved)
	}
}

// TestStateActionRewards checks that samples without demonstrations are prior draws, and that values solve the MDP.
func TestStateActionRewards(t *testing.T) {
	p := *twoStates(t)
	p.Prior, p.Demos = irl.IndependentPrior(4, -1, 2), nil
	posterior := walk(t, precise(10000), &p)[0]
	for i := range 4 {
		for name, want := range map[string]float64{"mean": -1, "variance": 4, "P(x ≤ -1)": 0.5} {
			if got, stdErr := estimate(posterior.RewardChains(i), moments(-1, -1)[name]); !scalar.EqualWithinAbs(got,
				want, 4*stdErr) {
				t.Errorf("reward %d: %s = %.4f ± %.4f, want the prior's %g", i, name, got, stdErr, want)
			}
		}
	}
	samples := posterior.Samples()
	for i := 0; i < posterior.Len(); i += 1000 {
		sol, err := p.MDP.Solve(samples.Reward.RawRowView(i), p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		for j, q := range sol.Q { // rewards of order 1 to 10
			if !scalar.EqualWithinAbs(samples.Q.At(i, j), q, 1e-9) {
				t.Fatalf("sample %d: Q[%d] = %g, want %g", i, j, samples.Q.At(i, j), q)
			}
		}
	}
}

func TestConvergesAndIsDeterminedBySeedAndProblem(t *testing.T) {
	problems := []*irl.Problem{grid(t, 2001), grid(t, 2002)}
	batch := walk(t, Default(), problems...)
	previous := runtime.GOMAXPROCS(1)
	alone := walk(t, Default(), problems[1])[0]
	runtime.GOMAXPROCS(previous)
	if !mat.Equal(batch[1].Rewards(), alone.Rewards()) {
		t.Error("a problem's samples depend on its batch or on GOMAXPROCS")
	}
	for i, p := range batch {
		d := p.Diagnostics()
		if err := d.Clean(); err != nil {
			t.Errorf("problem %d: %v", i, err)
		}
		if !scalar.EqualWithinAbs(d.Acceptance, 0.44, 0.05) || p.Len() != 5000 || !(d.Seconds > 0) {
			t.Errorf("problem %d: %d samples, %+v", i, p.Len(), d)
		}
		if p.Problem() != problems[i] {
			t.Errorf("posterior %d has lost its problem", i)
		}
	}
}

func TestStopsWhenCancelled(t *testing.T) {
	c := precise(math.MaxInt32) // would run for hours
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	posteriors, err := m.Fit(ctx, []*irl.Problem{twoStates(t)}, func(int, int, string) { cancel() })
	if !errors.Is(err, context.Canceled) || posteriors != nil {
		t.Errorf("error %v, posteriors %v", err, posteriors)
	}
}

func TestBadInput(t *testing.T) {
	checktest.Refuses(t, Default, New, map[string]func(*Config){
		"Chains = 0":         func(c *Config) { c.Chains = 0 },
		"Samples = 5001":     func(c *Config) { c.Samples = 5001 },
		"Warmup = 3":         func(c *Config) { c.Warmup = 3 },
		"MinESS = NaN":       func(c *Config) { c.MinESS = math.NaN() },
		"MaxRHat = 1":        func(c *Config) { c.MaxRHat = 1 },
		"MaxIterations = 10": func(c *Config) { c.MaxIterations = 10 },
		"TargetAccept = 1":   func(c *Config) { c.TargetAccept = 1 },
	})
	m, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	bad := *twoStates(t)
	bad.Demos = []mdp.Step{{State: 9, Action: 0}}
	for want, problems := range map[string][]*irl.Problem{"no problems": nil, "problem 1": {twoStates(t), &bad}} {
		if _, err := m.Fit(context.Background(), problems, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
