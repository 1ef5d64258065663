package valuewalk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/irl/irltest"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// precise keeps sampling up to a fixed budget, to leave the tests below little Monte Carlo error.
func precise(seed uint64) Config {
	c := Default()
	c.Samples, c.MaxIterations, c.MinESS, c.Seed = 20000, 20000, math.MaxFloat64, seed
	return c
}

func fit(t testing.TB, c Config, problems ...*irl.Problem) []*Posterior {
	t.Helper()
	return irltest.Fit[*Posterior](t, problems...)(New(c))
}

// estimate returns the mean of f over the chains' draws and its Monte Carlo standard error.
func estimate(chains [][]float64, f func(float64) float64) (mean, stderr float64) {
	mapped := make([][]float64, len(chains))
	for i, c := range chains {
		for _, x := range c {
			mapped[i] = append(mapped[i], f(x))
		}
	}
	mean, std := stat.MeanStdDev(slices.Concat(mapped...), nil)
	return mean, std / math.Sqrt(mcmc.ESS(mapped))
}

// moment is a function of one quantity whose posterior mean two computations must agree on.
type moment struct {
	name string
	f    func(float64) float64
}

// moments are the mean, the variance about the given mean, and the distribution function at the given points.
func moments(mean float64, points ...float64) []moment {
	out := []moment{
		{"mean", func(x float64) float64 { return x }},
		{"variance", func(x float64) float64 { return (x - mean) * (x - mean) }},
	}
	for _, at := range points {
		out = append(out, moment{fmt.Sprintf("P(x ≤ %.3g)", at), func(x float64) float64 {
			if x <= at {
				return 1
			}
			return 0
		}})
	}
	return out
}

// cells is a distribution on the midpoints of a fine grid over the rewards, with the optimal state values at each.
type cells struct {
	weight        []float64   // sums to one
	reward, value [][]float64 // of each cell
}

// quadrature computes the posterior of a problem with few rewards by exact planning on a grid of n points a dimension,
// which covers 6 standard deviations of the prior on each side.
func quadrature(t testing.TB, p *irl.Problem, n int) *cells {
	t.Helper()
	dim, total := p.RewardDim(), 1
	for range dim {
		total *= n
	}
	var c cells
	var logs []float64
	for i := 0; i < total; i++ {
		reward, logp := make([]float64, dim), 0.0
		for d, rest := 0, i; d < dim; d, rest = d+1, rest/n {
			z := -6 + 12*(float64(rest%n)+0.5)/float64(n)
			reward[d] = p.Prior.Mean[d] + p.Prior.Std[d]*z
			logp -= z * z / 2
		}
		sol, err := p.MDP.Solve(reward, p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, logp+logLikelihood(p, sol.Q))
		c.reward, c.value = append(c.reward, reward), append(c.value, sol.V)
	}
	top, sum := logs[0], 0.0
	for _, l := range logs {
		top = math.Max(top, l)
	}
	for _, l := range logs {
		c.weight = append(c.weight, math.Exp(l-top))
		sum += math.Exp(l - top)
	}
	for i := range c.weight {
		c.weight[i] /= sum
	}
	return &c
}

func (c *cells) expect(column [][]float64, i int, f func(float64) float64) float64 {
	sum := 0.0
	for k, w := range c.weight {
		sum += w * f(column[k][i])
	}
	return sum
}

// tractable is a problem with so few rewards that quadrature on a grid of so many points a dimension gives its
// posterior.
type tractable struct {
	name    string
	problem *irl.Problem
	grid    int
}

