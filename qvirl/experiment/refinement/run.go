package refinement

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Units returns the units of the experiment: each family, and each refinement, on each chunk of worlds on which they
// are compared, and each suspect on each chunk of worlds on which diagnoses are judged.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	r := &runner{config: c, exact: c.Posteriors.NewFitter(backendName), families: worlds.NewFitter(
		func(name string) (irl.Method, error) { return c.method(name, backendName) })}
	var units []experiment.Unit
	add := func(name string, chunk experiment.Chunk, of string, run func(ctx context.Context, k *worlds.Known,
		name string, t *experiment.Stages) (*experiment.Result, error), on ...any) error {
		depends, code, err := c.Posteriors.On(chunk.Seeds, worlds.ValueWalk)
		if err != nil {
			return err
		}
		settings, err := c.settings(of)
		if err != nil {
			return err
		}
		u := chunk.Unit(name, append(on, depends, name, settings),
			func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				k, err := c.Posteriors.Known(ctx, r.exact, chunk.Seeds, t)
				if err != nil {
					return nil, err
				}
				return run(ctx, k, name, t)
			})
		u.Code = append(code, Paper, Matched, Refined)
		units = append(units, u)
		return nil
	}
	for _, chunk := range experiment.Chunks(comparedUnits, c.Posteriors.Seeds, c.Posteriors.Chunk) {
		for _, name := range c.Families {
			if err := add(name, chunk, name, r.compare); err != nil {
				return nil, err
			}
		}
		for _, from := range []string{Paper, Matched} {
			for _, k := range c.Transitions {
				walk := c.Posteriors.Refine
				walk.Transitions, walk.Kept, walk.Samples = k, 1, c.Walkers
				if err := add(turned(from, k), chunk, from, func(ctx context.Context, k *worlds.Known, name string,
					t *experiment.Stages) (*experiment.Result, error) {
					return r.turn(ctx, k, from, name, walk, t)
				}, walk); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, chunk := range experiment.Chunks("judged", c.Judged, c.Posteriors.Chunk) {
		for _, name := range c.Suspects {
			if err := add(name, chunk, name, r.judge, c.Posteriors.Refine); err != nil {
				return nil, err
			}
		}
	}
	return units, nil
}

// comparedUnits begins the names of chunks of worlds on which posteriors are compared.
const comparedUnits = "worlds"

// runner runs units.
type runner struct {
	config          Config
	exact, families *worlds.Fitter
}

// fit fits a method to the worlds, once for all units of a chunk.
func (r *runner) fit(ctx context.Context, name string, grids []*worlds.World,
	t *experiment.Stages) ([]irl.Posterior, error) {
	return experiment.Share(ctx, "posteriors of "+name, func() ([]irl.Posterior, error) {
		return r.families.Stage(ctx, t, name, name, grids)
	})
}

// refine moves posteriors by Hamiltonian transitions, whose time counts as key's.
func refine(ctx context.Context, c valuewalk.RefineConfig, start []irl.Posterior, key, label string,
	t *experiment.Stages) ([]irl.Posterior, error) {
	return experiment.Stage(t, key, label, func(progress irl.Progress) ([]irl.Posterior, error) {
		return valuewalk.Refine(ctx, c, start, progress)
	})
}

// compare is the unit of a family on worlds on which it is compared with the exact posterior.
func (r *runner) compare(ctx context.Context, k *worlds.Known, name string,
	t *experiment.Stages) (*experiment.Result, error) {
	posts, err := r.family(ctx, name, k.Grids, k.Exact, t)
	if err != nil {
		return nil, err
	}
	return r.evaluate(ctx, name, k, posts)
}

// turn is the unit of a posterior that is refined by some transitions.
func (r *runner) turn(ctx context.Context, k *worlds.Known, from, name string, walk valuewalk.RefineConfig,
	t *experiment.Stages) (*experiment.Result, error) {
	start, err := r.fit(ctx, from, k.Grids, t)
	if err != nil {
		return nil, err
	}
	posts, err := refine(ctx, walk, start, name, name, t)
	if err != nil {
		return nil, err
	}
	return r.evaluate(ctx, name, k, posts)
}

// family fits an approximate posterior, or makes one of the exact posterior's samples.
func (r *runner) family(ctx context.Context, name string, grids []*worlds.World, exact []*valuewalk.Posterior,
	t *experiment.Stages) ([]irl.Posterior, error) {
	var from func(p *valuewalk.Posterior) (irl.Posterior, error)
	switch name {
	case ExactValues:
		from = func(p *valuewalk.Posterior) (irl.Posterior, error) {
			var cov mat.SymDense
			stat.CovarianceMatrix(&cov, p.Values(), nil)
			return tabular.NewGaussian(p.Problem(), irl.ColumnMeans(p.Values()), &cov, true)
		}
	case ExactRewards, ExactWarped:
		from = func(p *valuewalk.Posterior) (irl.Posterior, error) {
			return matched.NewWarped(ctx, p.Problem(), p.Rewards(), p.Betas(), name == ExactRewards, true)
		}
	default:
		return r.fit(ctx, name, grids, t)
	}
	out := make([]irl.Posterior, len(exact))
	for i, p := range exact {
		var err error
		if out[i], err = from(p); err != nil {
			return nil, fmt.Errorf("%s, world %d: %w", name, grids[i].Seed, err)
		}
	}
	return out, nil
}

// evaluate returns the rows of approximate posteriors.
func (r *runner) evaluate(ctx context.Context, name string, k *worlds.Known,
	posts []irl.Posterior) (*experiment.Result, error) {
	c, result := r.config.Posteriors, &experiment.Result{}
	found, err := c.Measure(ctx, c.World.Name(), worlds.DrawnAs(Name, name), k.Grids, posts, k.Refs, nil)
	for _, rows := range found {
		for _, row := range rows {
			row.Method, row.Variant = method.Split(name)
			result.Rows = append(result.Rows, row)
		}
	}
	return result, err
}

// The limits by which a verdict is right, those that diagnose is to find out about.
const (
	errorLimit = 0.10 // posterior standard deviations
	tvLimit    = 0.05
)

// judge is the unit of an approximate posterior on worlds on which its diagnoses are compared with the exact one:
// "trust" is right if the approximation is within the limits, "refine" if it is not but its refinement is, and "do not
// use" if neither is.
func (r *runner) judge(ctx context.Context, k *worlds.Known, name string,
	t *experiment.Stages) (*experiment.Result, error) {
	posts, err := r.fit(ctx, name, k.Grids, t)
	if err != nil {
		return nil, err
	}
	refined, err := refine(ctx, r.config.Posteriors.Refine, posts, Refined, name+", refined", t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for i, w := range k.Grids {
		moved := refined[i].(*valuewalk.Refined)
		kHat, err := tail(ctx, moved, w.Seed)
		if err != nil {
			return nil, fmt.Errorf("%s, world %d: %w", name, w.Seed, err)
		}
		before, tvBefore, err := r.distance(w, name, posts[i], k.Exact[i], k.Refs[i])
		if err != nil {
			return nil, err
		}
		after, tvAfter, err := r.distance(w, Refined, refined[i], k.Exact[i], k.Refs[i])
		if err != nil {
			return nil, err
		}
		atRest, _ := moved.Convergence()
		d := moved.Diagnostics()
		verdict := diagnose(atRest, d)
		right := verdict.right(before <= errorLimit && tvBefore <= tvLimit, after <= errorLimit && tvAfter <= tvLimit)
		row := experiment.RowOf(name, r.config.Posteriors.World.Name(), r.config.Posteriors.Trajectories, w.Seed)
		result.Rows = append(result.Rows, row.WithAll(map[string]float64{Error: before, metric.PolicyTV: tvBefore,
			RefinedError: after, RefinedTV: tvAfter, metric.Drift: d.Drift, metric.Settling: d.Settling,
			Verdict: float64(verdict), Right: experiment.Indicator(right)})...)
		if !math.IsInf(kHat, 0) {
			result.Rows = append(result.Rows, row.With(KHat, kHat))
		}
	}
	return result, nil
}

// right tells whether a diagnosis is right, given whether the approximation and its refinement are good.
func (d diagnosis) right(good, refinedGood bool) bool {
	switch d {
	case improve:
		return !good && refinedGood
	case doNotUse:
		return !refinedGood
	}
	return good
}

// distance returns how far a posterior is from ValueWalk's: Error, and the total variation of policies.
func (r *runner) distance(w *worlds.World, name string, post irl.Posterior, exact *valuewalk.Posterior,
	refs metric.References) (reward, tv float64, err error) {
	samples, err := worlds.Samples(post, r.config.Posteriors.Draws, w.Seed, worlds.DrawnAs(Name, name))
	if err != nil {
		return 0, 0, err
	}
	found, err := metric.Evaluate(post, samples, w.Truth, refs)
	if err != nil {
		return 0, 0, err
	}
	sum, noise := 0.0, 0.0
	for i := range w.Truth.Reward {
		std := exact.Reward(i).StdDev()
		sum += metric.Wasserstein(exact.Reward(i).(*irl.Empirical).Sorted(), post.Reward(i)) / std
		// Between halves of the chains, Monte Carlo error is twice that of all of them.
		chains := exact.RewardChains(i)
		first, err := irl.NewEmpirical(slices.Concat(chains[:len(chains)/2]...))
		if err != nil {
			return 0, 0, err
		}
		second, err := irl.NewEmpirical(slices.Concat(chains[len(chains)/2:]...))
		if err != nil {
			return 0, 0, err
		}
		noise += metric.Wasserstein(first.Sorted(), second) / (2 * std)
	}
	n := float64(len(w.Truth.Reward))
	sum, noise = sum/n, noise/n
	return beyond(sum, noise), found[metric.PolicyTV], nil
}
