package neural

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
)

// Image is the shape of observations that are stacks of pictures of one channel, in bytes; all zeros for observations
// of any other kind.
type Image struct {
	Frames int `json:"frames"` // the last one is the present
	Height int `json:"height"`
	Width  int `json:"width"`
}

// Size returns how many numbers an observation has.
func (m Image) Size() int { return m.Frames * m.Height * m.Width }

// ImageOf returns the shape of a set's observations if they are held as pictures.
func ImageOf(s *demo.Set) Image {
	if shape := s.ObservationShape; len(shape) == 3 && len(s.Trajectories) > 0 && s.Trajectories[0].Frames != nil {
		return Image{shape[0], shape[1], shape[2]}
	}
	return Image{}
}

// Convolution is a layer of an image encoder: Filters squares of Size × Size, a multiple of Stride, by which they move.
type Convolution struct{ Filters, Size, Stride int }

// The image encoder of Mnih et al. (2015), "NatureCNN".
var natureConvolutions = []Convolution{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}}

const natureFeatures = 512

// convolutions returns the layers of the image encoder.
func (c Config) convolutions() []Convolution {
	if c.Convolutions == nil {
		return natureConvolutions
	}
	return c.Convolutions
}

// features returns how many numbers the image encoder makes of an image.
func (c Config) features() int { return cmp.Or(c.Features, natureFeatures) }

// outputs returns the height and width of what the layer makes of pictures.
func (v Convolution) outputs(height, width int) (int, int) {
	return (height-v.Size)/v.Stride + 1, (width-v.Size)/v.Stride + 1
}

// direct tells whether the layer is the backend's convolution (see convolve), given whether pictures are given to it.
func (v Convolution) direct(given bool) bool { return given || v.Size%2 == 1 }

// check refuses images that are smaller than the filters.
func (m Image) check(layers []Convolution) error {
	if m == (Image{}) {
		return nil
	}
	if min(m.Frames, m.Height, m.Width) < 1 {
		return fmt.Errorf("neural: images of %d frames of %d × %d, want at least 1 each", m.Frames, m.Height, m.Width)
	}
	height, width := m.Height, m.Width
	for i, v := range layers {
		if min(height, width) < v.Size {
			return fmt.Errorf("neural: Convolutions[%d] has filters of %d × %d, and pictures of %d × %d come to it: "+
				"images of %d × %d are too small for it; give the config smaller Convolutions", i, v.Size, v.Size,
				height, width, m.Height, m.Width)
		}
		height, width = v.outputs(height, width)
	}
	return nil
}

// The parameters of an image encoder within a network; those of layer i of the convolutions end with its number.
const (
	partFilters      = "convolution"      // [size, size, channels, filters]
	partFiltersBias  = "bias.convolution" // [filters]
	partFeatures     = "features"         // [height·width·channels, features]
	partFeaturesBias = "bias.features"    // [features]
)

// image returns the features [runs, n, features] of states [runs, n, frames·height·width], bytes:
// y = ReLU(W * x + b) for each convolution of x = state/255, and then of all numbers at once.
func (w *Weights) image(name string, states *graph.Node) *graph.Node {
	m, runs, n := w.Image, w.Runs, states.Shape().Dim(1)
	bias := func(x *graph.Node, part string) *graph.Node {
		b := w.Parameter(name + "." + part) // [runs, filters]
		return relu(graph.Add(x, graph.InsertAxes(b, slices.Repeat([]int{1}, x.Rank()-2)...)))
	}
	x := graph.Reshape(states, runs, n, m.Frames, m.Height, m.Width)
	x = graph.ConvertDType(graph.TransposeAllAxes(x, 0, 1, 3, 4, 2), dtypes.Float32)
	x = graph.MulScalar(x, 1./math.MaxUint8)
	for i, layer := range w.encoder.convolutions() {
		filters := w.Parameter(fmt.Sprintf("%s.%s%d", name, partFilters, i))
		x = bias(convolve(x, filters, layer, i == 0), fmt.Sprintf("%s%d", partFiltersBias, i))
	}
	x = graph.Reshape(x, runs, n, x.Shape().Size()/(runs*n))
	return bias(matMul(x, w.Parameter(name+"."+partFeatures)), partFeaturesBias)
}

