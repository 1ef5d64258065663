// Package maxmean shows what the approximations of the maximum do to reward posteriors (App. "Max-Mean Approximation").
//
// It takes samples of the exact posterior over optimal values on a 3×3 gridworld, by ValueWalk, and deduces the reward
// from them in three ways: exactly, R(s) = V(s) − γ max_a E V(s'); by max-mean, which takes for the maximum the action
// of highest mean value; and by Clark's approximation, from the mean and the covariance of the values alone.
package maxmean

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Name is the experiment's name in result rows.
const Name = "maxmean"

// The methods, by their names in result rows.
const (
	Exact      = "valuewalk"
	PolicyWalk = policywalk.Name // the exact posterior by another sampler: its distances are Monte Carlo error
	MaxMean    = "max-mean"
	Clark      = "clark"
)

// The metrics, which the registry of package metric explains. Each is followed by an underscore and the number of the
// state.
const (
	RewardMean = "reward_mean"
	RewardStd  = "reward_std"
	W1         = metric.W1
	W1Gaussian = "w1_gaussian"
	WrongMax   = "wrong_max"
	Gap        = "max_less_chosen"
)

// Config determines the rows of the experiment.
type Config struct {
	World      obstacle.Config // the gridworld, its prior and demonstrations
	ValueWalk  valuewalk.Config
	PolicyWalk policywalk.Config
}

// Paper returns the config of the experiment. The paper does not say which 3×3 gridworld its figure is of: ours is that
// of its other 3×3 figure.
func Paper() Config {
	world := obstacle.Paper()
	world.Sweep, world.Rates = nil, nil // no part of this experiment
	return Config{World: world, ValueWalk: valuewalk.Default(), PolicyWalk: policywalk.Default()}
}

// Quick returns the same with fewer samples.
func Quick() Config {
	c := Paper()
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 2000, 400, 10_000
	c.PolicyWalk.Samples, c.PolicyWalk.MinESS, c.PolicyWalk.MaxIterations = 2000, 400, 20_000
	return c
}

// State holds the reward posteriors of one state.
type State struct {
	Exact, MaxMean *irl.Empirical // samples
	Clark          distuv.Normal
	WrongMax, Gap  float64 // see the metrics
}

// Gaussian returns the Gaussian of a distribution's mean and variance.
func Gaussian(m irl.Distribution) distuv.Normal {
	return distuv.Normal{Mu: m.Mean(), Sigma: m.StdDev()}
}

// Fit samples the posterior, and returns the three reward posteriors of each state.
func (c Config) Fit(ctx context.Context, progress irl.Progress) ([]State, *valuewalk.Posterior, error) {
	m, err := valuewalk.New(c.ValueWalk)
	if err != nil {
		return nil, nil, err
	}
	fitted, err := c.World.Fit(ctx, m, progress)
	if err != nil {
		return nil, nil, err
	}
	post := fitted.(*valuewalk.Posterior)
	states, err := Deduce(post.Problem(), post.Samples())
	return states, post, err
}

