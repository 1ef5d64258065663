package activelearning

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Units returns the units of the experiment: each method on each chunk of runs.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	fitters := make([]*worlds.Fitter, slices.Max(append(slices.Collect(maps.Values(c.Courses)), 1))) // by course
	for course := range fitters {
		fitters[course] = c.course(course).posteriors().NewFitter(backendName)
	}
	var units []experiment.Unit
	for _, name := range c.Methods {
		for _, chunk := range experiment.Chunks("runs", c.Seeds, c.Chunk) {
			on, err := c.on(name, chunk.Seeds)
			if err != nil {
				return nil, err
			}
			u := chunk.Unit(name, on, func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				return c.unit(ctx, name, chunk.Seeds, fitters, t)
			})
			u.Method, _ = method.Split(posterior(name))
			settings, err := c.settings(name)
			if err != nil {
				return nil, err
			}
			u.Code = append(worlds.CodeOf(posterior(name), settings), ValueWalk) // of the reference
			u.Group = ""                                                         // nothing is shared
			units = append(units, u)
		}
	}
	return units, nil
}

// on returns what the rows of a method on the worlds of some seeds depend on: all of the config but the other methods.
func (c Config) on(name string, seeds []uint64) (any, error) {
	settings, err := c.settings(name)
	if err != nil {
		return nil, err
	}
	of := Config{World: c.World, Initial: c.Initial, Queries: c.Queries, Length: c.Length, Beta: c.Beta,
		Discount: c.Discount, Seeds: seeds, Samples: c.Samples, Trajectories: c.Trajectories, Finalists: c.Finalists,
		FinalTrajectories: c.FinalTrajectories, Level: c.Level, QuerySeed: c.QuerySeed, ReferenceAt: c.ReferenceAt,
		Reference: c.Reference}
	return []any{name, c.courses(name), settings, of}, nil
}

// unit takes a method through its courses on a chunk of worlds.
func (c Config) unit(ctx context.Context, method string, seeds []uint64, fitters []*worlds.Fitter,
	t *experiment.Stages) (*experiment.Result, error) {
	j := &judge{config: c, worlds: make([]*worlds.World, len(seeds)), scales: make([]worlds.Scale, len(seeds)),
		stages: t}
	for i, seed := range seeds {
		w, err := c.NewWorld(seed)
		if err != nil {
			return nil, fmt.Errorf("world %d: %w", seed, err)
		}
		j.worlds[i] = w
		if j.scales[i], err = w.Scale(w.Return); err != nil {
			return nil, fmt.Errorf("world %d: %w", seed, err)
		}
	}
	courses := c.courses(method)
	for course := range courses {
		m, err := fitters[course].Method(posterior(method))
		if err != nil {
			return nil, err
		}
		label := method
		if courses > 1 {
			label = fmt.Sprintf("%s, course %d of %d", method, course+1, courses)
		}
		j.found = append(j.found, nil)
		err = t.Run(method, label, func(progress irl.Progress) error {
			return c.course(course).Follow(ctx, method, active.Fit(m), j.worlds,
				func(k int, steps []active.Step) error { return j.judge(ctx, k, steps) }, progress)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
	}
	result := &experiment.Result{Rows: j.rows(method)}
	if j.unclean > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("%s: %d of %d fits did not converge as configured", method,
			j.unclean, j.fits))
	}
	return result, nil
}

// referenceKey is the seconds of the posteriors that W1 is taken to.
const referenceKey = "reference"

// Follow takes a method through all queries in the given worlds, as one batch, with the fitter that Fitter gives for
// it. visit is told of each number of queries.
func (c Config) Follow(ctx context.Context, method string, fit active.Fitter, worlds []*worlds.World,
	visit func(queries int, steps []active.Step) error, progress irl.Progress) error {
	runs := make([]active.Run, len(worlds))
	for i, w := range worlds {
		ask, err := active.Expert(w.Problem, w.Grid.Reward, c.Length, w.Seed)
		if err != nil {
			return fmt.Errorf("world %d: %w", w.Seed, err)
		}
		runs[i] = active.Run{Problem: w.Problem, Ask: ask, Seed: w.Seed + c.QuerySeed}
	}
	return c.Loop(method, fit).Do(ctx, runs, visit, progress)
}

// judge measures the courses of a unit.
type judge struct {
	config        Config
	worlds        []*worlds.World
	scales        []worlds.Scale
	stages        *experiment.Stages  // keeps the time of the references apart
	found         [][][]metric.Result // by course, queries and world; the last course is under way
	fits, unclean int
}

