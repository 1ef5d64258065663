package tabular

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/support/exceptions"
	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
)

// curveEvery is the number of steps between two points of the ELBO curve.
const curveEvery = 25

// objectiveScope is where the arrays of the objective are kept, apart from the optimizer's.
const objectiveScope = "objective"

// groupSize is the number of problems that train in one program on a CPU: enough to amortise what a program costs beside
// its arithmetic, few enough to fit a cache and to keep all cores busy with a program each. It does not depend on the
// machine, and neither do the results.
const groupSize = 10

// Variational is tabular QVIRL. It compiles one program for each shape of batch, and keeps it, so that fitting many batches
// of one shape compiles once. It is safe for concurrent use.
type Variational struct {
	config Config
	mutex  sync.Mutex
	idle   map[home][]*program
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
	return &Variational{config: c, idle: map[home][]*program{}}, nil
}

// Name returns the configured name.
func (m *Variational) Name() string { return m.config.Name }

// Fit returns the posterior of each problem, a *Gaussian.
func (m *Variational) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior, error) {
	return m.FitFrom(ctx, problems, nil, progress)
}

// FitFrom is Fit with training started from given posteriors, one a problem: those of the same MDPs and priors before some
// demonstrations were added, say. A nil slice starts afresh. It needs FullCovariance.
func (m *Variational) FitFrom(ctx context.Context, problems []*irl.Problem, start []*Gaussian, progress irl.Progress) ([]irl.Posterior, error) {
	if err := checkBatch(problems); err != nil {
		return nil, err
	}
	if start != nil && len(start) != len(problems) {
		return nil, fmt.Errorf("qvirl: got %d posteriors to start from, want one for each of the %d problems", len(start), len(problems))
	}
	choice, err := backend.Get(m.config.Backend)
	if err != nil {
		return nil, err
	}
	groups := 1
	if choice.OnCPU {
		groups = (len(problems) + groupSize - 1) / groupSize
	}
	part := progress.Shared(groups)
	out := make([]irl.Posterior, len(problems))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for g := range groups {
		first, end := g*len(problems)/groups, (g+1)*len(problems)/groups
		var from []*Gaussian
		if start != nil {
			from = start[first:end]
		}
		work.Go(func() error {
			on, release, err := choice.Client()
			if err != nil {
				return err
			}
			defer release()
			posteriors, err := m.fitGroup(ctx, on, problems[first:end], from, first, part(g))
			copy(out[first:end], posteriors)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// fitGroup fits problems in one program. The first of them is the first'th of the batch.
func (m *Variational) fitGroup(ctx context.Context, on compute.Backend, problems []*irl.Problem, start []*Gaussian, first int,
	progress irl.Progress) ([]irl.Posterior, error) {
	b, err := newBatch(problems, m.config.Whiten)
	if err != nil {
		return nil, fmt.Errorf("problems from %d on: %w", first, err)
	}
	arrays := b.arrays(m.config)
	if start != nil {
		if err := b.startFrom(start, arrays, m.config); err != nil {
			return nil, fmt.Errorf("problems from %d on: %w", first, err)
		}
	}
	began := time.Now()
	p := m.acquire(home{b.shape, on})
	defer m.release(p)
	if err := p.load(arrays); err != nil {
		return nil, err
	}
	training, err := p.train(ctx, first, progress)
	if err != nil {
		return nil, err
	}
	training.seconds = time.Since(began).Seconds()
	return p.posteriors(problems, training)
}

// acquire returns a program that nobody else uses.
func (m *Variational) acquire(at home) *program {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if idle := m.idle[at]; len(idle) > 0 {
		m.idle[at] = idle[:len(idle)-1]
		return idle[len(idle)-1]
	}
	return &program{config: m.config, home: at, store: model.NewStore()}
}

// release gives a program back.
func (m *Variational) release(p *program) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.idle[p.home] = append(m.idle[p.home], p)
}

// program trains batches of one shape.
type program struct {
	home
	config Config
	store  *model.Store
	step   *model.Exec // learning rate (and rows of noise, for objectives that draw) → outputs, at the parameters before the step
}

// The outputs of a training step, in order; see objective. Those of MonteCarlo end with outCovX.
const (
	outLoss = iota
	outKL
	outLogLikelihood
	outMeanX
	outCovX
	outMeanR
	outCovR
	outMeanV
	outVarV
	outLogProbs
)

// load sets the arrays of the objective and forgets the state of the optimizer.
func (p *program) load(arrays []array) error {
	for v := range p.store.IterVariables() {
		if !strings.HasPrefix(v.Path(), "/"+objectiveScope+"/") {
			if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
				return fmt.Errorf("qvirl: resetting %s: %w", v.Path(), err)
			}
		}
	}
	if err := p.config.load(p.store.Scope(objectiveScope), arrays); err != nil {
		return fmt.Errorf("qvirl: loading a batch: %w", err)
	}
	if p.step != nil {
		return nil
	}
	adam := optimizer.Adam().Epsilon(1e-8).Done()
	return guard("building the training step", func() {
		step := func(scope *model.Scope, learningRate, rows *graph.Node) []*graph.Node {
			o := newObjective(scope.At(objectiveScope), learningRate.Graph(), rows, p.shape, p.config)
			optimizer.LearningRateVar(scope, learningRate.DType(), 0).SetNodeValue(learningRate)
			adam.UpdateGraph(scope, learningRate.Graph(), o.gradient)
			out := []*graph.Node{o.loss, o.kl, o.logLikelihood, o.meanX, o.covX}
			if p.config.Objective != MonteCarlo {
				out = append(out, o.meanR, o.covR, o.meanV, o.varV, o.logProbs)
			}
			return out
		}
		if p.config.draws() {
			p.step = model.MustNewExec(p.on, p.store, step)
			return
		}
		p.step = model.MustNewExec(p.on, p.store, func(scope *model.Scope, learningRate *graph.Node) []*graph.Node {
			return step(scope, learningRate, nil)
		})
	})
}

// training is the course of a fit.
type training struct {
	curves    [][]CurvePoint // one a problem
	converged []bool
	outputs   []*tensors.Tensor // at the final parameters
	seconds   float64
}

// train runs rounds of Adam until every problem has converged. Errors count the problems from first on.
func (p *program) train(ctx context.Context, first int, progress irl.Progress) (*training, error) {
	c := p.config
	t := &training{curves: make([][]CurvePoint, p.size), converged: make([]bool, p.size)}
	before := make([]float64, p.size)
	for i := range before {
		before[i] = math.Inf(1)
	}
	draws := c.newDraws(trainingDraws)
	for round := 0; round < c.Rounds; round++ {
		for step := 0; step < c.Steps; step++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			done := round*c.Steps + step
			out, err := p.call(c.learningRate(step), draws.next())
			if err != nil {
				return nil, err
			}
			if done%curveEvery == 0 {
				parts, err := p.losses(out)
				if err != nil {
					return nil, err
				}
				mean, err := t.record(parts, first, done)
				if err != nil {
					return nil, err
				}
				progress.Report(done, c.Rounds*c.Steps, fmt.Sprintf("mean ELBO %.3f", mean))
			}
			finalize(out)
		}
		done := (round + 1) * c.Steps
		out, parts, err := p.evaluate()
		if err != nil {
			return nil, err
		}
		mean, err := t.record(parts, first, done)
		if err != nil {
			return nil, err
		}
		progress.Report(done, c.Rounds*c.Steps, fmt.Sprintf("mean ELBO %.3f", mean))
		all := true
		for i, curve := range t.curves {
			loss := -curve[len(curve)-1].ELBO
			t.converged[i] = before[i]-loss <= c.Tolerance
			all = all && t.converged[i]
			before[i] = loss
		}
		t.outputs = out
		if all {
			break
		}
	}
	progress.Report(c.Rounds*c.Steps, c.Rounds*c.Steps, "converged")
	return t, nil
}

// call runs one step. rows are for objectives that draw values and nil otherwise.
func (p *program) call(learningRate float64, rows []int32) (out []*tensors.Tensor, err error) {
	args := []any{float32(learningRate)}
	if p.config.Float64 {
		args[0] = learningRate
	}
	if rows != nil {
		args = append(args, rows)
	}
	if failed := guard("a training step", func() { out, err = p.step.Call(args...) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, fmt.Errorf("qvirl: a training step: %w", err)
	}
	return out, nil
}

// losses are the loss, the KL divergence and the log-likelihood of each problem.
type losses [outLogLikelihood + 1][]float64

// losses reads them from the outputs of a step.
func (p *program) losses(out []*tensors.Tensor) (parts losses, err error) {
	for i := range parts {
		if parts[i], err = p.config.wide(out[i]); err != nil {
			return parts, fmt.Errorf("qvirl: reading the loss: %w", err)
		}
	}
	return parts, nil
}

// evaluate returns the outputs at the present parameters by steps of length zero: one in closed form; otherwise several,
// always with the same draws, and the mean of their losses.
func (p *program) evaluate() (out []*tensors.Tensor, mean losses, err error) {
	draws, count := p.config.newDraws(evaluationDraws), 1
	if p.config.draws() {
		count = evaluations
	}
	for k := range count {
		finalize(out)
		if out, err = p.call(0, draws.next()); err != nil {
			return nil, mean, err
		}
		parts, err := p.losses(out)
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
	return out, mean, nil
}

// record appends the present point to the ELBO curves and returns their mean. A loss that is not a number stops the fit.
func (t *training) record(parts losses, first, step int) (float64, error) {
	mean := 0.0
	for i, loss := range parts[outLoss] {
		kl, logLikelihood := parts[outKL][i], parts[outLogLikelihood][i]
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return 0, fmt.Errorf("qvirl: problem %d: the loss is %g at step %d (KL divergence %g, log-likelihood %g); "+
				"a smaller LearningRate or Float64 may help", first+i, loss, step, kl, logLikelihood)
		}
		t.curves[i] = append(t.curves[i], CurvePoint{Step: step, ELBO: -loss, KL: kl, LogLikelihood: logLikelihood})
		mean -= loss / float64(len(parts[outLoss]))
	}
	return mean, nil
}

// guard turns the panics of graph building and execution into errors.
func guard(what string, f func()) error {
	if err := exceptions.TryCatch[error](f); err != nil {
		return fmt.Errorf("qvirl: %s: %w", what, err)
	}
	return nil
}

// finalize frees the tensors without waiting for the garbage collector, which does not see their size.
func finalize(out []*tensors.Tensor) {
	for _, t := range out {
		t.MustFinalizeAll()
	}
}
