package catalogue

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
)

// squares is an episode of 16 × 16 pictures in stacks of 2, dark but for a square that was at another place the picture
// before. The action is 0 where it came from the right, and 1 where it came from the left: no picture says it alone.
func squares(steps int, random *rand.Rand) demo.Trajectory {
	const side, square = 16, 4
	t := demo.Trajectory{Terminated: true, Frames: &demo.Frames{Size: side * side, Stack: 2}}
	place, before := 6, 6
	for i := range steps + 1 {
		picture := make([]uint8, side*side)
		for k := range square * square {
			picture[(6+k/square)*side+place+k%square] = 250
		}
		t.Frames.Pixels = append(t.Frames.Pixels, picture...)
		if i > 0 && i <= steps {
			action := 0
			if place > before {
				action = 1
			}
			t.Actions = append(t.Actions, action)
		}
		before = place
		if random.IntN(2) == 0 && place > 0 || place == side-square {
			place -= 2
		} else {
			place += 2
		}
	}
	// action i belongs to the state that shows pictures i and i+1: a step ahead of frame 0
	t.Frames.First, t.Actions = 1, t.Actions[:steps-1]
	t.Frames.Pixels = t.Frames.Pixels[:(steps+1)*side*side]
	return t
}

// TestMethodsLearnFromImages: each, trained for moments, predicts actions that pictures show far better than one who
// knows but how often each is taken, about log ½.
func TestMethodsLearnFromImages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	task := &neural.Task{Environment: "squares", Observation: 2 * 16 * 16, Image: neural.Image{Frames: 2, Height: 16,
		Width: 16}, Actions: 2, Discount: 0.9, Beta: 3, HeldOut: []demo.Trajectory{squares(100, random)},
		Runs: []neural.Run{{Demos: []demo.Trajectory{squares(150, random), squares(150, random)}}}}
	for name, steps := range map[string]int{"bc": 150, "iqlearn": 150, "avril": 150, "qvirl": 600} {
		entry, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		c := neural.Default()
		c.Convolutions, c.Features, c.Hidden = []neural.Convolution{{Filters: 8, Size: 4, Stride: 2},
			{Filters: 8, Size: 3, Stride: 1}}, 32, []int{32}
		c.Batch, c.Steps, c.ReportEvery, c.LearningRate, c.Folds = 32, steps, 50, 3e-3, 0
		m, err := entry.New(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		models, err := m.Fit(t.Context(), task, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := neural.Score(models[0], task.HeldOut, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: held-out log-likelihood %.3f, %.0f %% of the actions", name, s.LogLikelihood, 100*s.Accuracy)
		if !(s.LogLikelihood > 0.6*math.Log(0.5)) || s.Accuracy < 0.95 {
			t.Errorf("%s: held-out log-likelihood %g, %g of the actions; want more than %g, and 0.95", name,
				s.LogLikelihood, s.Accuracy, 0.6*math.Log(0.5))
		}
	}
}
