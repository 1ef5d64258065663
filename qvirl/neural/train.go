package neural

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/training"
)

// job is the training of some runs of a task in one program.
type job struct {
	config     Config
	task       *Task
	first      int // index of the first run
	runs       []Run
	encoder    *encoder
	layout     *layout
	sampler    *sampler
	program    *program
	heldOut    *heldOut
	checkpoint *checkpoint       // nil for none
	explorer   *explorer         // nil for none
	clock      *clock            // of the whole training
	terms      []*tensors.Tensor // of the steps that are not in the sums yet

	state
}

// state is how far a job has come: what a checkpoint holds, in gob's encoding.
type state struct {
	Identity       string // of the training; empty but in a checkpoint
	Step           int
	Trained        []float32 // [runs, P]
	fixed          []float32 // [runs, F], which no training changes and no checkpoint holds
	Moment1        []float32 // [runs, P], of Adam; nil before the first step
	Moment2        []float32
	Curves         [][]CurvePoint // by run
	Sums           []float64      // [runs, terms], over the steps since the curves' last point; nil for none
	Best           []float32      // [runs, P], at each run's best held-out log-likelihood; nil without early stopping
	BestLikelihood []float64      // by run
	BestPoint      []int          // by run, index into Curves
	Aux            []explored     // by run, of an Explore; nil otherwise
	Seconds        float64        // of the whole training when the state was kept; 0 in older checkpoints
}

// train takes the steps that are left.
func (j *job) train(ctx context.Context, report func(Point)) (err error) {
	c := j.config
	runs := len(j.runs)
	j.Curves = make([][]CurvePoint, runs)
	j.Moment1, j.Moment2 = make([]float32, len(j.Trained)), make([]float32, len(j.Trained))
	if c.Patience > 0 {
		j.Best = slices.Clone(j.Trained)
		j.BestLikelihood, j.BestPoint = slices.Repeat([]float64{math.Inf(-1)}, runs), make([]int, runs)
	}
	if len(j.task.HeldOut) > 0 {
		j.heldOut = newHeldOut(j.task.HeldOut, j.sampler.expert)
		defer training.Finalize(j.heldOut.states...)
	}
	if err := j.checkpoint.load(&j.state); err != nil {
		return err
	}
	if j.Step > 0 && j.task.Resumed != nil {
		j.task.Resumed()
	}
	j.clock.goOn(j.Seconds)
	v := newVectors(j)
	defer v.finalize()
	if err := j.explorer.start(ctx, v); err != nil {
		return err
	}
	defer func() { j.explorer.stop(err != nil) }()
	defer func() { training.Finalize(j.terms...) }()
	for j.Step < c.Steps && !j.exhausted() {
		began, start := time.Now(), j.Step
		from := start - start%c.ReportEvery // the curves' last point, after which a checkpoint may hold steps
		until := min(from+c.ReportEvery, c.Steps)
		for j.Step < until {
			err := ctx.Err()
			if err != nil || j.checkpoint.old() {
				err = errors.Join(err, j.keep(v, err != nil))
			}
			if err != nil {
				return err
			}
			count := min(j.program.unroll(), until-j.Step)
			figures, err := v.advance(j, count)
			if err != nil {
				return err
			}
			j.terms = append(j.terms, figures)
			j.Step += count
		}
		if err := j.record(v, from); err != nil {
			return err
		}
		report(j.point(float64(until-start) / time.Since(began).Seconds()))
		if err := j.explorer.step(ctx, v); err != nil {
			return errors.Join(err, j.checkpoint.write())
		}
		if err := j.keep(v, j.Step == c.Steps); err != nil {
			return err
		}
	}
	return v.read(&j.state)
}

