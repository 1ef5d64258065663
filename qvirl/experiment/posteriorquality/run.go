package posteriorquality

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// cost is about how many seconds a method takes for a world, for the estimate of the time left.
var cost = map[string]float64{worlds.ValueWalk: 3, worlds.ValueWalkNoDet: 3, worlds.ValueWalkAgain: 3, worlds.QVIRL: 1,
	worlds.QVIRL20k: 3, worlds.QVIRLMaxMean: 3, worlds.QVIRLSVI: 1, worlds.QVIRLSVILogEP: 1, worlds.QVIRLLogEP: 1,
	worlds.QVIRLELogP: 1, worlds.QVIRLMatched: 0.7, worlds.QVIRLRefined: 1}

// otherCost is that of the methods which cost does not list; evaluationCost that of the metrics of a method.
const (
	otherCost      = 0.5
	evaluationCost = 0.3
)

// heldOutUnit is the unit that gives the curve over λ. Its seconds are not those of the methods in the table.
const heldOutUnit = "heldout"

// Plan returns the plan of the experiment: a unit for the held-out worlds, and one for each chunk of worlds.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r := &runner{config: c, fitter: c.NewFitter(backendName)}
	var jobs experiment.Jobs
	if len(c.HeldOut) > 0 {
		n := float64(len(c.HeldOut))
		u := experiment.Unit{Name: heldOutUnit, Cost: n * (2*cost[worlds.ValueWalk] +
			float64(len(c.Lambdas))*(otherCost+evaluationCost))}
		jobs.Add(u, heldOutUnit, r.heldOut)
	}
	for first := 0; first < len(c.Seeds); first += c.Chunk {
		chunk := c.Seeds[first:min(first+c.Chunk, len(c.Seeds))]
		again := min(max(c.Again-first, 0), len(chunk))
		u := experiment.Unit{Name: fmt.Sprintf("worlds-%04d", first),
			Cost: float64(len(chunk))*2*cost[worlds.ValueWalk] + float64(again)*cost[worlds.ValueWalkAgain]}
		for _, name := range c.Methods {
			u.Cost += float64(len(chunk)) * (methodCost(name) + evaluationCost)
		}
		jobs.Add(u, "", func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
			return r.worlds(ctx, chunk, again, t)
		})
	}
	return jobs.Plan(Name, scale, c), nil
}

func methodCost(name string) float64 {
	if s, ok := cost[name]; ok {
		return s
	}
	return otherCost
}

// runner runs units.
type runner struct {
	config Config
	fitter *worlds.Fitter
}