// judge measures the steps of the present course after k queries, a step to a world.
func (j *judge) judge(ctx context.Context, k int, steps []active.Step) error {
	found := make([]metric.Result, len(steps))
	err := experiment.Parallel(ctx, len(steps), nil, func(i int) (err error) {
		found[i], err = evaluate(j.worlds[i], j.scales[i], steps[i])
		return err
	})
	if err != nil {
		return err
	}
	if len(j.found) == 1 && slices.Contains(j.config.ReferenceAt, k) {
		err := j.stages.Run(referenceKey, referenceKey, func(irl.Progress) error {
			return j.compare(ctx, steps, found)
		})
		if err != nil {
			return err
		}
	}
	for _, s := range steps {
		j.fits++
		if ok, _ := irl.Converged(s.Posterior); !ok {
			j.unclean++
		}
	}
	present := &j.found[len(j.found)-1]
	*present = append(*present, found)
	return nil
}

// rows returns the rows of all courses.
func (j *judge) rows(method string) []experiment.Row {
	var out []experiment.Row
	for k, first := range j.found[0] {
		for i, w := range j.worlds {
			row := experiment.Row{Environment: j.config.World.Name(), Method: method, Demos: k, Seed: w.Seed}
			add := func(name string, value float64) {
				out = append(out, row.With(name, value))
			}
			for _, name := range []string{ReturnTrue, RewardEntropy} {
				sum := 0.0
				for _, course := range j.found {
					sum += course[k][i][name]
				}
				add(name, sum/float64(len(j.found)))
			}
			for _, name := range []string{W1, PolicyTV, Query, QueryScore} {
				if value, ok := first[i][name]; ok {
					add(name, value)
				}
			}
			if len(j.found) > 1 {
				for course := range j.found {
					add(courseMetric(course+1), j.found[course][k][i][ReturnTrue])
				}
			}
		}
	}
	return out
}

// evaluate returns the metrics that need no reference.
func evaluate(w *worlds.World, s worlds.Scale, step active.Step) (metric.Result, error) {
	policy, err := apprentice.MeanPolicy(step.Posterior)
	if err != nil {
		return nil, err
	}
	value, err := w.Return(policy)
	if err != nil {
		return nil, err
	}
	entropy, err := GaussianEntropy(step.Samples.Reward)
	if err != nil {
		return nil, err
	}
	out := metric.Result{ReturnTrue: 100 * (value - s.Random) / (s.Optimal - s.Random), RewardEntropy: entropy}
	if best := active.Best(step.Scores); best >= 0 {
		out[Query], out[QueryScore] = float64(step.Query), step.Scores[best].Value
	}
	return out, nil
}

// compare adds the distances to posteriors that ValueWalk samples from the same demonstrations.
func (j *judge) compare(ctx context.Context, steps []active.Step, found []metric.Result) error {
	oracle, err := valuewalk.New(j.config.Reference)
	if err != nil {
		return err
	}
	problems := make([]*irl.Problem, len(steps))
	for i, s := range steps {
		problems[i] = s.Posterior.Problem()
	}
	exact, err := oracle.Fit(ctx, problems, nil)
	if err != nil {
		return fmt.Errorf("activelearning: the exact posterior: %w", err)
	}
	return experiment.Parallel(ctx, len(steps), nil, func(i int) error {
		reference, err := metric.NewReference(problems[i], exact[i].(*valuewalk.Posterior).Samples())
		if err != nil {
			return err
		}
		result, err := metric.Evaluate(steps[i].Posterior, steps[i].Samples, j.worlds[i].Truth,
			metric.References{Exact: reference})
		if err != nil {
			return err
		}
		found[i][W1], found[i][PolicyTV] = result[metric.W1], result[metric.PolicyTV]
		return nil
	})
}

// GaussianEntropy returns the entropy, in nats, of the Gaussian with the covariance of the samples, a row each:
//
//	½ log det(2πe·Σ)
//
// The log-determinant of a sample covariance is too small on average; for Gaussian samples the mean error is known (the
// Wishart distribution's) and is taken off.
func GaussianEntropy(samples *mat.Dense) (float64, error) {
	n, dim := samples.Dims()
	if n <= dim {
		return 0, fmt.Errorf("activelearning: the entropy of %d rewards needs more than %d samples, got %d", dim, dim,
			n)
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, samples, nil)
	var chol mat.Cholesky
	if !chol.Factorize(&cov) {
		return 0, fmt.Errorf("activelearning: the covariance of %d samples is not positive definite", n)
	}
	logDet := chol.LogDet()
	freedom := float64(n - 1)
	for i := 0; i < dim; i++ {
		logDet += math.Log(freedom/2) - mathext.Digamma((freedom-float64(i))/2)
	}
	return 0.5 * (logDet + float64(dim)*(1+math.Log(2*math.Pi))), nil
}