// keep keeps the state in the checkpoint, unless training could not go on from it, and writes what is kept if the
// training ends now.
func (j *job) keep(v *vectors, now bool) error {
	switch {
	case j.checkpoint == nil || j.Step == 0:
		return nil
	case !j.explorer.settled():
		if now {
			return j.checkpoint.write()
		}
		return nil
	}
	if err := errors.Join(j.sum(), v.read(&j.state)); err != nil {
		return err
	}
	j.Seconds = j.clock.seconds()
	return j.checkpoint.keep(&j.state, now)
}

// exhausted tells whether early stopping ends the training: no run has hope left.
func (j *job) exhausted() bool {
	if j.Best == nil {
		return false
	}
	for r, curve := range j.Curves {
		if len(curve)-1-j.BestPoint[r] < j.config.Patience {
			return false
		}
	}
	return true
}

// sum adds the terms of the steps that are not in the sums yet to them. A figure that is not a number ends the
// training.
func (j *job) sum() error {
	if j.Sums == nil {
		j.Sums = make([]float64, len(j.runs)*len(j.program.terms))
	}
	step := j.Step
	for _, t := range j.terms {
		step -= t.Shape().Dimensions[0]
	}
	for _, t := range j.terms {
		figures, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return fmt.Errorf("neural: reading the loss: %w", err)
		}
		for ; len(figures) > 0; figures = figures[len(j.Sums):] {
			for i := range j.Sums {
				j.Sums[i] += float64(figures[i])
			}
			if err := j.checkFinite(figures[:len(j.Sums)], step); err != nil {
				return err
			}
			step++
		}
	}
	training.Finalize(j.terms...)
	j.terms = j.terms[:0]
	return nil
}

// record adds a point to the curves: averages of the terms of the steps from on.
func (j *job) record(v *vectors, from int) error {
	err := j.sum()
	if err != nil {
		return err
	}
	runs, names := len(j.runs), j.program.terms
	var likelihood []float64
	if j.heldOut != nil {
		if likelihood, err = j.heldOut.logLikelihood(j.program, v); err != nil {
			return err
		}
	}
	for r := range runs {
		p := CurvePoint{Step: j.Step, Terms: map[string]float64{}}
		for i, name := range names {
			mean := j.Sums[r*len(names)+i] / float64(j.Step-from)
			if i == 0 {
				p.Loss = mean
				continue
			}
			p.Terms[name] = mean
		}
		if likelihood != nil {
			p.HeldOut = &likelihood[r]
		}
		j.Curves[r] = append(j.Curves[r], p)
	}
	j.Sums = nil
	return j.keepBest(v, likelihood)
}

// checkFinite refuses figures [runs, terms] of a step that are not finite, and names the first: the terms come before
// the total, which they break.
func (j *job) checkFinite(figures []float32, step int) error {
	names := j.program.terms
	for r := range j.runs {
		row := figures[r*len(names) : (r+1)*len(names)]
		for k := range names { // the loss, which is the first, comes last
			i := (k + 1) % len(names)
			if x := float64(row[i]); math.IsNaN(x) || math.IsInf(x, 0) {
				var others []string
				for k, name := range names {
					others = append(others, fmt.Sprintf("%s %g", name, row[k]))
				}
				help := "a less extreme prior, β or scale of rewards may help"
				if step > 0 {
					help = "a smaller LearningRate or " + help
				}
				return fmt.Errorf("neural: run %d: the term %q is %g at step %d (%s); %s", j.first+r, names[i], x, step,
					strings.Join(others, ", "), help)
			}
		}
	}
	return nil
}

// keepBest keeps the parameters of the runs whose held-out log-likelihood is the best so far, if the job stops early.
func (j *job) keepBest(v *vectors, likelihood []float64) error {
	if j.Best == nil {
		return nil
	}
	if err := v.read(&j.state); err != nil {
		return err
	}
	size := j.layout.trained
	for r, x := range likelihood {
		if x > j.BestLikelihood[r] {
			j.BestLikelihood[r], j.BestPoint[r] = x, len(j.Curves[r])-1
			copy(j.Best[r*size:(r+1)*size], j.Trained[r*size:(r+1)*size])
		}
	}
	return nil
}