// Deduce deduces the rewards of a state-only problem from samples of its optimal values.
func Deduce(p *irl.Problem, samples *irl.Samples) ([]State, error) {
	if !p.StateOnly() {
		return nil, fmt.Errorf("maxmean: the problem has state-action rewards, want state-only ones")
	}
	actions := p.MDP.Actions()
	values := samples.Values(actions)
	n, _ := values.Dims()
	out := make([]State, p.MDP.States())
	for s := range out {
		v := mat.Col(nil, s, values)
		// next[a][i] is E V(s') after the a-th distinct action, in sample i
		next := distinct(p, s, values)
		if len(next) == 0 { // terminal: the reward is the value
			next = [][]float64{make([]float64, n)}
		}
		best := 0
		for a := range next {
			if stat.Mean(next[a], nil) > stat.Mean(next[best], nil) {
				best = a
			}
		}
		exact, chosen := make([]float64, n), make([]float64, n)
		for i := range v {
			top := math.Inf(-1)
			for a := range next {
				top = math.Max(top, next[a][i])
			}
			exact[i], chosen[i] = v[i]-p.Discount*top, v[i]-p.Discount*next[best][i]
			out[s].Gap += p.Discount * (top - next[best][i]) / float64(n)
			if top > next[best][i] {
				out[s].WrongMax += 1 / float64(n)
			}
		}
		var err error
		if out[s].Exact, err = irl.NewEmpirical(exact); err != nil {
			return nil, err
		}
		if out[s].MaxMean, err = irl.NewEmpirical(chosen); err != nil {
			return nil, err
		}
		if out[s].Clark, err = clark(v, next, p.Discount); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// distinct returns the expected next value in each sample after each action of a state, without actions that repeat the
// dynamics of an earlier one.
func distinct(p *irl.Problem, s int, values *mat.Dense) [][]float64 {
	var out [][]float64
	seen := map[string]bool{}
	n, states := values.Dims()
	for a := 0; a < p.MDP.Actions() && !p.MDP.Ends(s, a); a++ {
		row := make([]float64, states)
		next, prob := p.MDP.Row(s, a)
		for k, to := range next {
			row[to] = prob[k]
		}
		if key := fmt.Sprint(row); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		expected := make([]float64, n)
		for i := range expected {
			expected[i] = floats.Dot(row, values.RawRowView(i))
		}
		out = append(out, expected)
	}
	return out
}

// clark returns the Gaussian of R = V − γ max_a N_a by Clark's approximation, from the moments of samples v of V and
// next of N (Prop. reward-gaussian).
func clark(v []float64, next [][]float64, discount float64) (distuv.Normal, error) {
	mean := make([]float64, len(next))
	cov := mat.NewSymDense(len(next), nil)
	for a := range next {
		mean[a] = stat.Mean(next[a], nil)
		for b := a; b < len(next); b++ {
			cov.SetSym(a, b, stat.Covariance(next[a], next[b], nil))
		}
	}
	meanMax, varMax, weights, err := graphs.ClarkMax(mean, cov)
	if err != nil {
		return distuv.Normal{}, err
	}
	covMax := 0.0 // Cov(V, max) through the linear surrogate
	for a, w := range weights {
		covMax += w * stat.Covariance(v, next[a], nil)
	}
	variance := stat.Variance(v, nil) + discount*discount*varMax - 2*discount*covMax
	return distuv.Normal{Mu: stat.Mean(v, nil) - discount*meanMax, Sigma: math.Sqrt(math.Max(variance, 0))}, nil
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.First(c.World.Validate(), c.ValueWalk.Validate(), c.PolicyWalk.Validate())
}

// Units returns the units of the experiment: what is deduced from ValueWalk's samples, and PolicyWalk.
func (c Config) Units(string) ([]experiment.Unit, error) {
	world := c.World // what its problem depends on
	world.Lambdas, world.ValueWalk, world.PolicyWalk = nil, valuewalk.Config{}, policywalk.Config{}
	world.QVIRL, world.AVRIL = tabular.Config{}, avril.Config{}
	deduced := func(r experiment.Row) bool { return r.Method != PolicyWalk }
	sampled := func(r experiment.Row) bool { return r.Method == PolicyWalk }
	return []experiment.Unit{
		{Name: Exact, Group: "all", Method: Exact, On: []any{world, c.ValueWalk}, Owns: deduced,
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				k, err := c.known(ctx, t)
				if err != nil {
					return nil, err
				}
				return c.result(k.states, Exact, k.exact, nil), nil
			}},
		{Name: PolicyWalk, Group: "all", Method: PolicyWalk, Code: []string{Exact},
			On: []any{world, c.ValueWalk, c.PolicyWalk}, Owns: sampled,
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				k, err := c.known(ctx, t)
				if err != nil {
					return nil, err
				}
				again, err := experiment.Stage(t, PolicyWalk, PolicyWalk, func(progress irl.Progress) (irl.Posterior,
					error) {
					m, err := policywalk.New(c.PolicyWalk)
					if err != nil {
						return nil, err
					}
					return c.World.Fit(ctx, m, progress)
				})
				if err != nil {
					return nil, err
				}
				return c.result(k.states, PolicyWalk, again, again), nil
			}},
	}, nil
}

