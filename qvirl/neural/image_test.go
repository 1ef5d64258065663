package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
)

// smallImage and smallEncoder have what NatureCNN has, in small: filters of an even size with a stride and more than
// one block, first and later ones, and of an odd size; and borders that no filter reaches.
var smallImage = Image{Frames: 2, Height: 25, Width: 24}

func smallEncoder() Config {
	c := testConfig()
	c.Convolutions, c.Features = []Convolution{{3, 4, 2}, {4, 4, 2}, {5, 3, 1}}, 7
	return c
}

// pictures is a trajectory of n transitions between noise, in which the brighter half, left or right, says the action.
func pictures(n int, m Image, random *rand.Rand) demo.Trajectory {
	size := m.Height * m.Width
	t := demo.Trajectory{Terminated: true, Frames: &demo.Frames{Size: size, Stack: m.Frames,
		Pixels: make([]uint8, (n+1)*size)}}
	for i := range n + 1 {
		side := random.IntN(2)
		for k := range size {
			light := 100
			if k%m.Width*2/m.Width != side {
				light = 0
			}
			t.Frames.Pixels[i*size+k] = uint8(light + random.IntN(100))
		}
		if i < n {
			t.Actions = append(t.Actions, side)
		}
	}
	return t
}

func imageTask(m Image, runs int) *Task {
	random := rand.New(rand.NewPCG(3, 4))
	t := &Task{Environment: "sides", Observation: m.Size(), Image: m, Actions: 2, Discount: 0.9, Beta: 1,
		HeldOut: []demo.Trajectory{pictures(150, m, random)}}
	for r := range runs {
		t.Runs = append(t.Runs, Run{Demos: []demo.Trajectory{pictures(40, m, random)}, Seed: uint64(r)})
	}
	return t
}

// plainEncoder computes a network of one hidden layer on an image in double precision, by the definition of a
// convolution: y[i, j, f] = Σ_abc w[a, b, c, f] x[i·stride + a, j·stride + b, c].
func plainEncoder(p map[string][]float64, c Config, m Image, pixels []uint8) []float64 {
	get := func(name string) []float64 { return slices.Clone(p["logits."+name]) }
	height, width, channels := m.Height, m.Width, m.Frames
	x := make([]float64, len(pixels)) // [height, width, channels]
	for f := range channels {
		for k := range height * width {
			x[k*channels+f] = float64(pixels[f*height*width+k]) / 255
		}
	}
	for l, v := range c.Convolutions {
		w, b := get(fmt.Sprintf("convolution%d", l)), get(fmt.Sprintf("bias.convolution%d", l))
		rows, columns := (height-v.Size)/v.Stride+1, (width-v.Size)/v.Stride+1
		y := make([]float64, 0, rows*columns*v.Filters)
		for i := range rows {
			for j := range columns {
				for f := range v.Filters {
					sum := b[f]
					for a := range v.Size {
						for e := range v.Size {
							for ch := range channels {
								sum += w[((a*v.Size+e)*channels+ch)*v.Filters+f] *
									x[((i*v.Stride+a)*width+j*v.Stride+e)*channels+ch]
							}
						}
					}
					y = append(y, math.Max(sum, 0))
				}
			}
		}
		x, height, width, channels = y, rows, columns, v.Filters
	}
	layer := func(weight, bias string, activation func(float64) float64) {
		w, y := get(weight), get(bias)
		for i, v := range x {
			for k := range y {
				y[k] += v * w[i*len(y)+k]
			}
		}
		for k := range y {
			y[k] = activation(y[k])
		}
		x = y
	}
	layer("features", "bias.features", func(x float64) float64 { return math.Max(x, 0) })
	for i := range c.Hidden {
		layer(fmt.Sprintf("weight%d", i), fmt.Sprintf("bias%d", i), func(x float64) float64 {
			if x < 0 {
				return math.Expm1(x)
			}
			return x
		})
	}
	layer("weight", "bias", func(x float64) float64 { return x })
	return x
}

// TestImageEncoderIsThatOfPlainGo, and so is its gradient in every array of weights, by central differences.
func TestImageEncoderIsThatOfPlainGo(t *testing.T) {
	c, m := smallEncoder(), smallImage
	c.Steps = 1
	for _, on := range []string{"go", ""} { // and the best there is
		c.Backend = on
		model := fit(t, c, classifier{}, imageTask(m, 1))[0]
		task := imageTask(m, 1)
		const n = 3
		pixels := make([]uint8, n*m.Size())
		for i := range n {
			task.HeldOut[0].Frames.Observation(pixels[i*m.Size():(i+1)*m.Size()], 10*i)
		}
		weights := []float64{1, -2, 0.5, 3, -1, 0.25} // of the outputs [n, actions]
		parameters := map[string][]float64{}
		var names []string
		for _, p := range model.Parameters() {
			for _, x := range p.Value {
				parameters[p.Name] = append(parameters[p.Name], float64(x))
			}
			if strings.HasPrefix(p.Name, "logits.") {
				names = append(names, p.Name)
			}
		}
		value := func() float64 {
			sum := 0.0
			for i := range n {
				for a, y := range plainEncoder(parameters, c, m, pixels[i*m.Size():(i+1)*m.Size()]) {
					sum += weights[2*i+a] * y
				}
			}
			return sum
		}
		out, err := model.Evaluate(func(w *Weights, in []*graph.Node) []*graph.Node {
			y := graph.Mul(graph.Reshape(w.Network("logits", in[0]), 2*n), graph.Const(in[0].Graph(),
				[]float32{1, -2, 0.5, 3, -1, 0.25}))
			var wrt []*graph.Node
			for _, name := range names {
				wrt = append(wrt, w.Parameter(name))
			}
			return append([]*graph.Node{graph.ReduceAllSum(y)}, graph.Gradient(graph.ReduceAllSum(y), wrt...)...)
		}, tensors.FromFlatDataAndDimensions(pixels, 1, n, m.Size()))
		if err != nil {
			t.Fatal(err)
		}
		got, want := float64(out[0].Value().(float32)), value()
		if !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) || want == 0 {
			t.Errorf("%q: the outputs sum to %g, in plain Go %g", on, got, want)
		}
		for k, name := range names {
			gradient, err := tensors.CopyFlatData[float32](out[1+k])
			if err != nil {
				t.Fatal(err)
			}
			largest := 0.0
			for _, g := range gradient {
				largest = math.Max(largest, math.Abs(float64(g)))
			}
			if largest == 0 {
				t.Errorf("%q: the gradient in %s is zero", on, name)
			}
			step := max(1, len(gradient)/20)
			for ; len(gradient) > 0; gradient = gradient[min(step, len(gradient)):] {
				values, at := parameters[name], len(parameters[name])-len(gradient)
				const h = 1e-6
				old := values[at]
				values[at] = old + h
				above := value()
				values[at] = old - h
				below := value()
				values[at] = old
				want := (above - below) / (2 * h)
				if !(math.Abs(float64(gradient[0])-want) <= 1e-5*largest) { // in single precision
					t.Errorf("%q: the gradient in %s[%d] is %g, by differences %g", on, name, at, gradient[0], want)
				}
			}
		}
	}
}

