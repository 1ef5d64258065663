package neural

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/training"
)

// Adam's usual constants.
const (
	adamBeta1, adamBeta2 = 0.9, 0.999
	adamEpsilon          = 1e-8
)

// defaultUnroll is the most steps that one execution takes.
const defaultUnroll = 4

// termGradient is the name of the term that every objective has: the norm of the gradient.
const termGradient = "gradient_norm"

// shape is what programs are compiled for, beside the sizes of the arrays that they are given.
type shape struct {
	on         compute.Backend
	layout     string // its signature
	beta       float64
	aux, noise bool
	successors bool // further ones
	image      Image
}

// program are the compiled graphs of a learner for one shape.
type program struct {
	encoder   *encoder
	objective Objective
	layout    *layout
	shape     shape

	step        *graph.Exec // see buildStep
	outputs     *graph.Exec // see buildOutputs
	predictions *graph.Exec // see buildPredictions

	terms []string // names of the terms, known once the step is built; a program has one user at a time
}

// weights returns the parameters as nodes.
func (p *program) weights(trained, fixed *graph.Node) (*Weights, []*graph.Node) {
	parts := p.layout.nodes(trained, fixed)
	w := &Weights{Runs: trained.Shape().Dim(0), Actions: p.encoder.actions, Image: p.shape.image, Beta: p.shape.beta,
		encoder: p.encoder, nodes: map[string]*graph.Node{}}
	for i, s := range p.layout.slots {
		w.nodes[s.Name] = parts[i]
	}
	return w, parts
}

// unroll returns the most steps that one execution takes.
func (p *program) unroll() int {
	if p.shape.image != (Image{}) {
		return 1 // a step of images takes long, and so does its compilation
	}
	if o, ok := p.objective.(Unrolled); ok {
		return o.Unroll()
	}
	return defaultUnroll
}

// Free gives back what the program holds of the device.
func (p *program) Free() error {
	return training.Guard("neural", "freeing a program", func() {
		p.step.Finalize()
		p.outputs.Finalize()
		p.predictions.Finalize()
	})
}

// build makes the executors. Graphs are compiled when they are called first.
func (p *program) build() error {
	return training.Guard("neural", "building the training step", func() {
		p.step = graph.MustNewExec(p.shape.on, p.buildStep).SetMaxCache(-1)
		p.outputs = graph.MustNewExec(p.shape.on, p.buildOutputs).SetMaxCache(-1)
		p.predictions = graph.MustNewExec(p.shape.on, p.buildPredictions).SetMaxCache(-1)
	})
}

// buildStep takes as many steps of Adam as the batches hold.
//
//	inputs   trained, first and second moments [runs, P], fixed [runs, F], decay [P], rates [steps, 3], and the batches
//	outputs  trained, moments, and the terms [steps, runs, terms]: the total first
//
// The rates of a step are its learning rate, and the factors that correct the bias of the moments.
func (p *program) buildStep(inputs []*graph.Node) []*graph.Node {
	trained, first, second, fixed, decay, rates := inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5]
	var figures []*graph.Node
	for k := range rates.Shape().Dim(0) {
		rate := func(i int) *graph.Node {
			return graph.Reshape(graph.Slice(rates, graph.AxisElem(k), graph.AxisElem(i)), 1, 1)
		}
		b := unpackBatch(inputs[6:], k, p.encoder.actions, p.shape)
		w, parts := p.weights(trained, fixed)
		loss := p.objective.Loss(w, b)
		gradient := p.gradient(loss, parts)
		norm := graph.Sqrt(graph.ReduceSum(graph.Square(gradient), 1))
		terms := append([]Term{{"loss", loss.Total}}, append(loss.Terms, Term{termGradient, norm})...)
		values := make([]*graph.Node, len(terms))
		p.terms = p.terms[:0]
		for i, t := range terms {
			values[i] = graph.ExpandAxes(t.Value, 0, -1)
			p.terms = append(p.terms, t.Name)
		}
		figures = append(figures, graph.Concatenate(values, -1))

		first = graph.Add(graph.MulScalar(first, adamBeta1), graph.MulScalar(gradient, 1-adamBeta1))
		second = graph.Add(graph.MulScalar(second, adamBeta2), graph.MulScalar(graph.Square(gradient), 1-adamBeta2))
		direction := graph.Div(graph.Mul(first, rate(1)), graph.AddScalar(graph.Sqrt(graph.Mul(second, rate(2))),
			adamEpsilon))
		direction = graph.Add(direction, graph.Mul(graph.ExpandAxes(decay, 0), trained))
		trained = graph.Sub(trained, graph.Mul(rate(0), direction))
	}
	return []*graph.Node{trained, first, second, graph.Concatenate(figures, 0)}
}

