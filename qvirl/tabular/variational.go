package tabular

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/training"
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
		part, err := newPart(p, m.config.Whiten)
		if err != nil {
			return nil, fmt.Errorf("tabular: problem %d: %w", i, err)
		}
		conditions := part.conditions()
		if cause := conditions.blame(p, beyondFloats); cause != "" {
			return nil, fmt.Errorf("tabular: problem %d: %s", i, cause)
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
		info := FitInfo{Float64: c.Float64, Why: g.why[i], LearningRate: c.LearningRate}
		if out[i], err = b.posterior(i, c, course, info); err != nil {
			return nil, fmt.Errorf("tabular: problem %d: %w", g.indices[i], err)
		}
	}
	return out, nil
}

// program trains batches of one shape.
type program struct {
	home
	store *model.Store
	step  *model.Exec // learning rate (and rows of noise, where the objective draws) → outputs, before the step
}

// Free gives back what the program holds of the device.
func (p *program) Free() error {
	return training.Guard("tabular", "freeing a program", func() {
		if p.step != nil {
			p.step.Finalize()
		}
		p.store.Finalize()
	})
}

// The outputs of a training step in the order of objective's fields; of MonteCarlo the first outWeights.
const (
	outLoss = iota
	outKL
	outLogLikelihood
	outMean
	outSpread
	outWeights
	outRise
	outResidual
	outLogProbs
	outputs
)

// load sets the arrays of the objective and forgets the state of the optimizer.
func (p *program) load(c Config, arrays []array) error {
	if err := p.setOptimizer(nil); err != nil {
		return err
	}
	if err := c.load(p.store.Scope(objectiveScope), arrays); err != nil {
		return fmt.Errorf("tabular: loading a batch: %w", err)
	}
	if p.step != nil {
		return nil
	}
	adam := optimizer.Adam().Epsilon(1e-8).Done()
	return training.Guard("tabular", "building the training step", func() {
		step := func(scope *model.Scope, learningRate, rows *graph.Node) []*graph.Node {
			o := newObjective(scope.At(objectiveScope), learningRate.Graph(), rows, p.shape, c)
			optimizer.LearningRateVar(scope, learningRate.DType(), 0).SetNodeValue(learningRate)
			adam.UpdateGraph(scope, learningRate.Graph(), o.gradient)
			out := []*graph.Node{o.loss, o.kl, o.logLikelihood, o.mean, o.spread}
			if c.Objective != MonteCarlo {
				out = append(out, o.weights, o.rise, o.residual, o.logProbs)
			}
			return out
		}
		if c.draws() {
			p.step = model.MustNewExec(p.on, p.store, step)
			return
		}
		p.step = model.MustNewExec(p.on, p.store, func(scope *model.Scope, learningRate *graph.Node) []*graph.Node {
			return step(scope, learningRate, nil)
		})
	})
}

// optimizerState returns copies of the optimizer's variables by their paths.
func (p *program) optimizerState() (map[string]*tensors.Tensor, error) {
	state := map[string]*tensors.Tensor{}
	for v := range p.store.IterVariables() {
		if strings.HasPrefix(v.Path(), "/"+objectiveScope+"/") {
			continue
		}
		value, err := v.Value()
		if err == nil {
			state[v.Path()], err = value.LocalClone()
		}
		if err != nil {
			return nil, fmt.Errorf("tabular: reading %s: %w", v.Path(), err)
		}
	}
	return state, nil
}

// setOptimizer sets the optimizer's variables; to zero where state has none.
func (p *program) setOptimizer(state map[string]*tensors.Tensor) error {
	for v := range p.store.IterVariables() {
		if strings.HasPrefix(v.Path(), "/"+objectiveScope+"/") {
			continue
		}
		value := state[v.Path()]
		if value == nil {
			value = tensors.FromShape(v.Shape())
		}
		if err := v.SetValue(value); err != nil {
			return fmt.Errorf("tabular: setting %s: %w", v.Path(), err)
		}
	}
	return nil
}

// course is that of a fit.
type course struct {
	curves    [][]CurvePoint // one a problem
	converged []bool
	best      []*reading // of each problem, at the end of the round with its highest ELBO, or at the start
	rounds    int
}

// reading is what a program says of one problem at the end of a round, in double precision.
type reading struct {
	loss                              float64
	mean, spread                      []float64 // of z: [n]; [n, n]
	weights, rise, residual, logProbs []float64 // [A, S], [S], [S], [A, S]; nil for MonteCarlo
}

// diverged is the error of a loss that is not a number.
type diverged struct {
	problem, step           int
	loss, kl, logLikelihood float64
	best                    *reading // of the problem so far
}

func (e *diverged) Error() string {
	return fmt.Sprintf("qvirl: problem %d: the loss is %g at step %d (KL divergence %g, log-likelihood %g)",
		e.problem, e.loss, e.step, e.kl, e.logLikelihood)
}

