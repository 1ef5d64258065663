package apprenticeship

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/tabular"
)

// World is one world of the experiment with the policies that were learnt in it. It is plain data, which can be stored.
type World struct {
	Seed          uint64
	Width, Height int
	Reward        []float64 // true, of each state, [S]
	Terminal      []bool    // [S]
	Demos         []mdp.Trajectory
	Random        float64              // return of the random policy under the true reward
	Optimal       float64              // and of the optimal one
	Level         float64              // of the CVaR
	RewardMean    map[string][]float64 // posterior means of the rewards, by the posterior's method, [S]
	RewardStd     map[string][]float64 // and standard deviations
	Policies      []Policy             // in the order of the table
}

// Policy is a policy in one world and how good it is.
type Policy struct {
	Name        string                 // as in result rows
	Policy      []float64              // [S·A]
	Visits      []float64              // discounted visits of each state, [S]
	Returns     []float64              // normalised return under each of ValueWalk's samples
	Metrics     map[string]float64     // normalised, by name in result rows
	Certificate *apprentice.RiskAverse // of CVaR policies, nil for others; in units of reward
}

// Evaluate finds the policies of the named methods, of which posts holds the posteriors in a world, and evaluates them
// under the true reward and under ValueWalk's posterior, which posts must hold too; its second run serves the metrics
// on held-out samples, and is optional. With ValueWalk's come the policies that need no posterior.
func (c Config) Evaluate(w *worlds.World, posts map[string]irl.Posterior, names ...string) (*World, error) {
	p := w.Problem
	out := &World{Seed: w.Seed, Width: w.Grid.Width, Height: w.Grid.Height, Reward: w.Grid.Reward,
		Terminal: w.Grid.Terminal,
		Demos:    w.Demos, Level: c.Level, RewardMean: map[string][]float64{}, RewardStd: map[string][]float64{}}
	scale, err := w.Scale(func(policy []float64) (float64, error) { return out.trueReturn(p, policy) })
	if err != nil {
		return nil, err
	}
	out.Random, out.Optimal = scale.Random, scale.Optimal
	court := judges{problem: p}
	for _, name := range []string{worlds.ValueWalk, worlds.ValueWalkAgain} {
		var rewards *mat.Dense
		if posts[name] != nil {
			if rewards, err = c.rewards(posts[name], w.Seed, name); err != nil {
				return nil, err
			}
		}
		court.rewards = append(court.rewards, rewards)
	}
	if court.rewards[0] == nil {
		return nil, fmt.Errorf("apprenticeship: world %d has no posterior of %s to judge policies by", w.Seed,
			worlds.ValueWalk)
	}
	for _, name := range names {
		if err := out.addMethod(c, court, name, posts[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if !slices.Contains(names, worlds.ValueWalk) {
		return out, nil
	}
	optimal, err := apprentice.OptimalPolicy(p, w.Grid.Reward)
	if err != nil {
		return nil, err
	}
	for _, policy := range []Policy{{Name: Optimal, Policy: optimal}, {Name: Random, Policy: p.MDP.Uniform()}} {
		if err := out.add(policy, court, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// trueReturn returns the return under the true reward. It is computed as add does, so that the ends of the scale are
// exact.
func (w *World) trueReturn(p *irl.Problem, policy []float64) (float64, error) {
	visits, err := apprentice.Visits(p, policy)
	if err != nil {
		return 0, err
	}
	return floats.Dot(visits, w.Reward), nil
}

// rewards returns the reward samples of a posterior, [n, RewardDim]. Those of QVIRL come from its Gaussian over
// rewards.
func (c Config) rewards(post irl.Posterior, seed uint64, method string) (*mat.Dense, error) {
	if g, ok := post.(*tabular.Gaussian); ok {
		return g.SampleRewards(worlds.Stream(seed, method), c.Posteriors.Draws)
	}
	samples, err := worlds.Samples(post, c.Posteriors.Draws, seed, method)
	if err != nil {
		return nil, err
	}
	return samples.Reward, nil
}

// Normalise returns a return on the scale of the metrics.
func (w *World) Normalise(value float64) float64 {
	return 100 * ((value - w.Random) / (w.Optimal - w.Random)) // so that 0 and 100 are exact
}

// Policy returns the policy of that name, or nil.
func (w *World) Policy(name string) *Policy {
	for i := range w.Policies {
		if w.Policies[i].Name == name {
			return &w.Policies[i]
		}
	}
	return nil
}

// judges are the samples that policies are evaluated under: of ValueWalk, and of its second run or nil.
type judges struct {
	problem *irl.Problem
	rewards []*mat.Dense
}

// addMethod adds the policies of a method.
func (w *World) addMethod(c Config, court judges, name string, post irl.Posterior) error {
	w.RewardMean[name], w.RewardStd[name] = irl.Moments(len(w.Reward), post.Reward)
	own, err := c.rewards(post, w.Seed, name)
	if err != nil {
		return err
	}
	mean, err := apprentice.MeanPolicy(post)
	if err != nil {
		return err
	}
	if err := w.add(Policy{Name: name + MeanSuffix, Policy: mean}, court, own); err != nil {
		return err
	}
	if err := w.addCVaR(name+CVaRSuffix, court, own); err != nil {
		return err
	}
	if g, ok := post.(*tabular.Gaussian); !ok || g.ExactMaximum() {
		return nil // without an approximation of the maximum the two are the same
	}
	samples, err := worlds.Samples(post, c.Posteriors.Draws, w.Seed, name)
	if err != nil {
		return err
	}
	return w.addCVaR(name+ExactSuffix, court, samples.Reward)
}

// addCVaR finds and adds the CVaR policy of samples.
func (w *World) addCVaR(name string, court judges, own *mat.Dense) error {
	averse, err := apprentice.CVaRPolicy(court.problem, own, w.Level)
	if err != nil {
		return err
	}
	return w.add(Policy{Name: name, Policy: averse.Policy, Certificate: averse}, court, own)
}

// add evaluates a policy and adds it. own are the samples of the method that it comes from, nil for none.
func (w *World) add(p Policy, court judges, own *mat.Dense) error {
	visits, err := apprentice.Visits(court.problem, p.Policy)
	if err != nil {
		return err
	}
	p.Visits = visits
	p.Metrics = map[string]float64{ReturnTrue: w.Normalise(floats.Dot(visits, w.Reward))}
	for _, under := range []struct {
		rewards         *mat.Dense
		mean, cvar, std string
	}{
		{court.rewards[0], ReturnMean, ReturnCVaR, ReturnStd},
		{court.rewards[1], ReturnMeanHeldOut, ReturnCVaRHeldOut, ReturnStdHeldOut},
		{own, OwnMean, OwnCVaR, OwnStd},
	} {
		if under.rewards == nil {
			continue
		}
		returns, err := apprentice.Returns(court.problem, p.Policy, under.rewards)
		if err != nil {
			return err
		}
		for i, r := range returns {
			returns[i] = w.Normalise(r)
		}
		p.Metrics[under.mean], p.Metrics[under.std] = stat.PopMeanStdDev(returns, nil)
		if p.Metrics[under.cvar], err = apprentice.CVaR(returns, w.Level); err != nil {
			return err
		}
		if under.mean == ReturnMean {
			p.Returns = returns
		}
	}
	if p.Certificate != nil {
		p.Metrics[Gap] = w.Normalise(p.Certificate.Bound) - w.Normalise(p.Certificate.CVaR)
	}
	w.Policies = append(w.Policies, p)
	return nil
}

// Rows returns the metrics of all policies as result rows.
func (c Config) Rows(worlds []*World) []experiment.Row {
	var rows []experiment.Row
	for _, w := range worlds {
		for _, p := range w.Policies {
			row := experiment.RowOf(p.Name, c.Posteriors.World.Name(), c.Posteriors.Trajectories, w.Seed)
			rows = append(rows, row.WithAll(p.Metrics)...)
		}
	}
	return rows
}
