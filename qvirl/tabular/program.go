package tabular

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/training"
	"github.com/go-birl/birl/qvirl/irl"
)

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
	return fmt.Sprintf("tabular: problem %d: the loss is %g at step %d (KL divergence %g, log-likelihood %g)",
		e.problem, e.loss, e.step, e.kl, e.logLikelihood)
}

// train runs rounds of Adam until every problem has converged: until its loss has changed by no more than the
// tolerance in a round, and is no further above its best. Errors number the problems by indices.
func (p *program) train(ctx context.Context, c Config, indices []int, progress irl.Progress) (*course, error) {
	t := &course{curves: make([][]CurvePoint, p.size), converged: make([]bool, p.size)}
	before := slices.Repeat([]float64{math.Inf(1)}, p.size)
	var err error
	if t.best, _, err = p.evaluate(c); err != nil {
		return nil, err
	}
	rows := c.noiseRows(trainingDraws)
	total, unsettled := c.Rounds*c.Steps, p.size
	record := func(parts losses, done int) error {
		mean, err := t.record(parts, indices, done)
		if err == nil {
			progress.Report(done, total, fmt.Sprintf("mean ELBO %.3f", mean))
		}
		return err
	}
	for unsettled > 0 && t.rounds < c.Rounds {
		for step := 0; step < c.Steps; step++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			done := t.rounds*c.Steps + step
			out, err := p.call(c, c.learningRate(step), rows())
			if err != nil {
				return nil, err
			}
			if done%curveEvery == 0 {
				parts, err := c.losses(out)
				if err != nil {
					return nil, err
				}
				if err := record(parts, done); err != nil {
					return nil, err
				}
			}
			training.Finalize(out...)
		}
		t.rounds++
		readings, parts, err := p.evaluate(c)
		if err != nil {
			return nil, err
		}
		if err := record(parts, t.rounds*c.Steps); err != nil {
			return nil, err
		}
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
	rows, count := c.noiseRows(evaluationDraws), 1
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
		if out, err = p.call(c, 0, rows()); err != nil {
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
		of := func(output int) []float64 { return part(data[output], i, p.size) }
		readings[i] = &reading{loss: mean[outLoss][i], mean: of(outMean), spread: of(outSpread),
			weights: of(outWeights), rise: of(outRise), residual: of(outResidual), logProbs: of(outLogProbs)}
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