// train runs rounds of Adam until every problem has converged: until its loss has changed by no more than the
// tolerance in a round, and is no further above its best. Errors number the problems by indices.
func (p *program) train(ctx context.Context, c Config, indices []int, progress irl.Progress) (*course, error) {
	t := &course{curves: make([][]CurvePoint, p.size), converged: make([]bool, p.size)}
	before := make([]float64, p.size)
	for i := range before {
		before[i] = math.Inf(1)
	}
	var err error
	if t.best, _, err = p.evaluate(c); err != nil {
		return nil, err
	}
	draws := c.newDraws(trainingDraws)
	total, unsettled := c.Rounds*c.Steps, p.size
	for unsettled > 0 && t.rounds < c.Rounds {
		for step := 0; step < c.Steps; step++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			done := t.rounds*c.Steps + step
			out, err := p.call(c, c.learningRate(step), draws.next())
			if err != nil {
				return nil, err
			}
			if done%curveEvery == 0 {
				parts, err := c.losses(out)
				if err != nil {
					return nil, err
				}
				mean, err := t.record(parts, indices, done)
				if err != nil {
					return nil, err
				}
				progress.Report(done, total, fmt.Sprintf("mean ELBO %.3f", mean))
			}
			training.Finalize(out...)
		}
		t.rounds++
		done := t.rounds * c.Steps
		readings, parts, err := p.evaluate(c)
		if err != nil {
			return nil, err
		}
		mean, err := t.record(parts, indices, done)
		if err != nil {
			return nil, err
		}
		progress.Report(done, total, fmt.Sprintf("mean ELBO %.3f", mean))
		unsettled = 0
		for i, r := range readings {
			if !(t.best[i].loss <= r.loss) {
				t.best[i] = r
			}
			t.converged[i] = math.Abs(before[i]-r.loss) <= c.Tolerance && r.loss-t.best[i].loss <= c.Tolerance
			if !t.converged[i] {
				unsettled++
			}
			before[i] = r.loss
		}
	}
	status := "converged"
	if unsettled > 0 {
		status = fmt.Sprintf("stopped after %d rounds, not converged", t.rounds)
		if p.size > 1 {
			status += fmt.Sprintf(" (%d of %d problems)", unsettled, p.size)
		}
	}
	progress.Report(total, total, status)
	return t, nil
}

// call runs one step. rows are for objectives that draw values and nil otherwise.
func (p *program) call(c Config, learningRate float64, rows []int32) ([]*tensors.Tensor, error) {
	args := []any{float32(learningRate)}
	if c.Float64 {
		args[0] = learningRate
	}
	if rows != nil {
		args = append(args, rows)
	}
	return training.Call("tabular", "a training step", p.step, args...)
}

// losses are the loss, the KL divergence and the log-likelihood of each problem.
type losses [outLogLikelihood + 1][]float64

// losses reads them from the outputs of a step.
func (c Config) losses(out []*tensors.Tensor) (parts losses, err error) {
	for i := range parts {
		if parts[i], err = c.wide(out[i]); err != nil {
			return parts, fmt.Errorf("tabular: reading the loss: %w", err)
		}
	}
	return parts, nil
}

// evaluate reads the present parameters and what follows from them, and the losses: with objectives that draw, of
// several draws, always the same, the mean. It takes steps of length zero and puts the optimizer back where it was.
func (p *program) evaluate(c Config) ([]*reading, losses, error) {
	draws, count := c.newDraws(evaluationDraws), 1
	if c.draws() {
		count = evaluations
	}
	var mean losses
	state, err := p.optimizerState()
	if err != nil {
		return nil, mean, err
	}
	var out []*tensors.Tensor
	defer func() { training.Finalize(out...) }()
	for k := range count {
		training.Finalize(out...)
		if out, err = p.call(c, 0, draws.next()); err != nil {
			return nil, mean, err
		}
		parts, err := c.losses(out)
		if err != nil {
			return nil, mean, err
		}
		if k == 0 {
			mean = parts
			continue
		}
		for i := range mean {
			floats.Add(mean[i], parts[i])
		}
	}
	for i := range mean {
		floats.Scale(1/float64(count), mean[i])
	}
	if err := p.setOptimizer(state); err != nil {
		return nil, mean, err
	}
	var data [outputs][]float64
	for i := range out {
		if data[i], err = c.wide(out[i]); err != nil {
			return nil, mean, fmt.Errorf("tabular: reading the posterior: %w", err)
		}
	}
	readings := make([]*reading, p.size)
	for i := range readings {
		part := func(output int) []float64 {
			length := len(data[output]) / p.size
			return data[output][i*length : (i+1)*length : (i+1)*length]
		}
		readings[i] = &reading{loss: mean[outLoss][i], mean: part(outMean), spread: part(outSpread),
			weights: part(outWeights), rise: part(outRise), residual: part(outResidual), logProbs: part(outLogProbs)}
	}
	return readings, mean, nil
}

// record appends the present point to the ELBO curves and returns their mean. A loss that is not a number is an error.
func (t *course) record(parts losses, indices []int, step int) (float64, error) {
	mean := 0.0
	for i, loss := range parts[outLoss] {
		kl, logLikelihood := parts[outKL][i], parts[outLogLikelihood][i]
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return 0, &diverged{indices[i], step, loss, kl, logLikelihood, t.best[i]}
		}
		t.curves[i] = append(t.curves[i], CurvePoint{Step: step, ELBO: -loss, KL: kl, LogLikelihood: logLikelihood})
		mean -= loss / float64(len(parts[outLoss]))
	}
	return mean, nil
}
