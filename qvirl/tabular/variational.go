package tabular

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/envs/training"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
)

// curveEvery is the number of steps between two points of the ELBO curve.
const curveEvery = 25

// objectiveScope is where the arrays of the objective are kept, apart from the optimizer's.
const objectiveScope = "objective"

// groupSize is the number of problems that train in one program on a CPU: enough to amortise what a program costs
// beside its arithmetic, few enough to fit a cache and to keep all cores busy with a program each. It does not depend
// on the machine, and neither do the results.
const groupSize = 10

// Variational is tabular QVIRL. By LBFGS it fits each problem on its own, a core each; by Adam it compiles one program
// for each shape of batch, and keeps the last of them, so that fitting many batches of one shape compiles once,
// whatever their priors, discounts, β and demonstrations. It is safe for concurrent use.
type Variational struct {
	config   Config
	programs training.Pool[home, *program]
}

// home is what a program is compiled for.
type home struct {
	shape
	on compute.Backend
}

// New returns tabular QVIRL with the given configuration.
func New(c Config) (*Variational, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Variational{config: c}, nil
}

// Name returns the configured name.
func (m *Variational) Name() string { return m.config.Name }

// Close frees the compiled programs. Fits that are under way end as they would; later ones are refused.
func (m *Variational) Close() error { return m.programs.Close() }

// Fit returns the posterior of each problem, a *Gaussian.
func (m *Variational) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior,
	error) {
	return m.FitFrom(ctx, problems, nil, progress)
}