// convolve returns the pictures [runs, n, height', width', filters] that filters [runs, size, size, channels, filters]
// make of x [runs, n, height, width, channels].
//
// It is the backend's convolution where x is given, so that nobody asks for a gradient in it, or the filters' size is
// odd: GoMLX's gradient in x (v0.28.2) is off by one for even sizes. Otherwise it is a product of the filters with all
// patches, with which, in the place of all convolutions, a step took 1.5 times as long.
func convolve(x, filters *graph.Node, layer Convolution, given bool) *graph.Node {
	dims := x.Shape().Dimensions
	runs, n, channels := dims[0], dims[1], dims[4]
	height, width := layer.outputs(dims[2], dims[3])
	used := func(outputs int) graph.SliceAxisSpec { return graph.AxisRange(0, (outputs-1)*layer.Stride+layer.Size) }
	x = graph.Slice(x, graph.AxisRange(), graph.AxisRange(), used(height), used(width))
	if layer.direct(given) {
		out := make([]*graph.Node, runs)
		for r := range out {
			of := func(x *graph.Node) *graph.Node { return graph.Squeeze(graph.SliceAxis(x, 0, graph.AxisElem(r)), 0) }
			y := graph.Convolve(of(x), of(filters)).Strides(layer.Stride).NoPadding().Done()
			out[r] = graph.ExpandAxes(y, 0)
		}
		return graph.Concatenate(out, 0)
	}
	// in blocks of stride × stride, of which patches are squares
	s, blocks := layer.Stride, layer.Size/layer.Stride
	rows, columns := height-1+blocks, width-1+blocks
	x = graph.Reshape(x, runs*n, rows, s, columns, s, channels)
	x = graph.Reshape(graph.TransposeAllAxes(x, 0, 1, 3, 2, 4, 5), runs*n, rows, columns, s*s*channels)
	var patches []*graph.Node
	for i := range blocks {
		for j := range blocks {
			patches = append(patches, graph.Slice(x, graph.AxisRange(), graph.AxisRange(i, i+height),
				graph.AxisRange(j, j+width)))
		}
	}
	x = graph.Reshape(graph.Concatenate(patches, -1), runs, n*height*width, layer.Size*layer.Size*channels)
	f := graph.Reshape(filters, runs, blocks, s, blocks, s, channels, layer.Filters)
	f = graph.Reshape(graph.TransposeAllAxes(f, 0, 1, 3, 2, 4, 5, 6), runs, layer.Size*layer.Size*channels,
		layer.Filters)
	return graph.Reshape(matMul(x, f), runs, n, height, width, layer.Filters)
}

// relu returns max(x, 0).
func relu(x *graph.Node) *graph.Node { return graph.Max(x, graph.ZerosLike(x)) }

// states gathers states for a graph: numbers in units of a scale, or the bytes of images.
type states struct {
	numbers []float32
	bytes   []uint8
}

// add adds the state of transition i of the data, or with ahead 1 the one that it led to.
func (s *states) add(d *Data, i, ahead int) {
	size := d.size()
	switch {
	case d.Image != (Image{}):
		s.bytes = append(s.bytes, make([]uint8, size)...)
		d.Pixels(s.bytes[len(s.bytes)-size:], i, ahead)
	case ahead == 0:
		s.numbers = append(s.numbers, d.State[i*size:(i+1)*size]...)
	default:
		s.numbers = append(s.numbers, d.Next[i*size:(i+1)*size]...)
	}
}

// tensor returns the states as an array.
func (s *states) tensor(dims ...int) *tensors.Tensor {
	if s.bytes != nil {
		return tensors.FromFlatDataAndDimensions(s.bytes, dims...)
	}
	return tensors.FromFlatDataAndDimensions(s.numbers, dims...)
}

// unscaled returns the states [1, block, size] of observations in the environment's units, with zeros after the last
// one. The numbers of images have to be bytes.
func unscaled(m Image, scale *Scale, observations []float32, block int) (*tensors.Tensor, error) {
	if m == (Image{}) {
		size := len(scale.Mean)
		padded := make([]float32, block*size)
		copy(padded, scale.Apply(observations))
		return tensors.FromFlatDataAndDimensions(padded, 1, block, size), nil
	}
	padded := make([]uint8, block*m.Size())
	for i, x := range observations {
		padded[i] = uint8(x)
		if float32(padded[i]) != x {
			return nil, fmt.Errorf("neural: an observation's number %d is %g, want a pixel, a whole number from 0 to "+
				"255", i%m.Size(), x)
		}
	}
	return tensors.FromFlatDataAndDimensions(padded, 1, block, m.Size()), nil
}
