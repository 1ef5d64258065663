package posteriorquality

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// cost is about how many seconds a method takes for a world, for the estimate of the time left.
var cost = map[string]float64{ValueWalk: 3, ValueWalkNoDet: 3, ValueWalkAgain: 3, QVIRL: 1, QVIRL20k: 3, QVIRLMaxMean: 3, QVIRLSVI: 1, QVIRLSVILogEP: 1, QVIRLLogEP: 1, QVIRLELogP: 1, QVIRLBest: 0.7, QVIRLRefined: 1}

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
		u := experiment.Unit{Name: heldOutUnit, Cost: n * (2*cost[ValueWalk] + float64(len(c.Lambdas))*(otherCost+evaluationCost))}
		jobs.Add(u, heldOutUnit, r.heldOut)
	}
	for first := 0; first < len(c.Seeds); first += c.Chunk {
		chunk := c.Seeds[first:min(first+c.Chunk, len(c.Seeds))]
		again := min(max(c.Again-first, 0), len(chunk))
		u := experiment.Unit{Name: fmt.Sprintf("worlds-%04d", first), Cost: float64(len(chunk))*2*cost[ValueWalk] + float64(again)*cost[ValueWalkAgain]}
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
	fitter *Fitter
}

// fit fits a method to the worlds.
func (r *runner) fit(ctx context.Context, name string, worlds []*World, t *experiment.Stages) (posts []qvirl.Posterior, err error) {
	err = t.Run(name, name, float64(len(worlds))*methodCost(name), func(progress qvirl.Progress) (err error) {
		posts, err = r.fitter.Fit(ctx, name, worlds, progress)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return posts, nil
}

// references fits ValueWalk with and without the determinant.
func (r *runner) references(ctx context.Context, worlds []*World, t *experiment.Stages) (exact, noDet []qvirl.Posterior, refs []metric.References, err error) {
	if exact, err = r.fit(ctx, ValueWalk, worlds, t); err != nil {
		return nil, nil, nil, err
	}
	if noDet, err = r.fit(ctx, ValueWalkNoDet, worlds, t); err != nil {
		return nil, nil, nil, err
	}
	refs = make([]metric.References, len(worlds))
	for i, w := range worlds {
		for _, of := range []struct {
			post qvirl.Posterior
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
func (r *runner) worlds(ctx context.Context, seeds []uint64, again int, t *experiment.Stages) (*experiment.Result, error) {
	worlds, err := r.config.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	exact, noDet, refs, err := r.references(ctx, worlds, t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	environment := r.config.Environment()
	if err := r.evaluate(ctx, result, environment, ValueWalk, worlds, exact, refs, t); err != nil {
		return nil, err
	}
	if err := r.evaluate(ctx, result, environment, ValueWalkNoDet, worlds, noDet, refs, t); err != nil {
		return nil, err
	}
	methods := r.config.Methods
	if again > 0 {
		methods = append([]string{ValueWalkAgain}, methods...)
	}
	for _, name := range methods {
		subset := worlds
		if name == ValueWalkAgain {
			subset = worlds[:again]
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
	worlds, err := r.config.Worlds(r.config.HeldOut)
	if err != nil {
		return nil, err
	}
	_, _, refs, err := r.references(ctx, worlds, t)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	best, bestW1 := 0.0, math.Inf(1)
	for _, lambda := range r.config.Lambdas {
		name := avrilName(lambda)
		posts, err := r.fit(ctx, name, worlds, t)
		if err != nil {
			return nil, err
		}
		if err := r.evaluate(ctx, result, r.config.Environment()+heldOutSuffix, name, worlds, posts, refs, t); err != nil {
			return nil, err
		}
		if w1 := experiment.Average(result.Rows, name, metric.W1).Mean; w1 < bestW1 {
			best, bestW1 = lambda, w1
		}
	}
	if best != r.config.Lambda {
		result.Notes = append(result.Notes, fmt.Sprintf("on the held-out worlds λ = %g has the smallest W1, %.3f, but the config chose λ = %g", best, bestW1, r.config.Lambda))
	}
	return result, nil
}

// Measure returns the rows of a method's metrics in each world, [worlds][metrics]. progress counts worlds and may be nil.
func (c Config) Measure(ctx context.Context, environment, method string, worlds []*World, posts []qvirl.Posterior, refs []metric.References,
	progress qvirl.Progress) ([][]experiment.Row, error) {
	out := make([][]experiment.Row, len(worlds))
	err := experiment.Parallel(ctx, len(worlds), progress, func(i int) error {
		samples, err := Samples(posts[i], c.Draws, worlds[i].Seed, method)
		if err != nil {
			return err
		}
		found, err := metric.Evaluate(posts[i], samples, worlds[i].Truth, refs[i])
		if err != nil {
			return err
		}
		row := experiment.Row{Environment: environment, Method: method, Demos: c.Trajectories, Seed: worlds[i].Seed}
		for _, name := range metric.Names {
			if value, ok := found[name]; ok {
				row.Metric, row.Value = name, value
				out[i] = append(out[i], row)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return out, nil
}

// evaluate adds the rows of a method: its metrics, and the diagnostics of its computation.
func (r *runner) evaluate(ctx context.Context, result *experiment.Result, environment, method string, worlds []*World,
	posts []qvirl.Posterior, refs []metric.References, t *experiment.Stages) error {
	var found [][]experiment.Row
	err := t.Run("metrics", "metrics of "+method, float64(len(worlds))*evaluationCost, func(progress qvirl.Progress) (err error) {
		found, err = r.config.Measure(ctx, environment, method, worlds, posts, refs, progress)
		return err
	})
	if err != nil {
		return err
	}
	for i, w := range worlds {
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

// Samples returns the joint samples by which a posterior is judged: all of its own if it consists of samples, and n
// draws otherwise (qvirl.ImpliedSamples: rewards that belong exactly to draws of values), which depend on the seed of the world and the name of the method.
func Samples(post qvirl.Posterior, n int, seed uint64, method string) (*qvirl.Samples, error) {
	if p, ok := post.(interface{ Samples() *qvirl.Samples }); ok {
		return p.Samples(), nil
	}
	return qvirl.ImpliedSamples(post, Stream(seed, method), n)
}

// Stream returns the random stream that samples of a method's posterior are drawn with in the world of a seed.
func Stream(seed uint64, method string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(method)) // does not fail
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// diagnose returns metrics that describe the computation of a posterior, and a note if it did not go well.
func diagnose(post qvirl.Posterior) (metrics map[string]float64, note string) {
	switch p := post.(type) {
	case *valuewalk.Posterior:
		d := p.Diagnostics()
		if err := d.Clean(); err != nil {
			note = err.Error()
		}
		metrics = map[string]float64{Divergent: float64(d.Divergences)}
		if rhat, ess := d.Worst(); !math.IsNaN(rhat) && !math.IsNaN(ess) {
			metrics[RHatMax], metrics[ESSBulkMin] = rhat, ess
		}
		return metrics, note
	case *valuewalk.Refined:
		d := p.Diagnostics()
		return map[string]float64{Divergent: float64(d.Divergences), Drift: d.Drift, Settling: d.Settling}, ""
	case *qvirl.Gaussian:
		converged := 0.0
		if p.Converged() {
			converged = 1
		}
		metrics = map[string]float64{Converged: converged}
		if curve := p.Curve(); len(curve) > 0 {
			metrics[ELBO] = p.ELBO()
		}
		return metrics, ""
	case *qvirl.Warped:
		converged := 0.0
		if p.Converged() {
			converged = 1
		}
		return map[string]float64{Converged: converged}, ""
	case *avril.Posterior:
		d := p.Diagnostics()
		converged := 0.0
		if d.Converged {
			converged = 1
		}
		return map[string]float64{Converged: converged, Collapsed: float64(d.Collapsed)}, ""
	}
	return nil, ""
}

// lambdasOf returns the values of λ that rows on held-out worlds are of, ascending.
func lambdasOf(rows []experiment.Row) []float64 {
	var out []float64
	for _, method := range experiment.Methods(rows) {
		var lambda float64
		if _, err := fmt.Sscanf(method, avrilPrefix+"%g", &lambda); err == nil {
			out = append(out, lambda)
		}
	}
	slices.Sort(out)
	return out
}
