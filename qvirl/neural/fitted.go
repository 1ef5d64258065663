package neural

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/envs/training"
	"github.com/go-birl/birl/qvirl/backend"
)

// Fitted is the model that a Learner makes.
type Fitted struct {
	spec           Spec
	learner        *Learner // whose name it has, and whose programs it shares
	scale          *Scale
	layout         *layout
	trained, fixed []float32
	device         *resident
	calibration    *Calibration // nil for none
	curve          []CurvePoint
	seconds        float64
}

// resident is what a model predicts with, kept as long as the model is: its weights, brought to each backend once, and
// what the objective makes of them.
type resident struct {
	mutex   sync.Mutex
	on      map[compute.Backend][2]*tensors.Tensor // trained [1, P] and fixed [1, F]
	predict Predictor
}

func newResident() *resident { return &resident{on: map[compute.Backend][2]*tensors.Tensor{}} }

// weights returns the model's weights on a backend, trained [1, P] and fixed [1, F]. They are not the caller's to free.
func (f *Fitted) weights(on compute.Backend) (trained, fixed *tensors.Tensor, err error) {
	r := f.device
	r.mutex.Lock()
	defer r.mutex.Unlock()
	pair, ok := r.on[on]
	if !ok {
		pair = [2]*tensors.Tensor{row(f.trained), row(f.fixed)}
		for _, t := range pair {
			if err := t.MaterializeOnDevice(on, true, 0); err != nil {
				return nil, nil, fmt.Errorf("neural: the weights of %s: %w", f.learner.name, err)
			}
		}
		r.on[on] = pair
	}
	return pair[0], pair[1], nil
}

// Name is that of the method.
func (f *Fitted) Name() string { return f.learner.name }

// Spec says what the model was learnt for.
func (f *Fitted) Spec() Spec { return f.spec }

// Seconds is the wall-clock time of the training, of all runs that were trained with this one. Of a training that went
// on from a checkpoint, the time before counts as far as the checkpoint goes.
func (f *Fitted) Seconds() float64 { return f.seconds }

// Curve is the course of the training.
func (f *Fitted) Curve() []CurvePoint { return f.curve }

// Objective is what the learner minimised.
func (f *Fitted) Objective() Objective { return f.learner.objective }

// Config is how the model was trained.
func (f *Fitted) Config() Config { return f.learner.config }

// Scale is what the networks see states in units of; nil for images.
func (f *Fitted) Scale() *Scale { return f.scale }

// Parameters returns the weights of the networks and the objective's parameters. The caller must not change them.
func (f *Fitted) Parameters() []Parameter { return f.layout.gather(f.trained, f.fixed) }

// Calibration is what the model's action probabilities were calibrated by; nil if they were not.
func (f *Fitted) Calibration() *Calibration { return f.calibration }

// blocks returns the numbers of states that predictions are compiled for: a step of a pool of environments, and a data
// set; of images, whose activations take a megabyte each, a part of one.
func blocks(m Image) []int {
	if m != (Image{}) {
		return []int{16, 128}
	}
	return []int{16, 128, 2048}
}

// Predict returns the model's opinion on n observations, in the environment's units [n, observation].
func (f *Fitted) Predict(observations []float32) (*Prediction, error) {
	all, from := len(observations)/f.spec.Observation*f.spec.Actions, 0
	p := &Prediction{Own: make([]float32, all), Values: make([]float32, all)}
	var err error
	if _, ok := f.Objective().(InGraph); ok && !f.plain(observations) {
		err = f.eachBlock(observations, (*program).predict, func(figures [][]float32) {
			copy(p.Own[from:], figures[0])
			from += copy(p.Values[from:], figures[1])
		})
	} else {
		predict, each := f.predictor(), f.Objective().Networks()[0].Outputs
		err = f.eachBlock(observations, (*program).of, func(figures [][]float32) {
			to := from + len(figures[0])/each
			predict(figures[0], p.Own[from:to], p.Values[from:to])
			from = to
		})
	}
	if err != nil {
		return nil, err
	}
	if p.LogProbs = p.Own; f.calibration != nil {
		p.LogProbs = make([]float32, all)
		f.calibration.apply(p.LogProbs, p.Own)
	}
	return p, nil
}

// predictor returns what the objective says of the model's outputs, made when it is first asked for.
func (f *Fitted) predictor() Predictor {
	r := f.device
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.predict == nil {
		r.predict = f.Objective().Predictor(Constants{Actions: f.spec.Actions, Beta: f.spec.Beta,
			Parameter: f.parameter})
	}
	return r.predict
}

// parameter returns the one of the given name.
func (f *Fitted) parameter(name string) []float32 { return f.layout.find(name, f.trained, f.fixed) }

// Outputs returns what the first of the objective's networks puts out for n observations, in the environment's units
// [n, observation]: [n, actions, Network.Outputs].
func (f *Fitted) Outputs(observations []float32) (all []float32, err error) {
	each := f.spec.Actions * f.Objective().Networks()[0].Outputs
	all = make([]float32, 0, len(observations)/f.spec.Observation*each)
	err = f.eachBlock(observations, (*program).of, func(figures [][]float32) { all = append(all, figures[0]...) })
	return all, err
}

// plain reports whether networks see so few observations in plain Go.
func (f *Fitted) plain(observations []float32) bool {
	return f.spec.Image == (Image{}) && len(observations) <= plainStates*f.spec.Observation
}

