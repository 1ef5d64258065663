package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
)

// Architecture names how a network tells actions apart.
type Architecture string

const (
	// Heads is a trunk that sees the state, with one head per action.
	Heads Architecture = "heads"
	// Pairs sees the state ⊕ the one-hot action, and is evaluated once for every action.
	Pairs Architecture = "pairs"
)

// Network is a multi-layer perceptron of an objective, of the learner's architecture and size.
type Network struct {
	Name    string
	Outputs int // numbers for each state-action pair
	// Bias [Outputs], if not nil, are the output biases that training starts from; otherwise they are drawn as all
	// others.
	Bias []float32
}

// encoder is the architecture that all networks of a learner share.
type encoder struct {
	Config
	observation, actions int
	image                Image // what observations are; zeros if they are vectors of numbers
}

// weight is an array of a network whose numbers are drawn uniformly in ±limit.
type weight struct {
	name  string
	limit float64
	dims  []int
}

// size returns how many numbers the array has.
func (w weight) size() int {
	size := 1
	for _, d := range w.dims {
		size *= d
	}
	return size
}

// parameters draws a network's weights for one run.
func (e *encoder) parameters(n Network, random *rand.Rand) []Parameter {
	var out []Parameter
	for _, w := range e.weights(n) {
		value := make([]float32, w.size())
		for i := range value {
			value[i] = float32(w.limit * (2*random.Float64() - 1))
		}
		out = append(out, Parameter{Name: n.Name + "." + w.name, Dims: w.dims, Value: value,
			NoDecay: strings.HasPrefix(w.name, "bias")})
	}
	if n.Bias != nil {
		bias := out[len(out)-1].Value
		for i := range bias {
			bias[i] = n.Bias[i%n.Outputs]
		}
	}
	return out
}

// weights lists a network's weights for one run, as PyTorch's linear layers begin: uniform in ±1/√(inputs). Those that
// see images are uniform in ±√(6/inputs) (He et al. 2015), which keeps the size of what little differs between two of
// them. The output biases come last.
//
// With Pairs the first layer's weights are in two parts, "state" and "action", because the first serves all actions.
func (e *encoder) weights(n Network) []weight {
	var out []weight
	add := func(name string, inputs int, dims ...int) {
		out = append(out, weight{name, 1 / math.Sqrt(float64(inputs)), dims})
	}
	filters := func(name string, inputs int, dims ...int) {
		out = append(out, weight{name, math.Sqrt(6 / float64(inputs)), dims})
	}
	inputs := e.observation
	if e.image != (Image{}) {
		channels, height, width := e.image.Frames, e.image.Height, e.image.Width
		for i, v := range e.convolutions() {
			fan := v.Size * v.Size * channels
			filters(fmt.Sprintf("%s%d", partFilters, i), fan, v.Size, v.Size, channels, v.Filters)
			add(fmt.Sprintf("%s%d", partFiltersBias, i), fan, v.Filters)
			channels = v.Filters
			height, width = v.outputs(height, width)
		}
		inputs = height * width * channels
		filters(partFeatures, inputs, inputs, e.features())
		add(partFeaturesBias, inputs, e.features())
		inputs = e.features()
	}
	for i, units := range e.Hidden {
		fan := inputs
		if i == 0 && e.Architecture == Pairs {
			fan += e.actions
			add("action", fan, e.actions, units)
		}
		add(fmt.Sprintf("weight%d", i), fan, inputs, units)
		add(fmt.Sprintf("bias%d", i), fan, units)
		inputs = units
	}
	outputs := n.Outputs
	if e.Architecture == Heads {
		outputs *= e.actions
	}
	add("weight", inputs, inputs, outputs)
	add("bias", inputs, outputs)
	return out
}

// Weights are the networks and parameters of all runs within a graph.
type Weights struct {
	Runs, Actions int
	Image         Image   // the shape of states that are images; zeros for others
	Beta          float64 // the demonstrator's rationality coefficient

	encoder *encoder
	nodes   map[string]*graph.Node // [runs, dims…]
}

// Parameter returns the array of the given name [runs, dims…].
func (w *Weights) Parameter(name string) *graph.Node {
	n, ok := w.nodes[name]
	if !ok {
		panic(fmt.Errorf("neural: the objective asks for the parameter %q, which it does not list", name))
	}
	return n
}

// Network returns the outputs [runs, n, actions, outputs] of a network for all actions at states [runs, n,
// observation], in units of the run's scale, where features saturate at Config.Range, or in the bytes of images.
func (w *Weights) Network(name string, states *graph.Node) *graph.Node {
	e, n := w.encoder, states.Shape().Dim(1)
	x := states
	if e.image != (Image{}) {
		x = w.image(name, states)
	} else if e.Range > 0 {
		x = graph.MulScalar(graph.Tanh(graph.MulScalar(x, 1/e.Range)), e.Range)
	}
	for i, units := range e.Hidden {
		layer := func(part string) *graph.Node { return w.Parameter(fmt.Sprintf("%s.%s%d", name, part, i)) }
		x = graph.Add(matMul(x, layer("weight")), graph.ExpandAxes(layer("bias"), 1)) // [runs, rows, units]
		if i == 0 && e.Architecture == Pairs {
			// [runs, n, actions, units]
			x = graph.Add(graph.ExpandAxes(x, 2), graph.ExpandAxes(w.Parameter(name+".action"), 1))
			x = graph.Reshape(x, w.Runs, n*e.actions, units)
		}
		x = elu(x)
	}
	x = graph.Add(matMul(x, w.Parameter(name+".weight")), graph.ExpandAxes(w.Parameter(name+".bias"), 1))
	return graph.Reshape(x, w.Runs, n, e.actions, x.Shape().Size()/(w.Runs*n*e.actions))
}

// matMul returns the products [runs, n, m] of x [runs, n, k] and y [runs, k, m].
func matMul(x, y *graph.Node) *graph.Node { return graph.Einsum("rnk,rkm->rnm", x, y) }

// elu is the exponential linear unit: x for x > 0, eˣ − 1 otherwise.
func elu(x *graph.Node) *graph.Node {
	zero := graph.ZerosLike(x)
	return graph.Add(graph.Max(x, zero), graph.AddScalar(graph.Exp(graph.Min(x, zero)), -1))
}
