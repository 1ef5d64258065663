package apprenticeship

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/posteriorquality"
)

// World is one world of the experiment with the policies that were learnt in it.
type World struct {
	*posteriorquality.World
	Policies []Policy // in the order of the table
	Level    float64  // of the CVaR

	random, optimal float64 // returns under the true reward
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

// Fit fits all methods to the world of a seed, finds their policies and evaluates them. It is what the pictures of a single
// world are drawn from. progress may be nil.
func (c Config) Fit(ctx context.Context, seed uint64, backendName string, progress qvirl.Progress) (*World, map[string]qvirl.Posterior, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	w, err := c.Posteriors.NewWorld(seed)
	if err != nil {
		return nil, nil, err
	}
	posts, err := c.Posteriors.FitWorld(ctx, w, c.fits(), backendName, progress)
	if err != nil {
		return nil, nil, err
	}
	found, err := c.Evaluate(w, posts)
	return found, posts, err
}

// Evaluate finds the policies of the posteriors of a world, which are given by their methods' names, and evaluates them
// under the true reward and under ValueWalk's posterior. ValueWalk's must be among them; its second run serves the metrics
// on held-out samples, and is optional.
func (c Config) Evaluate(w *posteriorquality.World, posts map[string]qvirl.Posterior) (*World, error) {
	p := w.Problem
	out := &World{World: w, Level: c.Level}
	uniform := p.MDP.Uniform()
	optimal, err := apprentice.OptimalPolicy(p, w.Grid.Reward)
	if err != nil {
		return nil, err
	}
	if out.random, err = p.MDP.Return(uniform, w.Grid.Reward, p.Discount); err != nil {
		return nil, err
	}
	if out.optimal, err = p.MDP.Return(optimal, w.Grid.Reward, p.Discount); err != nil {
		return nil, err
	}
	if !(out.optimal > out.random) {
		return nil, fmt.Errorf("apprenticeship: the optimal return %g is not above the random policy's, so that returns cannot be normalised", out.optimal)
	}
	var judges [2]*mat.Dense // samples of the two runs of ValueWalk
	for i, name := range []string{posteriorquality.ValueWalk, posteriorquality.ValueWalkAgain} {
		if posts[name] != nil {
			if judges[i], err = c.rewards(posts[name], w.Seed, name); err != nil {
				return nil, err
			}
		}
	}
	if judges[0] == nil {
		return nil, fmt.Errorf("apprenticeship: world %d has no posterior of %s to judge policies by", w.Seed, posteriorquality.ValueWalk)
	}
	for _, name := range append([]string{posteriorquality.ValueWalk}, c.Posteriors.Methods...) {
		post := posts[name]
		if post == nil {
			continue
		}
		own, err := c.rewards(post, w.Seed, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		mean, err := apprentice.MeanPolicy(post)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := out.add(Policy{Name: name + MeanSuffix, Policy: mean}, judges, own); err != nil {
			return nil, err
		}
		if err := out.addCVaR(name+CVaRSuffix, judges, own); err != nil {
			return nil, err
		}
		if _, ok := post.(*qvirl.Gaussian); ok {
			samples, err := posteriorquality.Samples(post, c.Posteriors.Draws, w.Seed, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if err := out.addCVaR(name+ExactSuffix, judges, samples.Reward); err != nil {
				return nil, err
			}
		}
	}
	for _, policy := range []Policy{{Name: Optimal, Policy: optimal}, {Name: Random, Policy: uniform}} {
		if err := out.add(policy, judges, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rewards returns the reward samples of a posterior, [n, RewardDim]. Those of QVIRL come from its Gaussian over rewards.
func (c Config) rewards(post qvirl.Posterior, seed uint64, method string) (*mat.Dense, error) {
	if g, ok := post.(*qvirl.Gaussian); ok {
		return g.SampleRewards(posteriorquality.Stream(seed, method), c.Posteriors.Draws)
	}
	samples, err := posteriorquality.Samples(post, c.Posteriors.Draws, seed, method)
	if err != nil {
		return nil, err
	}
	return samples.Reward, nil
}

// Normalise returns a return on the scale of the metrics.
func (w *World) Normalise(value float64) float64 {
	return 100 * (value - w.random) / (w.optimal - w.random)
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

// addCVaR finds and evaluates the CVaR policy of samples.
func (w *World) addCVaR(name string, judges [2]*mat.Dense, own *mat.Dense) error {
	averse, err := apprentice.CVaRPolicy(w.Problem, own, w.Level)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.add(Policy{Name: name, Policy: averse.Policy, Certificate: averse}, judges, own)
}

// add evaluates a policy. judges are the samples of the two runs of ValueWalk, own those of the method that the policy comes
// from; all but the first may be nil.
func (w *World) add(p Policy, judges [2]*mat.Dense, own *mat.Dense) error {
	visits, err := apprentice.Visits(w.Problem, p.Policy)
	if err != nil {
		return err
	}
	p.Visits = visits
	p.Metrics = map[string]float64{ReturnTrue: w.Normalise(floats.Dot(visits, w.Grid.Reward))}
	for _, under := range []struct {
		rewards    *mat.Dense
		mean, cvar string
	}{
		{judges[0], ReturnMean, ReturnCVaR},
		{judges[1], ReturnMeanHeldOut, ReturnCVaRHeldOut},
		{own, OwnMean, OwnCVaR},
	} {
		if under.rewards == nil {
			continue
		}
		returns, err := apprentice.Returns(w.Problem, p.Policy, under.rewards)
		if err != nil {
			return err
		}
		for i, r := range returns {
			returns[i] = w.Normalise(r)
		}
		p.Metrics[under.mean] = stat.Mean(returns, nil)
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
func (w *World) Rows(environment string, demos int) []experiment.Row {
	var rows []experiment.Row
	for _, p := range w.Policies {
		for name, value := range p.Metrics {
			rows = append(rows, experiment.Row{Environment: environment, Method: p.Name, Demos: demos, Seed: w.Seed, Metric: name, Value: value})
		}
	}
	return rows
}