func tractables(t testing.TB) []tractable {
	t.Helper()
	build := func(actions int, rows [][]mdp.Transition) *mdp.MDP {
		m, err := mdp.New(len(rows)/actions, actions, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	two := build(2, [][]mdp.Transition{ // stay or move; in state 1 one action may end the episode
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 0, Prob: 0.2}, {Next: 1, Prob: 0.8}},
		{{Next: 0, Prob: 0.7}, {Next: 1, Prob: 0.3}}, nil,
	})
	one := build(2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, nil})        // go on or end
	three := build(3, [][]mdp.Transition{{{Next: 0, Prob: 1}}, nil, nil}) // two ways to end
	step := func(pairs ...int) []mdp.Step {
		var out []mdp.Step
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, mdp.Step{State: pairs[i], Action: pairs[i+1]})
		}
		return out
	}
	return []tractable{
		{"state-only", &irl.Problem{MDP: two, Prior: irl.Prior{Mean: []float64{0.5, -0.5}, Std: []float64{2, 1}},
			Discount: 0.9, Beta: 0.7, Demos: step(0, 1, 0, 1, 0, 0, 1, 0, 1, 1)}, 400},
		{"state-action", &irl.Problem{MDP: one, Prior: irl.Prior{Mean: []float64{-0.5, 1}, Std: []float64{1, 2}},
			Discount: 0.8, Beta: 0.7, Demos: step(0, 0, 0, 0, 0, 1)}, 400},
		{"state-action, three actions", &irl.Problem{MDP: three, Prior: irl.IndependentPrior(3, 0.5, 1.5),
			Discount: 0.8, Beta: 0.7, Demos: step(0, 0, 0, 1, 0, 1, 0, 2)}, 80},
	}
}

// TestQuadrature compares means, variances and distribution functions of rewards and values with quadrature.
func TestQuadrature(t *testing.T) {
	for _, test := range tractables(t) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := test.problem
			exact, posterior := quadrature(t, p, test.grid), fit(t, precise(11), p)[0]
			compare := func(what string, i int, column [][]float64, draws []float64, thresholds bool) {
				mean := exact.expect(column, i, func(x float64) float64 { return x })
				var points []float64
				// grid edges, so that cells are wholly on one side, about −1, 0 and 1 posterior deviations away
				if thresholds {
					std := math.Sqrt(exact.expect(column, i,
						func(x float64) float64 { return (x - mean) * (x - mean) }))
					for _, at := range []float64{mean - std, mean, mean + std} {
						cell := 12 * p.Prior.Std[i] / float64(test.grid)
						points = append(points, p.Prior.Mean[i]+cell*math.Round((at-p.Prior.Mean[i])/cell))
					}
				}
				for _, m := range moments(mean, points...) {
					want := exact.expect(column, i, m.f)
					got, stderr := estimate(posterior.ByChain(draws), m.f)
					// 4 Monte Carlo standard errors, and 1e-4 for the grid's discretisation
					if !scalar.EqualWithinAbs(got, want, 4*stderr+1e-4*(1+math.Abs(want))) || !(stderr < 0.1) {
						t.Errorf("%s %d: %s = %.5f ± %.5f, want %.5f", what, i, m.name, got, stderr, want)
					}
				}
			}
			for i := range p.Prior.Mean {
				compare("reward", i, exact.reward, mat.Col(nil, i, posterior.Rewards()), true)
			}
			for s := 0; s < p.MDP.States(); s++ {
				compare("value", s, exact.value, slices.Concat(posterior.ValueChains(s)...), false)
			}
		})
	}
}

