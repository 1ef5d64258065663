//go:build peers

package cloning

import (
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

func TestPeersComputeTheSameLossOfImages(t *testing.T) {
	const frames, side, actions, n = 4, 84, 6, 20
	size := frames * side * side
	random := rand.New(rand.NewPCG(7, 8))
	d := demo.Trajectory{Frames: &demo.Frames{Size: side * side, Stack: frames,
		Pixels: make([]uint8, (n+1)*side*side)}}
	for i := range d.Frames.Pixels {
		d.Frames.Pixels[i] = uint8(random.Uint32())
	}
	pixels, observations := make([]uint8, n*size), make([]float32, n*size)
	for i := range n {
		d.Actions = append(d.Actions, random.IntN(actions))
		d.Frames.Observation(pixels[i*size:(i+1)*size], i)
	}
	for i, x := range pixels {
		observations[i] = float32(x)
	}
	c := neural.Default()
	c.Steps, c.ReportEvery, c.Folds = 20, 20, 0
	m := neuraltest.Fit(t, &neural.Task{Observation: size, Image: neural.Image{Frames: frames, Height: side,
		Width: side}, Actions: actions, Discount: 0.9, Beta: 2,
		Runs: []neural.Run{{Demos: []demo.Trajectory{d}}}})(New(c))[0]
	p, err := m.Predict(observations)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, a := range d.Actions {
		want -= float64(p.LogProbs[i*actions+a]) / n
	}
	neuraltest.CheckPeers(t, "images.py", m, map[string]npz.Array{
		"images":  {Shape: []int{n, frames, side, side}, Type: npz.Uint8, Bytes: [][]uint8{pixels}},
		"actions": npz.Ints(d.Actions, n)}, want)
}