// eachBlock has arrays used that a program computes at states, [n, …] each, for some states at a time; of few ones the
// outputs of a network are all that there is.
func (f *Fitted) eachBlock(observations []float32,
	compute func(p *program, trained, fixed, states *tensors.Tensor) ([][]float32, error),
	use func(figures [][]float32)) error {
	size := f.spec.Observation
	if len(observations)%size != 0 {
		return fmt.Errorf("neural: %d numbers are no observations of %d numbers each", len(observations), size)
	}
	if err := demo.CheckObservation(observations); err != nil {
		return fmt.Errorf("neural: observations%w", err)
	}
	if len(observations) == 0 {
		return nil
	}
	if f.plain(observations) {
		e := &encoder{f.learner.config, size, f.spec.Actions, f.spec.Image}
		use([][]float32{e.outputs(f.Objective().Networks()[0], f.scale.Apply(observations), f.parameter)})
		return nil
	}
	p, release, err := f.learner.inference(f)
	if err != nil {
		return err
	}
	defer release()
	trained, fixed, err := f.weights(p.shape.on)
	if err != nil {
		return err
	}
	blocks := blocks(f.spec.Image)
	for len(observations) > 0 {
		fits, _ := slices.BinarySearch(blocks, len(observations)/size) // the first that holds them all, if any does
		block := blocks[min(fits, len(blocks)-1)]
		n := min(len(observations)/size, block)
		states, err := unscaled(f.spec.Image, f.scale, observations[:n*size], block)
		if err != nil {
			return err
		}
		observations = observations[n*size:]
		figures, err := compute(p, trained, fixed, states)
		states.MustFinalizeAll()
		if err != nil {
			return err
		}
		for i, x := range figures {
			figures[i] = x[:len(x)/block*n]
		}
		use(figures)
	}
	return nil
}

// of returns the outputs [runs, n, actions, outputs] of the first of the objective's networks at states.
func (p *program) of(trained, fixed, states *tensors.Tensor) ([][]float32, error) {
	return p.call(p.outputs, trained, fixed, states)
}

// predict returns what an objective that is InGraph says of the states, both [runs, n, actions].
func (p *program) predict(trained, fixed, states *tensors.Tensor) ([][]float32, error) {
	return p.call(p.predictions, trained, fixed, states)
}

// call returns what a program computes of parameters and states.
func (p *program) call(exec *graph.Exec, trained, fixed, states *tensors.Tensor) ([][]float32, error) {
	figures, err := training.Call("neural", "a prediction", exec, trained, fixed, states)
	if err != nil {
		return nil, err
	}
	defer training.Finalize(figures...)
	out := make([][]float32, len(figures))
	for i, t := range figures {
		if out[i], err = tensors.CopyFlatData[float32](t); err != nil {
			return nil, fmt.Errorf("neural: reading a prediction: %w", err)
		}
	}
	return out, nil
}

// row returns the vector as a matrix of one row.
func row(vector []float32) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(vector, 1, len(vector))
}

// Evaluate computes a graph of the model's weights, with one run, and inputs. It compiles the graph each time.
func (f *Fitted) Evaluate(build func(w *Weights, inputs []*graph.Node) []*graph.Node,
	inputs ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	p, release, err := f.learner.inference(f)
	if err != nil {
		return nil, err
	}
	defer release()
	var exec *graph.Exec
	err = training.Guard("neural", "building a graph", func() {
		exec = graph.MustNewExec(p.shape.on, func(nodes []*graph.Node) []*graph.Node {
			w, _ := p.weights(nodes[0], nodes[1])
			return build(w, nodes[2:])
		})
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	trained, fixed, err := f.weights(p.shape.on)
	if err != nil {
		return nil, err
	}
	args := []any{trained, fixed}
	for _, t := range inputs {
		args = append(args, t)
	}
	return training.Call("neural", "evaluating a graph", exec, args...)
}

// inference returns a program of the model's shape, which others may be using for predictions too.
func (l *Learner) inference(f *Fitted) (*program, func(), error) {
	on, release, err := backend.Client(l.config.Backend)
	if err != nil {
		return nil, nil, err
	}
	e := &encoder{l.config, f.spec.Observation, f.spec.Actions, f.spec.Image}
	p, err := l.acquire(e, f.layout, shape{on: on, beta: f.spec.Beta, image: f.spec.Image})
	if err != nil {
		release()
		return nil, nil, err
	}
	return p, func() { l.programs.Release(p.shape, p); release() }, nil
}

// Save writes the model to a folder, which is made if need be. The description comes last: it makes the folder a model.
func (f *Fitted) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("neural: the folder of the model: %w", err)
	}
	objective, err := json.Marshal(f.learner.objective)
	if err != nil {
		return fmt.Errorf("neural: the objective of %s cannot be stored: %w", f.learner.name, err)
	}
	config := f.learner.config
	config.Backend = "" // a model says nothing about machines
	d := description{Format: modelFormat, Method: f.learner.name, Spec: f.spec, Config: &config, Objective: objective,
		Scale: f.scale, Parameters: f.Parameters(), Calibration: f.calibration, Seconds: f.seconds, Curve: f.curve}
	arrays := map[string]npz.Array{}
	for _, p := range d.Parameters {
		arrays[arrayName(p.Name)] = npz.Array{Shape: p.Dims, Data: npz.Widen(p.Value), Type: npz.Float32}
	}
	if err := npz.Write(filepath.Join(dir, weightsFile), arrays); err != nil {
		return fmt.Errorf("neural: %w", err)
	}
	return writeDescription(dir, &d, weightsFile)
}