// fit fits a method to the worlds.
func (r *runner) fit(ctx context.Context, name string, grids []*worlds.World,
	t *experiment.Stages) (posts []irl.Posterior, err error) {
	err = t.Run(name, name, float64(len(grids))*methodCost(name), func(progress irl.Progress) (err error) {
		posts, err = r.fitter.Fit(ctx, name, grids, progress)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return posts, nil
}

// references fits ValueWalk with and without the determinant.
func (r *runner) references(ctx context.Context, grids []*worlds.World, t *experiment.Stages) (exact,
	noDet []irl.Posterior, refs []metric.References, err error) {
	if exact, err = r.fit(ctx, worlds.ValueWalk, grids, t); err != nil {
		return nil, nil, nil, err
	}
	if noDet, err = r.fit(ctx, worlds.ValueWalkNoDet, grids, t); err != nil {
		return nil, nil, nil, err
	}
	refs = make([]metric.References, len(grids))
	for i, w := range grids {
		for _, of := range []struct {
			post irl.Posterior
			ref  **metric.Reference
		}{{exact[i], &refs[i].Exact}, {noDet[i], &refs[i].NoDet}} {
			if *of.ref, err = metric.NewReference(w.Problem, of.post.(*valuewalk.Posterior).Samples()); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	return exact, noDet, refs, nil
}

// worlds is the unit of a chunk of worlds; on the first of them ValueWalk runs again.
func (r *runner) worlds(ctx context.Context, seeds []uint64, again int, t *experiment.Stages) (*experiment.Result,
	error) {
	grids, err := r.config.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	exact, noDet, refs, err := r.references(ctx, grids, t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	environment := r.config.Environment()
	if err := r.evaluate(ctx, result, environment, worlds.ValueWalk, grids, exact, refs, t); err != nil {
		return nil, err
	}
	if err := r.evaluate(ctx, result, environment, worlds.ValueWalkNoDet, grids, noDet, refs, t); err != nil {
		return nil, err
	}
	methods := r.config.Methods
	if again > 0 {
		methods = append([]string{worlds.ValueWalkAgain}, methods...)
	}
	for _, name := range methods {
		subset := grids
		if name == worlds.ValueWalkAgain {
			subset = grids[:again]
		}
		posts, err := r.fit(ctx, name, subset, t)
		if err != nil {
			return nil, err
		}
		if err := r.evaluate(ctx, result, environment, name, subset, posts, refs, t); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// heldOut is the unit that gives the curve over λ.
func (r *runner) heldOut(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
	grids, err := r.config.Worlds(r.config.HeldOut)
	if err != nil {
		return nil, err
	}
	_, _, refs, err := r.references(ctx, grids, t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	best, bestW1 := 0.0, math.Inf(1)
	for _, lambda := range r.config.Lambdas {
		name := worlds.AVRILName(lambda)
		posts, err := r.fit(ctx, name, grids, t)
		if err != nil {
			return nil, err
		}
		if err := r.evaluate(ctx, result, r.config.Environment()+heldOutSuffix, name, grids, posts, refs,
			t); err != nil {
			return nil, err
		}
		if w1 := experiment.Average(result.Rows, name, metric.W1).Mean; w1 < bestW1 {
			best, bestW1 = lambda, w1
		}
	}
	if best != r.config.Lambda {
		result.Notes = append(result.Notes, fmt.Sprintf("on the held-out worlds λ = %g has the smallest W1, %.3f, "+
			"but the config chose λ = %g", best, bestW1, r.config.Lambda))
	}
	return result, nil
}

// evaluate adds the rows of a method: its metrics, and the diagnostics of its computation.
func (r *runner) evaluate(ctx context.Context, result *experiment.Result, environment, method string,
	grids []*worlds.World,
	posts []irl.Posterior, refs []metric.References, t *experiment.Stages) error {
	var found [][]experiment.Row
	err := t.Run("metrics", "metrics of "+method, float64(len(grids))*evaluationCost,
		func(progress irl.Progress) (err error) {
			found, err = r.config.Measure(ctx, environment, method, grids, posts, refs, progress)
			return err
		})
	if err != nil {
		return err
	}
	for i, w := range grids {
		result.Rows = append(result.Rows, found[i]...)
		row := experiment.Row{Environment: environment, Method: method, Demos: r.config.Trajectories, Seed: w.Seed}
		diagnostics, note := diagnose(posts[i])
		for name, value := range diagnostics {
			row.Metric, row.Value = name, value
			result.Rows = append(result.Rows, row)
		}
		if note != "" {
			result.Notes = append(result.Notes, fmt.Sprintf("%s, world %d: %s", method, w.Seed, note))
		}
	}
	return nil
}

// diagnose returns metrics that describe the computation of a posterior, and a note if it did not go well.
func diagnose(post irl.Posterior) (metrics map[string]float64, note string) {
	switch p := post.(type) {
	case *valuewalk.Posterior:
		d := p.Diagnostics()
		if err := d.Clean(); err != nil {
			note = err.Error()
		}
		metrics = map[string]float64{worlds.Divergent: float64(d.Divergences)}
		if rhat, ess := d.Worst(); !math.IsNaN(rhat) && !math.IsNaN(ess) {
			metrics[worlds.RHatMax], metrics[worlds.ESSBulkMin] = rhat, ess
		}
		return metrics, note
	case *valuewalk.Refined:
		d := p.Diagnostics()
		return map[string]float64{worlds.Divergent: float64(d.Divergences), worlds.Drift: d.Drift,
			worlds.Settling: d.Settling}, ""
	case *tabular.Gaussian:
		converged := 0.0
		if p.Converged() {
			converged = 1
		}
		metrics = map[string]float64{worlds.Converged: converged}
		if curve := p.Curve(); len(curve) > 0 {
			metrics[worlds.ELBO] = p.ELBO()
		}
		return metrics, ""
	case *matched.Warped:
		converged := 0.0
		if p.Converged() {
			converged = 1
		}
		return map[string]float64{worlds.Converged: converged}, ""
	case *avril.Posterior:
		d := p.Diagnostics()
		converged := 0.0
		if d.Converged {
			converged = 1
		}
		return map[string]float64{worlds.Converged: converged, worlds.Collapsed: float64(d.Collapsed)}, ""
	}
	return nil, ""
}

// lambdasOf returns the values of λ that rows on held-out worlds are of, ascending.
func lambdasOf(rows []experiment.Row) []float64 {
	var out []float64
	for _, method := range experiment.Methods(rows) {
		var lambda float64
		if _, err := fmt.Sscanf(method, worlds.AVRILPrefix+"%g", &lambda); err == nil {
			out = append(out, lambda)
		}
	}
	slices.Sort(out)
	return out
}