// ellipticalSlice samples the posterior over rewards by elliptical slice sampling (Murray, Adams and MacKay, 2010),
// planning exactly in each evaluation of the likelihood: an algorithm that has nothing in common with ValueWalk but the
// problem. It returns the reward draws of each chain, [n][RewardDim].
func ellipticalSlice(t testing.TB, p *irl.Problem, chains, n int, seed uint64) [][][]float64 {
	t.Helper()
	likelihood := func(r []float64) float64 {
		sol, err := p.MDP.Solve(r, p.Discount)
		if err != nil {
			t.Error(err)
			return math.NaN()
		}
		return logLikelihood(p, sol.Q)
	}
	out := make([][][]float64, chains)
	for c := range out {
		rng := rand.New(rand.NewPCG(seed, uint64(c)))
		dim := p.RewardDim()
		z, nu, next := make([]float64, dim), make([]float64, dim), make([]float64, dim)
		reward := func(z []float64) []float64 {
			r := make([]float64, dim)
			for i := range r {
				r[i] = p.Prior.Mean[i] + p.Prior.Std[i]*z[i]
			}
			return r
		}
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		present := likelihood(reward(z))
		for k := -n / 10; k < n; k++ {
			for i := range nu {
				nu[i] = rng.NormFloat64()
			}
			level := present + math.Log(rng.Float64())
			angle := 2 * math.Pi * rng.Float64()
			low, high := angle-2*math.Pi, angle
			for {
				for i := range next {
					next[i] = z[i]*math.Cos(angle) + nu[i]*math.Sin(angle)
				}
				if present = likelihood(reward(next)); !(present <= level) {
					break
				}
				if angle < 0 {
					low = angle
				} else {
					high = angle
				}
				angle = low + (high-low)*rng.Float64()
			}
			copy(z, next)
			if k >= 0 {
				out[c] = append(out[c], reward(z))
			}
		}
	}
	return out
}

// smallWorld is a 3×3 gridworld with one terminal state and demonstrations of an expert for a reward drawn from the
// prior.
func smallWorld(t testing.TB, seed uint64) (world *gridworld.World, problem *irl.Problem) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	reward, terminal := make([]float64, 9), make([]bool, 9)
	for s := range reward {
		reward[s] = -1 + 3*rng.NormFloat64()
	}
	terminal[2] = true
	world, err := gridworld.New(3, 3, reward, terminal, 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	demos, err := world.Demonstrate(4, 3, 2, 0.9, seed)
	if err != nil {
		t.Fatal(err)
	}
	return world, &irl.Problem{MDP: world.MDP, Prior: irl.IndependentPrior(9, -1, 3), Discount: 0.9, Beta: 2,
		Demos: mdp.Flatten(demos)}
}

// worstScore returns the largest difference between two samplers' moments of any reward, in standard errors of the
// difference.
func worstScore(posterior *Posterior, draws [][][]float64) (worst float64, what string) {
	for i := 0; i < posterior.Problem().RewardDim(); i++ {
		chains := make([][]float64, len(draws))
		var all []float64
		for c, d := range draws {
			for _, r := range d {
				chains[c] = append(chains[c], r[i])
			}
			all = append(all, chains[c]...)
		}
		reference, err := irl.NewEmpirical(all)
		if err != nil {
			return math.Inf(1), err.Error()
		}
		for _, m := range moments(reference.Mean(), reference.Quantile(0.05), reference.Quantile(0.5),
			reference.Quantile(0.95)) {
			want, e1 := estimate(chains, m.f)
			got, e2 := estimate(posterior.RewardChains(i), m.f)
			if z := math.Abs(got-want) / math.Hypot(e1, e2); !(z <= worst) {
				worst, what = z, fmt.Sprintf("reward %d: %s = %.4f ± %.4f, the other sampler's is %.4f ± %.4f", i,
					m.name, got, e2, want, e1)
			}
		}
	}
	return worst, what
}

// TestEllipticalSlice compares marginals with an independent sampler over rewards, and shows that the comparison has
// the power to tell the posterior without the determinant from the true one.
func TestEllipticalSlice(t *testing.T) {
	_, grid := smallWorld(t, 5)
	pair := *grid // state-action rewards on a 2-state MDP
	m, err := mdp.New(2, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 0, Prob: 0.2}, {Next: 1, Prob: 0.8}},
		{{Next: 0, Prob: 0.7}, {Next: 1, Prob: 0.3}}, {{Next: 1, Prob: 1}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair.MDP, pair.Prior, pair.Beta = m, irl.IndependentPrior(4, -1, 2), 1
	pair.Demos = []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 0}, {State: 0, Action: 1}, {State: 1, Action: 0}}
	for _, test := range []struct {
		name    string
		problem *irl.Problem
	}{{"state-only 3×3", grid}, {"state-action", &pair}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			draws := ellipticalSlice(t, test.problem, 4, 20000, 13)
			// 9 rewards × 5 moments: 4.5 standard errors leave a false alarm less than 1 in 3000
			if z, what := worstScore(fit(t, precise(12), test.problem)[0], draws); !(z <= 4.5) {
				t.Errorf("differs by %.1f standard errors: %s", z, what)
			}
			config := precise(12)
			config.NoDeterminant = true
			if z, _ := worstScore(fit(t, config, test.problem)[0], draws); !(z > 10) {
				t.Errorf("without the determinant the difference is only %.1f standard errors: the comparison has no "+
					"power", z)
			}
		})
	}
}

