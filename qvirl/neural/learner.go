package neural

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/envs/training"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
)

// groupSize is the number of runs that train in one program on a CPU: enough to amortise what a program costs beside
// its arithmetic, few enough that several programs keep all cores busy. It does not depend on the machine, and neither
// do the results.
const groupSize = 5

// Learner is the method of an objective. It keeps the programs that it compiled, so that tasks of one shape compile
// once.
type Learner struct {
	name      string
	config    Config
	objective Objective
	programs  training.Pool[shape, *program]
}

// NewLearner returns the method that minimises an objective, which is checked first if it has a method Validate.
func NewLearner(name string, c Config, o Objective) (*Learner, error) {
	if o, ok := o.(interface{ Validate() error }); ok {
		if err := o.Validate(); err != nil {
			return nil, err
		}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Learner{name: name, config: c, objective: o}, nil
}

// Name returns the method's name in result rows.
func (l *Learner) Name() string { return l.name }

// Config is how the learner trains.
func (l *Learner) Config() Config { return l.config }

// Fit trains a model for each run of the task, several runs at a time in one program, and calibrates it if the
// configuration asks for that.
func (l *Learner) Fit(ctx context.Context, t *Task, progress irl.Progress) ([]Model, error) {
	if err := check.First(check.Context("neural", ctx), t.Validate()); err != nil {
		return nil, err
	}
	if l.config.Patience > 0 && len(t.HeldOut) == 0 {
		return nil, fmt.Errorf("neural: Config.Patience is %d, but the task has no held-out demonstrations",
			l.config.Patience)
	}
	if l.config.Folds > 0 && slices.ContainsFunc(t.Runs, func(r Run) bool { return r.From != nil }) {
		return nil, fmt.Errorf("neural: Config.Folds is %d, and a run has a model to go on from, which has seen what "+
			"the models of parts are to predict: want 0", l.config.Folds)
	}
	if t.Explore != nil {
		if err := t.Explore.validate(l.config.ReportEvery); err != nil {
			return nil, err
		}
	}
	clock := newClock()
	models, aux, err := l.train(ctx, t, clock, progress.Stage("", 0, 1, 1+l.config.Folds))
	if err != nil {
		return nil, err
	}
	if l.config.Folds > 0 {
		if err := l.calibrate(ctx, t, models, aux, clock, progress.Stage("calibration: ", 1, l.config.Folds,
			1+l.config.Folds)); err != nil {
			return nil, err
		}
	}
	seconds := clock.seconds()
	out := make([]Model, len(models))
	for i, m := range models {
		m.seconds = seconds
		out[i] = m
	}
	return out, nil
}

// train trains a model for each run of a valid task. With Task.Explore it returns what each run has explored at last,
// too.
func (l *Learner) train(ctx context.Context, t *Task, clock *clock, progress irl.Progress) ([]*Fitted, []explored,
	error) {
	choice, err := backend.Get(l.config.Backend)
	if err != nil {
		return nil, nil, err
	}
	groups := 1
	if choice.OnCPU {
		groups = (len(t.Runs) + groupSize - 1) / groupSize
	}
	out, aux := make([]*Fitted, len(t.Runs)), make([]explored, len(t.Runs))
	watch := &watcher{watch: t.Watch, progress: progress, steps: l.config.Steps, done: make([]int, groups)}
	progress.Report(0, l.config.Steps*groups, "compiling")
	err = parallel.Each(ctx, groups, func(ctx context.Context, g int) error {
		first, end := g*len(t.Runs)/groups, (g+1)*len(t.Runs)/groups
		on, release, err := choice.Client()
		if err != nil {
			return err
		}
		defer release()
		job, err := l.newJob(on, t, first, end, clock)
		if err != nil {
			return err
		}
		defer l.programs.Release(job.program.shape, job.program)
		if err := job.train(ctx, watch.program(g)); err != nil {
			return err
		}
		for r := range job.runs {
			out[first+r] = job.model(l, r, job.learnt())
		}
		copy(aux[first:end], job.Aux)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return out, aux, nil
}

// newJob prepares the runs first, …, end−1 of a task. Its program is to be released.
func (l *Learner) newJob(on compute.Backend, t *Task, first, end int, clock *clock) (*job, error) {
	j := &job{config: l.config, task: t, first: first, runs: t.Runs[first:end], clock: clock,
		encoder: &encoder{l.config, t.Observation, t.Actions, t.Image}}
	if c := l.config; t.Image == (Image{}) && (c.Convolutions != nil || c.Features != 0) {
		return nil, errors.New("neural: the config's Convolutions and Features are for images, bytes [frames, " +
			"height, width], which observations are not: leave them out")
	}
	if err := t.Image.check(l.config.convolutions()); err != nil {
		return nil, err
	}
	var expert, aux []*Data
	var seeds []uint64
	for r, run := range j.runs {
		scale := l.config.scale(run.Demos, t.Observation, t.Image)
		if run.From != nil {
			scale = run.From.scale
		}
		data := newData(run.Demos, run.Successors, t.Image, scale, t.Actions, t.Discount)
		expert, seeds = append(expert, data), append(seeds, run.Seed)
		if len(run.Aux) > 0 {
			aux = append(aux, newData(run.Aux, run.AuxSuccessors, t.Image, scale, t.Actions, t.Discount))
		}
		var parameters []Parameter
		draw := random(run.Seed, streamWeights, 0)
		for _, n := range l.objective.Networks() {
			parameters = append(parameters, j.encoder.parameters(n, draw)...)
		}
		more, err := l.objective.Parameters(data)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", first+r, err)
		}
		layout, trained, fixed, err := newLayout(append(parameters, more...))
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", first+r, err)
		}
		if run.From != nil {
			if run.From.layout.signature() != layout.signature() {
				return nil, fmt.Errorf("neural: run %d: Run.From is a model of other parameters than this training has",
					first+r)
			}
			trained = slices.Clone(run.From.trained)
		}
		if r > 0 && layout.signature() != j.layout.signature() {
			return nil, fmt.Errorf("neural: runs %d and %d: the objective lists different parameters for them", first,
				first+r)
		}
		j.layout = layout
		j.Trained, j.fixed = append(j.Trained, trained...), append(j.fixed, fixed...)
	}
	auxSize := 0
	if aux != nil || t.Explore != nil {
		auxSize = l.config.AuxBatch
	}
	j.sampler = newSampler(expert, aux, seeds, l.config.Batch, l.config.AuxBatch, l.objective.Noise(l.config.Batch,
		auxSize, t.Actions))
	if t.Explore != nil {
		j.explorer = &explorer{Explore: t.Explore, job: j, learner: l}
	}
	if t.Checkpoint != "" {
		identity, err := l.identity(t, first, end)
		if err != nil {
			return nil, err
		}
		j.checkpoint = newCheckpoint(t.Checkpoint, first, identity)
	}
	var err error
	j.program, err = l.acquire(j.encoder, j.layout, shape{on: on, beta: t.Beta, image: t.Image,
		aux: j.sampler.aux != nil || t.Explore != nil, noise: j.sampler.noise > 0,
		successors: j.sampler.expert[0].Successors > 0})
	return j, err
}

// identity is a digest that two trainings have in common only if they take the same course.
func (l *Learner) identity(t *Task, first, end int) (string, error) {
	c := l.config
	c.Backend = ""
	text, err := json.Marshal(map[string]any{
		"method": l.name, "config": c, "objective": l.objective, "discount": t.Discount, "beta": t.Beta,
		"actions": t.Actions,
	})
	if err != nil {
		return "", fmt.Errorf("neural: %w", err)
	}
	sum := sha256.New()
	sum.Write(text)
	put := func(x any) { _ = binary.Write(sum, binary.LittleEndian, x) } // a digest takes everything
	puts := func(trajectories []demo.Trajectory) {
		put(int64(len(trajectories)))
		for i := range trajectories {
			d := &trajectories[i]
			put(int64(d.Len()))
			put(d.Observations)
			if f := d.Frames; f != nil {
				put(f.Pixels)
				put([]int64{int64(f.Size), int64(f.Stack), int64(f.First)})
			}
			for _, a := range d.Actions {
				put(int64(a))
			}
			put(d.Terminated)
		}
	}
	for _, r := range t.Runs[first:end] {
		put(r.Seed)
		if r.From != nil {
			put(r.From.trained)
			if s := r.From.scale; s != nil { // images have none
				put(s.Mean)
				put(s.Std)
			}
		}
		puts(r.Demos)
		puts(r.Aux)
		for _, s := range slices.Concat(r.Successors, r.AuxSuccessors) {
			put(int64(len(s.Terminated)))
			put(s.Observations)
			put(s.Terminated)
		}
	}
	puts(t.HeldOut)
	if t.Explore != nil {
		put([]int64{int64(t.Explore.Every), int64(t.Explore.Keep)})
		put([]byte(t.Explore.Source))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// acquire returns a program that nobody else uses.
func (l *Learner) acquire(e *encoder, layout *layout, at shape) (*program, error) {
	at.layout = layout.signature()
	return l.programs.Acquire(at, func() (*program, error) {
		p := &program{encoder: e, objective: l.objective, layout: layout, shape: at}
		return p, p.build()
	})
}

// Close frees the programs that the learner compiled.
func (l *Learner) Close() error { return l.programs.Close() }

// validate reports the first field that no model has.
func (s Spec) validate() error {
	return check.All("neural", check.AtLeast(1, "Observation", s.Observation),
		check.AtLeast(2, "Actions", s.Actions), check.That(s.Image == (Image{}) || s.Image.Size() == s.Observation,
			"Image is %+v, and Observation %d", s.Image, s.Observation),
		check.That(s.Discount >= 0 && s.Discount < 1, "Discount = %g, want 0 ≤ γ < 1", s.Discount),
		check.Positive("Beta", s.Beta))
}

// Model returns the model with the given parameters, which are those of the networks (in the order of
// Objective.Networks, as Fitted.Parameters lists them) and the objective's.
func (l *Learner) Model(spec Spec, scale *Scale, parameters []Parameter) (*Fitted, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if err := scale.validate(spec.Observation, spec.Image); err != nil {
		return nil, err
	}
	if err := spec.Image.check(l.config.convolutions()); err != nil {
		return nil, err
	}
	layout, trained, fixed, err := newLayout(parameters)
	if err != nil {
		return nil, err
	}
	return &Fitted{spec: spec, learner: l, scale: scale, layout: layout, trained: trained, fixed: fixed,
		device: newResident()}, nil
}