// point returns the curves' last point.
func (j *job) point(speed float64) Point {
	p := Point{Step: j.Step, StepsPerSecond: speed}
	for _, curve := range j.Curves {
		p.Runs = append(p.Runs, curve[len(curve)-1])
	}
	return p
}

// learnt returns the parameters of the models [runs, P].
func (j *job) learnt() []float32 {
	if j.Best != nil {
		return j.Best
	}
	return j.Trained
}

// model returns the model of run r with its part of the parameters from [runs, P].
func (j *job) model(l *Learner, r int, from []float32) *Fitted {
	d := j.sampler.expert[r]
	return &Fitted{
		learner: l, scale: d.Scale, layout: j.layout, curve: j.Curves[r],
		spec: Spec{Environment: j.task.Environment, Observation: j.task.Observation, Image: j.task.Image,
			Actions: j.task.Actions, Discount: j.task.Discount, Beta: j.task.Beta, Demos: len(j.runs[r].Demos),
			Transitions: d.Len(), Seed: j.runs[r].Seed},
		trained: slices.Clone(from[r*j.layout.trained : (r+1)*j.layout.trained]),
		fixed:   slices.Clone(j.fixed[r*j.layout.fixed : (r+1)*j.layout.fixed]),
		device:  newResident(),
	}
}

// vectors are a job's parameters and moments where the program computes.
type vectors struct {
	on                        compute.Backend
	trained, moment1, moment2 *tensors.Tensor
	fixed, decay              *tensors.Tensor
}

func newVectors(j *job) *vectors {
	matrix := func(data []float32) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(data, len(j.runs), len(data)/len(j.runs))
	}
	decay := j.layout.decay()
	for i := range decay {
		decay[i] *= float32(j.config.WeightDecay)
	}
	return &vectors{on: j.program.shape.on, trained: matrix(j.Trained), moment1: matrix(j.Moment1),
		moment2: matrix(j.Moment2), fixed: matrix(j.fixed), decay: tensors.FromFlatDataAndDimensions(decay, len(decay))}
}

// advance takes count steps and returns their terms [count, runs, terms].
func (v *vectors) advance(j *job, count int) (*tensors.Tensor, error) {
	batches := j.sampler.draw(j.Step, count)
	rates := j.config.rates(j.Step, count)
	defer training.Finalize(append(batches, rates)...)
	args := make([]any, 0, 6+len(batches))
	for _, t := range []**tensors.Tensor{&v.trained, &v.moment1, &v.moment2} {
		var buffer any
		err := training.Guard("neural", "handing over the parameters", func() {
			var err error
			if buffer, err = graph.DonateTensorBuffer(*t, v.on, 0); err != nil {
				panic(err)
			}
		})
		if err != nil {
			return nil, err
		}
		args = append(args, buffer)
	}
	args = append(args, v.fixed, v.decay, rates)
	for _, b := range batches {
		args = append(args, b)
	}
	out, err := training.Call("neural", "a training step", j.program.step, args...)
	if err != nil {
		return nil, err
	}
	v.trained, v.moment1, v.moment2 = out[0], out[1], out[2]
	return out[3], nil
}

// read copies the vectors to a state.
func (v *vectors) read(s *state) (err error) {
	for _, part := range []struct {
		from *tensors.Tensor
		to   *[]float32
	}{{v.trained, &s.Trained}, {v.moment1, &s.Moment1}, {v.moment2, &s.Moment2}} {
		if *part.to, err = tensors.CopyFlatData[float32](part.from); err != nil {
			return fmt.Errorf("neural: reading the parameters: %w", err)
		}
	}
	return nil
}

// finalize frees the vectors without waiting for the garbage collector, which does not see their size.
func (v *vectors) finalize() {
	training.Finalize(v.trained, v.moment1, v.moment2, v.fixed, v.decay)
}
