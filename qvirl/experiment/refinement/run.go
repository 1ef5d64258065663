package refinement

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// cost is about how many seconds a posterior takes for a world, for the estimate of the time left.
var cost = map[string]float64{worlds.ValueWalk: 4, Paper: 3, Start: 0.2, SVI: 3, LogExpected: 3}

const otherCost = 0.7

func costOf(name string) float64 {
	if s, ok := cost[name]; ok {
		return s
	}
	return otherCost
}

// Plan returns the plan of the experiment: units of worlds on which families and refinements are compared, and units of
// worlds on which diagnoses are judged.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &runner{config: c, backend: backendName, methods: map[string]irl.Method{}}
	compare, judge := cost[worlds.ValueWalk], cost[worlds.ValueWalk]
	for _, name := range c.Families {
		compare += costOf(name)
	}
	for _, k := range c.Transitions {
		compare += 2 * c.costOfTurning(k)
	}
	for _, name := range c.Suspects {
		judge += costOf(name) + costOf(Refined)
	}
	var jobs experiment.Jobs
	jobs.AddChunks(comparedUnits, c.Posteriors.Seeds, c.Posteriors.Chunk, compare, r.compare)
	jobs.AddChunks("judged", c.Judged, c.Posteriors.Chunk, judge, r.judge)
	return jobs.Plan(Name, scale, c), nil
}

func (c Config) costOfTurning(k int) float64 { return 1e-4 * float64(c.Walkers*(k+1)) }

// comparedUnits begins the names of units on whose worlds posteriors are compared.
const comparedUnits = "worlds"

// runner runs units.
type runner struct {
	config  Config
	backend string
	methods map[string]irl.Method // which compile a program once
}

