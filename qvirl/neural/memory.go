package neural

import (
	"runtime"

	"github.com/go-birl/birl/envs/demo"
)

// Sized is an objective that tells how many numbers of float32 a run's step holds beside its networks and their
// activations, for n transitions of m successors each.
type Sized interface {
	Numbers(n, m, actions int) float64
}

// What a step holds of each number, in float32: a weight with its moments, gradient and the copies of a backend, and an
// activation with its gradient. Measured on both backends, with many actions and with wide layers; a fifth above what
// was measured.
const (
	perWeight     = 32
	perActivation = 14
	baseMemory    = 300e6 // of the program and its compiler
)

// MemoryNeed estimates how many bytes training takes for a task with runs, before it takes any.
func (l *Learner) MemoryNeed(t *Task) float64 {
	c := l.config
	n, m := c.Batch, t.successors()
	if t.Explore != nil || len(t.Runs[0].Aux) > 0 {
		n += c.AuxBatch
	}
	weights, activations := l.sizes(t.Observation, t.Actions, t.Image)
	states := float64(n * (2 + m)) // as perActivation was measured: now, the successors, and one more
	numbers := perWeight*weights + perActivation*states*activations
	if o, ok := l.objective.(Sized); ok {
		numbers += o.Numbers(n, m, t.Actions)
	}
	folds := max(1, c.Folds)
	bytes := baseMemory + 4*numbers*float64(min(len(t.Runs)*folds, groupSize*runtime.GOMAXPROCS(0)))
	for _, r := range t.Runs {
		for _, demos := range [][]demo.Trajectory{r.Demos, r.Aux} {
			for i := range demos {
				bytes += 4 * float64((2+m)*len(demos[i].Observations)*folds)
				if f := demos[i].Frames; f != nil {
					bytes += float64(len(f.Pixels)) // once, for all
				}
			}
		}
	}
	return bytes
}

// sizes returns the number of weights of the objective's networks for a run, and that of the activations for a state.
func (l *Learner) sizes(observation, actions int, image Image) (weights, activations float64) {
	e := &encoder{l.config, observation, actions, image}
	for _, network := range l.objective.Networks() {
		for _, w := range e.weights(network) {
			weights += float64(w.size())
		}
		if image != (Image{}) {
			channels, height, width := image.Frames, image.Height, image.Width
			activations += float64(image.Size())
			for i, v := range l.config.convolutions() {
				height, width = v.outputs(height, width)
				activations += float64(height * width * v.Filters)
				if !v.direct(i == 0) {
					activations += float64(height * width * v.Size * v.Size * channels)
				}
				channels = v.Filters
			}
			activations += float64(l.config.features())
		}
		// with either architecture, each action has outputs of its own; with Pairs, hidden units too
		activations += float64(actions) * float64(network.Outputs)
		times := 1.0
		if l.config.Architecture == Pairs {
			times = float64(actions)
		}
		for _, units := range l.config.Hidden {
			activations += times * float64(units)
		}
	}
	return weights, activations
}