// TestCalibration is simulation-based calibration (Talts et al., 2018): rewards are drawn from the prior,
// demonstrations from the rewards, and the rank of each true reward among near-independent posterior samples must be
// uniform.
func TestCalibration(t *testing.T) {
	const replicates, samples, bins = 200, 39, 8
	config := Default()
	config.Chains, config.Samples, config.Warmup, config.MaxIterations, config.MinESS = 3, samples, 200, 600,
		math.MaxFloat64
	problems, truth := make([]*irl.Problem, replicates), make([][]float64, replicates)
	for i := range problems {
		world, problem := smallWorld(t, 3000+uint64(i))
		problems[i], truth[i] = problem, world.Reward
	}
	posteriors := fit(t, config, problems...)
	uniform := distuv.ChiSquared{K: bins - 1}
	for s := 0; s < 9; s++ {
		counts := make([]float64, bins)
		for i, p := range posteriors {
			rank := 0
			for _, r := range mat.Col(nil, s, p.Rewards()) {
				if r < truth[i][s] {
					rank++
				}
			}
			counts[rank*bins/(samples+1)]++
		}
		expected := make([]float64, bins)
		for b := range expected {
			expected[b] = replicates / bins
		}
		chi2 := stat.ChiSquare(counts, expected)
		if p := uniform.Survival(chi2); p < 0.01/9 { // Bonferroni over the states
			t.Errorf("state %d: the ranks are not uniform: χ² = %.1f, p = %.5f, counts %v", s, chi2, p, counts)
		}
	}
}

// TestPriorIsRecovered checks that a posterior given nothing to learn from is the prior: no demonstrations, or
// state-only rewards without a future.
func TestPriorIsRecovered(t *testing.T) {
	problems := make(map[string]*irl.Problem)
	for name, p := range smallProblems(t) {
		p.Demos = nil
		problems[name] = p
	}
	myopic := *smallProblems(t)["state-only"]
	myopic.Discount = 0
	problems["discount 0"] = &myopic
	config := Default()
	config.MaxIterations, config.MinESS = 10000, math.MaxFloat64
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			posterior := fit(t, config, p)[0]
			cov := p.Prior.Covariance()
			for i, mean := range p.Prior.Mean {
				std := math.Sqrt(cov.At(i, i))
				want := append([]float64{mean, std * std}, 0.1, 0.5, 0.9)
				points := []float64{mean - 1.2815515655*std, mean, mean + 1.2815515655*std}
				for k, m := range moments(mean, points...) {
					if got, stderr := estimate(posterior.RewardChains(i), m.f); !scalar.EqualWithinAbs(got, want[k],
						4.5*stderr) {
						t.Errorf("reward %d: %s = %.4f ± %.4f, want %.4f", i, m.name, got, stderr, want[k])
					}
				}
				for j := 0; j < i; j++ { // covariances, through the product of the centred rewards
					a, b := mat.Col(nil, i, posterior.Rewards()), mat.Col(nil, j, posterior.Rewards())
					for k := range a {
						a[k] = (a[k] - mean) * (b[k] - p.Prior.Mean[j])
					}
					got, stderr := estimate(posterior.ByChain(a), func(x float64) float64 { return x })
					if !scalar.EqualWithinAbs(got, cov.At(i, j), 4.5*stderr) {
						t.Errorf("covariance of rewards %d and %d = %.4f ± %.4f, want %.4f", i, j, got, stderr,
							cov.At(i, j))
					}
				}
			}
		})
	}
}