// fit fits a method to the worlds.
func (r *runner) fit(ctx context.Context, name string, grids []*worlds.World,
	t *experiment.Stages) (posts []irl.Posterior, err error) {
	err = t.Run(name, name, float64(len(grids))*costOf(name), func(progress irl.Progress) error {
		m := r.methods[name]
		if m == nil {
			if name == worlds.ValueWalk {
				m, err = r.config.Posteriors.Method(name, r.backend)
			} else {
				m, err = r.config.method(name, r.backend)
			}
			if err != nil {
				return err
			}
			r.methods[name] = m
		}
		posts, err = m.Fit(ctx, worlds.Problems(grids), progress)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return posts, nil
}

// references fits ValueWalk.
func (r *runner) references(ctx context.Context, seeds []uint64, t *experiment.Stages) (grids []*worlds.World,
	exact []*valuewalk.Posterior, refs []metric.References, err error) {
	if grids, err = r.config.Posteriors.Worlds(seeds); err != nil {
		return nil, nil, nil, err
	}
	posts, err := r.fit(ctx, worlds.ValueWalk, grids, t)
	if err != nil {
		return nil, nil, nil, err
	}
	for i, w := range grids {
		p := posts[i].(*valuewalk.Posterior)
		ref, err := metric.NewReference(w.Problem, p.Samples())
		if err != nil {
			return nil, nil, nil, err
		}
		exact, refs = append(exact, p), append(refs, metric.References{Exact: ref})
	}
	return grids, exact, refs, nil
}

// compare is the unit of worlds on which families and refinements are compared with the exact posterior.
func (r *runner) compare(ctx context.Context, seeds []uint64, t *experiment.Stages) (*experiment.Result, error) {
	grids, exact, refs, err := r.references(ctx, seeds, t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	fitted := map[string][]irl.Posterior{}
	for _, name := range r.config.Families {
		if fitted[name], err = r.family(ctx, name, grids, exact, t); err != nil {
			return nil, err
		}
		if err := r.evaluate(ctx, result, name, grids, fitted[name], refs); err != nil {
			return nil, err
		}
	}
	for _, from := range []string{Paper, Matched} {
		if len(r.config.Transitions) > 0 && fitted[from] == nil {
			if fitted[from], err = r.fit(ctx, from, grids, t); err != nil {
				return nil, err
			}
		}
		for _, k := range r.config.Transitions {
			name := turned(from, k)
			c := r.config.Posteriors.Refine
			c.Transitions, c.Kept, c.Samples = k, 1, r.config.Walkers
			var posts []irl.Posterior
			err := t.Run(name, name, float64(len(grids))*r.config.costOfTurning(k),
				func(progress irl.Progress) (err error) {
					posts, err = valuewalk.RefineAll(ctx, c, fitted[from], progress)
					return err
				})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if err := r.evaluate(ctx, result, name, grids, posts, refs); err != nil {
				return nil, err
			}
		}
	}
	return result, nil
}

// family fits an approximate posterior, or makes one of the exact posterior's samples.
func (r *runner) family(ctx context.Context, name string, grids []*worlds.World, exact []*valuewalk.Posterior,
	t *experiment.Stages) ([]irl.Posterior, error) {
	var from func(p *valuewalk.Posterior) (irl.Posterior, error)
	switch name {
	case ExactValues:
		from = func(p *valuewalk.Posterior) (irl.Posterior, error) {
			return tabular.NewGaussian(p.Problem(), irl.ColumnMeans(p.Values()), covariance(p.Values()), true)
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

func covariance(x *mat.Dense) *mat.SymDense {
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, x, nil)
	return &cov
}

// evaluate adds the rows of approximate posteriors.
func (r *runner) evaluate(ctx context.Context, result *experiment.Result, name string, grids []*worlds.World,
	posts []irl.Posterior, refs []metric.References) error {
	c := r.config.Posteriors
	found, err := c.Measure(ctx, c.Environment(), drawnAs(name), grids, posts, refs, nil)
	for _, rows := range found {
		for _, row := range rows {
			row.Method = name
			result.Rows = append(result.Rows, row)
		}
	}
	return err
}

// drawnAs returns the name that the draws of an approximate posterior, refined or not, have always been seeded with.
func drawnAs(name string) string {
	for now, first := range map[string]string{Paper: "paper", Start: "start"} {
		if rest, ok := strings.CutPrefix(name, now); ok && (rest == "" || strings.HasPrefix(rest, "-k")) {
			return first + rest
		}
	}
	return name
}

func (r *runner) row(w *worlds.World, method, metricName string, value float64) experiment.Row {
	return experiment.Row{Environment: r.config.Posteriors.Environment(), Method: method,
		Demos: r.config.Posteriors.Trajectories, Seed: w.Seed,
		Metric: metricName, Value: value}
}

// The limits by which a verdict is right, those that Diagnose is to find out about.
const (
	errorLimit = 0.10 // posterior standard deviations
	tvLimit    = 0.05
)

// judge is the unit of worlds on which the diagnoses of approximate posteriors are compared with the exact one: "trust"
// is right if the approximation is within the limits, "refine" if it is not but its refinement is, and "do not use" if
// neither is.
func (r *runner) judge(ctx context.Context, seeds []uint64, t *experiment.Stages) (*experiment.Result, error) {
	grids, exact, refs, err := r.references(ctx, seeds, t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for _, name := range r.config.Suspects {
		posts, err := r.fit(ctx, name, grids, t)
		if err != nil {
			return nil, err
		}
		var refined []irl.Posterior
		err = t.Run(Refined, name+", refined", float64(len(grids))*costOf(Refined),
			func(progress irl.Progress) (err error) {
				refined, err = valuewalk.RefineAll(ctx, r.config.Posteriors.Refine, posts, progress)
				return err
			})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, w := range grids {
			diagnosis, err := valuewalk.Diagnose(refined[i].(*valuewalk.Refined), w.Seed)
			if err != nil {
				return nil, fmt.Errorf("%s, world %d: %w", name, w.Seed, err)
			}
			before, tvBefore, err := r.distance(w, name, posts[i], exact[i], refs[i])
			if err != nil {
				return nil, err
			}
			after, tvAfter, err := r.distance(w, Refined, refined[i], exact[i], refs[i])
			if err != nil {
				return nil, err
			}
			verdict, right := judged(diagnosis.Verdict, before <= errorLimit && tvBefore <= tvLimit,
				after <= errorLimit && tvAfter <= tvLimit)
			for metricName, value := range map[string]float64{Error: before, metric.PolicyTV: tvBefore,
				RefinedError: after, RefinedTV: tvAfter,
				worlds.Drift: diagnosis.Drift, worlds.Settling: diagnosis.Settling, Verdict: verdict, Right: right} {
				result.Rows = append(result.Rows, r.row(w, name, metricName, value))
			}
			if !math.IsInf(diagnosis.KHat, 0) {
				result.Rows = append(result.Rows, r.row(w, name, KHat, diagnosis.KHat))
			}
		}
	}
	return result, nil
}

// judged returns a verdict as a number, and whether it is right, given whether the approximation and its refinement are
// good.
func judged(v valuewalk.Verdict, good, refinedGood bool) (code, right float64) {
	ok := good
	switch v {
	case valuewalk.Improve:
		code, ok = 1, !good && refinedGood
	case valuewalk.DoNotUse:
		code, ok = 2, !refinedGood
	}
	if ok {
		right = 1
	}
	return code, right
}

// distance returns how far a posterior is from ValueWalk's: Error, and the total variation of policies.
func (r *runner) distance(w *worlds.World, name string, post irl.Posterior, exact *valuewalk.Posterior,
	refs metric.References) (reward, tv float64, err error) {
	samples, err := worlds.Samples(post, r.config.Posteriors.Draws, w.Seed, drawnAs(name))
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
		first, err := irl.NewEmpirical(flatten(chains[:len(chains)/2]))
		if err != nil {
			return 0, 0, err
		}
		second, err := irl.NewEmpirical(flatten(chains[len(chains)/2:]))
		if err != nil {
			return 0, 0, err
		}
		noise += metric.Wasserstein(first.Sorted(), second) / (2 * std)
	}
	n := float64(len(w.Truth.Reward))
	sum, noise = sum/n, noise/n
	return math.Sqrt(math.Max(sum*sum-noise*noise, 0)), found[metric.PolicyTV], nil
}

func flatten(chains [][]float64) []float64 {
	var out []float64
	for _, c := range chains {
		out = append(out, c...)
	}
	return out
}