// known is the exact posterior, and what is deduced from its samples.
type known struct {
	states []State
	exact  *valuewalk.Posterior
}

// known samples the exact posterior, once for both units.
func (c Config) known(ctx context.Context, t *experiment.Stages) (*known, error) {
	return experiment.Share(ctx, Exact, func() (*known, error) {
		k := new(known)
		return k, t.Run(Exact, Exact, func(progress irl.Progress) (err error) {
			k.states, k.exact, err = c.Fit(ctx, progress)
			return err
		})
	})
}

// result returns the rows of the states' posteriors, of the other sampler's if there is one or else of those that are
// deduced, and of the chains of a sampler.
func (c Config) result(states []State, name string, chains irl.Posterior, again irl.Posterior) *experiment.Result {
	result := &experiment.Result{Rows: append(c.rows(states, again),
		c.row(name).WithAll(irl.Computation(chains, obstacle.Told...))...)}
	result.Doubt(chains, "%s", name)
	return result
}

// rows measures the posteriors of each state: the other sampler's, or those that are deduced if it is nil.
func (c Config) rows(states []State, again irl.Posterior) []experiment.Row {
	var out []experiment.Row
	for s, state := range states {
		add := func(method, metric string, value float64) {
			out = append(out, c.row(method).With(experiment.OfState(metric, s), value))
		}
		posteriors := map[string]irl.Distribution{Exact: state.Exact, MaxMean: state.MaxMean, Clark: state.Clark}
		if again != nil {
			posteriors = map[string]irl.Distribution{PolicyWalk: again.Reward(s)}
		} else {
			add(MaxMean, WrongMax, state.WrongMax)
			add(MaxMean, Gap, state.Gap)
		}
		sorted := state.Exact.Sorted()
		for name, m := range posteriors {
			add(name, RewardMean, m.Mean())
			add(name, RewardStd, m.StdDev())
			add(name, W1, metric.Wasserstein(sorted, m))
			add(name, W1Gaussian, metric.Wasserstein(sorted, Gaussian(m)))
		}
	}
	return out
}

func (c Config) row(method string) experiment.Row {
	return experiment.Row{Environment: obstacle.Environment, Method: method, Demos: len(c.World.Trajectories),
		Seed: c.World.Seed}
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Max-mean and Clark's approximation of the maximum against MCMC on a 3×3 gridworld "+
		"(Figure 6)", Quick, Paper, Report)
}

// Report makes a table of each metric over the states, and one about the samplers.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "Approximations of the maximum", Text: []string{
		"Reward posteriors deduced from the same samples of the optimal values: exactly, by max-mean, and by Clark's " +
			"approximation. PolicyWalk samples the exact posterior anew: its distances are Monte Carlo error."}}
	t := experiment.Tables{Rows: rows, Methods: []string{Exact, PolicyWalk, MaxMean, Clark}}
	t.Add(obstacle.StatesTable("Mean of the reward", RewardMean, 1))
	t.Add(obstacle.StatesTable("Standard deviation of the reward", RewardStd, 1))
	t.Add(obstacle.StatesTable("W₁ to the exact posterior", W1, 2))
	t.Add(obstacle.StatesTable("W₁ of the Gaussian with the same mean and variance to the exact posterior", W1Gaussian,
		2))
	t.Methods = []string{MaxMean}
	t.Add(obstacle.StatesTable("Probability that another action is better than the one of highest mean", WrongMax, 3))
	if t.Err != nil {
		return nil, t.Err
	}
	r.Tables = t.Made
	if samplers := obstacle.SamplerTable(rows, record, Exact, PolicyWalk); samplers != nil {
		r.Tables = append(r.Tables, *samplers)
	}
	return r, nil
}