// FitFrom is Fit with training started from given posteriors, one a problem: those of the same MDPs and priors before
// some demonstrations were added, say. A nil slice starts afresh. It needs FullCovariance.
//
// Adam computes in single precision where that is enough and Config.Float64 is false: see FitInfo.Float64. Where the
// loss stops being a number, the problem is fitted again in double precision, then from its best state with a tenth of
// the learning rate, before the fit fails.
func (m *Variational) FitFrom(ctx context.Context, problems []*irl.Problem, start []*Gaussian, progress irl.Progress) (
	[]irl.Posterior, error) {
	if m.programs.Closed() {
		return nil, fmt.Errorf("tabular: the method %s was closed", m.config.Name)
	}
	if err := checkBatch(problems); err != nil {
		return nil, err
	}
	if start != nil && len(start) != len(problems) {
		return nil, fmt.Errorf("tabular: got %d posteriors to start from, want one for each of the %d problems",
			len(start), len(problems))
	}
	began := time.Now()
	fit, size := m.fitAlone, 1
	if m.config.Optimizer == Adam {
		choice, err := backend.Get(m.config.Backend)
		if err != nil {
			return nil, err
		}
		size = len(problems)
		if choice.OnCPU {
			size = groupSize
		}
		fit = func(ctx context.Context, g *group, progress irl.Progress) ([]*Gaussian, error) {
			on, release, err := choice.Client()
			if err != nil {
				return nil, err
			}
			defer release()
			return m.fitGroup(ctx, on, g, progress)
		}
	}
	out := make([]irl.Posterior, len(problems))
	if m.config.rankOf(problems[0]) > 0 {
		if err := checkSparse(problems, start); err != nil {
			return nil, err
		}
		part := progress.Shared(len(problems))
		for i, p := range problems { // each on all processors
			post, err := m.fitLowRank(ctx, i, p, part(i))
			if err != nil {
				return nil, err
			}
			out[i] = post
		}
	} else {
		groups, err := m.groups(problems, start, size)
		if err != nil {
			return nil, err
		}
		part := progress.Shared(len(groups))
		err = parallel.Each(ctx, len(groups), func(ctx context.Context, i int) error {
			posteriors, err := fit(ctx, groups[i], part(i))
			for k, p := range posteriors {
				out[groups[i].indices[k]] = p
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	seconds := time.Since(began).Seconds()
	for _, p := range out {
		p.(*Gaussian).seconds = seconds
	}
	return out, nil
}

// group is problems that train in one program.
type group struct {
	indices []int    // in the whole batch
	parts   []*batch // one a problem
	start   []*Gaussian
	why     []string // why a problem needs double precision
}

// groups sorts problems by the programs that they need, and cuts these batches to a size.
func (m *Variational) groups(problems []*irl.Problem, start []*Gaussian, size int) ([]*group, error) {
	var all []*group
	alike := map[shape]*group{}
	for i, p := range problems {
		part, err := newPart(p, m.config)
		if err != nil {
			return nil, fmt.Errorf("tabular: %s%w", irl.Which(i, len(problems)), err)
		}
		conditions := part.conditions()
		if cause := conditions.blame(p, beyondFloats); cause != "" {
			return nil, fmt.Errorf("tabular: %s%s", irl.Which(i, len(problems)), cause)
		}
		why := conditions.needsDouble()
		if m.config.Float64 {
			why = "Config.Float64 is set"
		}
		part.float64 = why != ""
		g := alike[part.shape]
		if g == nil {
			g = &group{}
			alike[part.shape] = g
			all = append(all, g)
		}
		g.indices, g.parts, g.why = append(g.indices, i), append(g.parts, part), append(g.why, why)
		if start != nil {
			g.start = append(g.start, start[i])
		}
	}
	var out []*group
	for _, g := range all {
		count := (len(g.parts) + size - 1) / size
		for k := range count {
			out = append(out, g.slice(k*len(g.parts)/count, (k+1)*len(g.parts)/count))
		}
	}
	return out, nil
}

// slice returns a part of a group.
func (g *group) slice(first, end int) *group {
	out := &group{indices: g.indices[first:end], parts: g.parts[first:end], why: g.why[first:end]}
	if g.start != nil {
		out.start = g.start[first:end]
	}
	return out
}

// fitGroup fits problems in one program, or where their loss stops being a number, each in one of its own.
func (m *Variational) fitGroup(ctx context.Context, on compute.Backend, g *group, progress irl.Progress) (
	[]*Gaussian, error) {
	var failed *diverged
	out, err := m.train(ctx, on, g, nil, m.config, progress)
	if !errors.As(err, &failed) {
		return out, err
	}
	if len(g.parts) > 1 {
		for i := range g.parts {
			one, err := m.fitGroup(ctx, on, g.slice(i, i+1), progress)
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
		}
		return out, nil
	}
	if part := g.parts[0]; !part.float64 {
		double := *part
		double.float64 = true
		g = &group{indices: g.indices, parts: []*batch{&double}, start: g.start,
			why: []string{"training in single precision failed"}}
		if out, err = m.train(ctx, on, g, nil, m.config, progress); !errors.As(err, &failed) {
			return out, err
		}
	}
	slow := m.config
	slow.LearningRate /= 10
	out, err = m.train(ctx, on, g, failed.best, slow, progress)
	if errors.As(err, &failed) {
		return nil, m.explain(failed, g.parts[0])
	}
	return out, err
}

// explain turns the failure of the last attempt at a problem into an error that names what to change.
func (m *Variational) explain(failed *diverged, part *batch) error {
	cause := part.conditions().blame(part.problems[0], suspicious)
	switch {
	case cause == "" && m.config.Optimizer == LBFGS:
		cause = "no step of L-BFGS can begin there"
	case cause == "":
		cause = fmt.Sprintf("LearningRate = %g is too large, and so is a tenth of it", m.config.LearningRate)
	}
	return fmt.Errorf("%w: %s", failed, cause)
}

// suspicious is the size of conditions that are named as the cause where training has failed. It succeeds beyond it as
// a rule.
const suspicious = 1e8

// train fits the problems of a group together: from the best state of an earlier attempt unless that is nil.
func (m *Variational) train(ctx context.Context, on compute.Backend, g *group, from *reading, c Config,
	progress irl.Progress) ([]*Gaussian, error) {
	b := join(g.parts)
	c.Float64 = b.float64
	arrays := b.arrays(c)
	if g.start != nil {
		means, factors, err := b.startPoint(g.start, g.indices, c)
		if err != nil {
			return nil, err
		}
		setTrainable(arrays, means, factors)
	}
	if from != nil && c.Covariance == FullCovariance {
		setTrainable(arrays, from.mean, from.spread)
	}
	at := home{b.shape, on}
	p, err := m.programs.Acquire(at, func() (*program, error) {
		return &program{home: at, store: model.NewStore()}, nil
	})
	if err != nil {
		return nil, err
	}
	defer m.programs.Release(at, p)
	if err := p.load(c, arrays); err != nil {
		return nil, err
	}
	course, err := p.train(ctx, c, g.indices, progress)
	if err != nil {
		return nil, err
	}
	out := make([]*Gaussian, len(g.parts))
	for i := range out {
		info := FitInfo{Float64: c.Float64, Why: g.why[i]}
		if out[i], err = b.posterior(i, c, course, info); err != nil {
			return nil, fmt.Errorf("tabular: problem %d: %w", g.indices[i], err)
		}
	}
	return out, nil
}