// TestRunsLearnFromImagesAsAlone: runs in one program learn what each learns alone, predict held-out actions, and a
// model of them predicts from numbers what it does from bytes.
func TestRunsLearnFromImagesAsAlone(t *testing.T) {
	c := smallEncoder()
	c.Steps, c.ReportEvery, c.Batch, c.LearningRate = 60, 20, 8, 0.003
	task := imageTask(smallImage, 2)
	both := fit(t, c, classifier{}, task)
	alone := *task
	alone.Runs = task.Runs[1:]
	sameCurve(t, "run 1 alone", fit(t, c, classifier{}, &alone)[0].Curve(), both[1].Curve(), 1e-3)
	last := both[0].Curve()[len(both[0].Curve())-1]
	if !(*last.HeldOut > 0.5*math.Log(0.5)) {
		t.Errorf("held-out log-likelihood %g, want more than half that of a coin, %g", *last.HeldOut, math.Log(0.5))
	}
	s, err := Score(both[0], task.HeldOut, nil)
	if err != nil {
		t.Fatal(err)
	}
	// of 150 held-out actions the curve is of the first whole block of 128
	if s.Transitions != 150 || !(math.Abs(s.LogLikelihood-*last.HeldOut) <= 0.1) {
		t.Errorf("scores %+v, the curve ends at %g", s, *last.HeldOut)
	}
	dir := t.TempDir()
	if err := both[0].Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load[classifier](dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Score(loaded, task.HeldOut, nil); err != nil || again.LogLikelihood != s.LogLikelihood {
		t.Errorf("stored and loaded, scores %+v (%v), before %+v", again, err, s)
	}
	if _, err := loaded.Predict(make([]float32, 5)); err == nil {
		t.Error("no error for 5 numbers as an image")
	}
	odd := task.HeldOut[0].Observation(0)
	odd[7] = 0.5
	if _, err := loaded.Predict(odd); err == nil || !strings.Contains(err.Error(), "0.5, want a pixel") {
		t.Errorf("error %v for half a pixel", err)
	}
}

func TestImagesThatCannotBeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Task)
		want   string
	}{
		"another shape": {func(t *Task) {
			t.Image.Height--
			t.Observation = t.Image.Size()
		}, "frames of another shape"},
		"another size": {func(t *Task) { t.Observation++ }, "Image is"},
		"no images":    {func(t *Task) { t.Image = Image{} }, "frames of another shape"},
		"a shorter file": {func(t *Task) {
			t.HeldOut[0].Frames.Pixels = t.HeldOut[0].Frames.Pixels[1:]
		}, "held-out trajectory 0"},
		"too small": {func(t *Task) {
			*t = *imageTask(Image{2, 12, 12}, 1)
		}, "too small"},
	} {
		task := imageTask(smallImage, 1)
		c.change(task)
		l, err := NewLearner("test", smallEncoder(), classifier{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Fit(t.Context(), task, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
	c := smallEncoder()
	c.Convolutions = []Convolution{{3, 5, 2}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "multiple of the Stride") {
		t.Errorf("error %v for filters whose size is no multiple of the stride", err)
	}
}

// TestTrainingGoesOnFromAModelOfImages: with a checkpoint, too; and not from one of images of another shape, though
// they have as many numbers.
func TestTrainingGoesOnFromAModelOfImages(t *testing.T) {
	c := smallEncoder()
	c.Steps, c.ReportEvery = 2, 2
	task := imageTask(smallImage, 1)
	task.HeldOut = nil
	task.Runs[0].From = fit(t, c, classifier{}, task)[0]
	task.Checkpoint = t.TempDir()
	fit(t, c, classifier{}, task)

	other := imageTask(Image{Frames: 4, Height: 25, Width: 12}, 1)
	other.Runs[0].From = task.Runs[0].From
	if err := other.Validate(); err == nil || !strings.Contains(err.Error(), "run 0: Run.From is a model for images") {
		t.Errorf("error %v for a model of images of another shape", err)
	}
}
