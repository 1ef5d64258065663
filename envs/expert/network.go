package expert

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/go-birl/birl/envs/npz"
)

// layer is a dense layer, y = x·weights + biases.
type layer struct {
	in, out int
	weights []float32 // [in, out]
	biases  []float32 // [out]
}

// network is a perceptron from an observation to the quantiles of each action, [actions, quantiles].
type network []layer

// features returns what the network is given for observations: each number, less its Center and divided by its Scale,
// and beside it, where Magnify asks for it, the number magnified.
func (c Config) features(observations []float32) []float32 {
	if n := len(c.Scale); n > 0 {
		scaled := make([]float32, len(observations))
		for i, x := range observations {
			scaled[i] = float32((float64(x) - c.Center[i%n]) / c.Scale[i%n])
		}
		observations = scaled
	}
	if c.Magnify == 0 {
		return observations
	}
	out := make([]float32, 0, 2*len(observations))
	scale := math.Asinh(c.Magnify)
	for _, x := range observations {
		out = append(out, x, float32(math.Asinh(c.Magnify*float64(x))/scale))
	}
	return out
}

// widths returns the sizes of what the layers pass on, from the features of an observation to the quantiles.
func (c Config) widths(observation, actions int) []int {
	if c.Magnify > 0 {
		observation *= 2
	}
	return append(append([]int{observation}, c.Hidden...), actions*c.Quantiles)
}

// newNetwork draws first weights of variance 2/in (He et al. 2015), a hundredth of that for the quantiles, so that no
// action is preferred.
func newNetwork(widths []int, seed uint64) network {
	r := rand.New(rand.NewPCG(seed, streamWeights))
	n := make(network, len(widths)-1)
	for i := range n {
		l := layer{in: widths[i], out: widths[i+1], biases: make([]float32, widths[i+1])}
		std := math.Sqrt(2 / float64(l.in))
		if i == len(n)-1 {
			std /= 10
		}
		l.weights = make([]float32, l.in*l.out)
		for k := range l.weights {
			l.weights[k] = float32(std * r.NormFloat64())
		}
		n[i] = l
	}
	return n
}

// forward returns the outputs [k, out] for inputs [k, in], with hidden layers as Config.Norm says.
func (n network) forward(x []float32, norm bool) []float32 {
	k := len(x) / n[0].in
	for i, l := range n {
		y := make([]float32, 0, k*l.out)
		for range k {
			y = append(y, l.biases...)
		}
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, general(k, l.in, x), general(l.in, l.out, l.weights), 1,
			general(k, l.out, y))
		switch {
		case i == len(n)-1:
		case norm:
			for row := range slices.Chunk(y, l.out) {
				normalise(row)
			}
		default:
			for j, v := range y {
				y[j] = max(v, 0)
			}
		}
		x = y
	}
	return x
}

// normEpsilon keeps the variance that layer normalisation divides by from 0.
const normEpsilon = 1e-5

// normalise replaces a layer's sums x by elu((x − mean x)/√(var x + ε)).
func normalise(x []float32) {
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		square += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	for i, v := range x {
		z := (float64(v) - mean) / math.Sqrt(square+normEpsilon)
		if z < 0 {
			z = math.Expm1(z)
		}
		x[i] = float32(z)
	}
}

func general(rows, cols int, data []float32) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

// nodes are a network's arrays in a graph, weights and biases of each layer in turn.
type nodes []*Node

// forward returns the quantiles [batch, actions, quantiles] for observations [batch, in].
func (n nodes) forward(x *Node, actions int, norm bool) *Node {
	for i := 0; i < len(n); i += 2 {
		x = Add(MatMul(x, n[i]), ExpandAxes(n[i+1], 0))
		switch {
		case i+2 == len(n):
		case norm:
			x = Sub(x, ReduceAndKeep(x, ReduceMean, -1))
			x = Div(x, Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceMean, -1), normEpsilon)))
			x = Where(GreaterThan(x, ZerosLike(x)), x, AddScalar(Exp(Min(x, ZerosLike(x))), -1))
		default:
			x = Max(x, ZerosLike(x))
		}
	}
	return Reshape(x, x.Shape().Dim(0), actions, -1)
}

// arrayName is the name of array k of nodes.
func arrayName(k int) string {
	return fmt.Sprintf("%s_%d", [2]string{"weights", "biases"}[k%2], k/2)
}

// networkOf takes a network from its arrays.
func networkOf(widths []int, get func(name string) (*npz.Array, error)) (network, error) {
	n := make(network, len(widths)-1)
	for i := range n {
		l := layer{in: widths[i], out: widths[i+1]}
		for k, shape := range [][]int{{l.in, l.out}, {l.out}} {
			name := arrayName(2*i + k)
			a, err := get(name)
			if err != nil {
				return nil, err
			}
			if !slices.Equal(a.Shape, shape) {
				return nil, fmt.Errorf("array %q has the shape %v, want %v", name, a.Shape, shape)
			}
			if err := a.CheckFinite("array " + name); err != nil {
				return nil, err
			}
			if k == 0 {
				l.weights = npz.Narrow[float32](a.Data)
			} else {
				l.biases = npz.Narrow[float32](a.Data)
			}
		}
		n[i] = l
	}
	return n, nil
}

// arrays returns the network's arrays.
func (n network) arrays() map[string]npz.Array {
	out := map[string]npz.Array{}
	for i, l := range n {
		out[arrayName(2*i)] = npz.Array{Shape: []int{l.in, l.out}, Data: npz.Widen(l.weights), Type: npz.Float32}
		out[arrayName(2*i+1)] = npz.Array{Shape: []int{l.out}, Data: npz.Widen(l.biases), Type: npz.Float32}
	}
	return out
}