// gradient returns the gradient of the loss in the trained parameters [runs, P]. No run's loss depends on another's
// parameters, so the gradient of the sum has each run's own.
func (p *program) gradient(loss Loss, parts []*graph.Node) *graph.Node {
	from := loss.Total
	if loss.Surrogate != nil {
		from = loss.Surrogate
	}
	var wrt []*graph.Node
	for i, s := range p.layout.slots {
		if !s.Fixed {
			wrt = append(wrt, parts[i])
		}
	}
	runs := from.Shape().Dim(0)
	gradients := graph.Gradient(graph.ReduceAllSum(from), wrt...)
	for i, g := range gradients {
		gradients[i] = graph.Reshape(g, runs, g.Shape().Size()/runs)
	}
	return graph.Concatenate(gradients, 1)
}

// buildOutputs returns the outputs [runs, n, actions, outputs] of the first of the objective's networks for trained
// [runs, P], fixed [runs, F] and states [runs, n, observation] in units of their scales.
func (p *program) buildOutputs(inputs []*graph.Node) []*graph.Node {
	w, _ := p.weights(inputs[0], inputs[1])
	return []*graph.Node{w.Network(p.objective.Networks()[0].Name, inputs[2])}
}

// buildPredictions returns what an objective that is InGraph says of the outputs of buildOutputs.
func (p *program) buildPredictions(inputs []*graph.Node) []*graph.Node {
	w, _ := p.weights(inputs[0], inputs[1])
	objective := p.objective.(InGraph)
	logProbs, values := objective.Predictions(w, w.Network(objective.Networks()[0].Name, inputs[2]))
	return []*graph.Node{logProbs, values}
}

// predictors returns the objective's for the parameters of each run.
func (p *program) predictors(v *vectors) ([]Predictor, error) {
	trained, err := tensors.CopyFlatData[float32](v.trained)
	if err != nil {
		return nil, fmt.Errorf("neural: reading the parameters: %w", err)
	}
	fixed, err := tensors.CopyFlatData[float32](v.fixed)
	if err != nil {
		return nil, fmt.Errorf("neural: reading the parameters: %w", err)
	}
	out := make([]Predictor, v.trained.Shape().Dim(0))
	for r := range out {
		of := func(x []float32) []float32 { return x[r*len(x)/len(out):][:len(x)/len(out)] }
		out[r] = p.objective.Predictor(Constants{Actions: p.encoder.actions, Beta: p.shape.beta,
			Parameter: func(name string) []float32 { return p.layout.find(name, of(trained), of(fixed)) }})
	}
	return out, nil
}

// rates returns the rates of the steps from, …, from+count−1 (see buildStep).
func (c Config) rates(from, count int) *tensors.Tensor {
	out := make([]float32, 0, 3*count)
	for step := from; step < from+count; step++ {
		t := float64(step + 1)
		out = append(out, float32(c.learningRate(step)), float32(1/(1-math.Pow(adamBeta1, t))),
			float32(1/(1-math.Pow(adamBeta2, t))))
	}
	return tensors.FromFlatDataAndDimensions(out, count, 3)
}
