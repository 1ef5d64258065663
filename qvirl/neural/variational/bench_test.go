package variational

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/neural"
)

// BenchmarkTrainingStep reports the time of a training step at the paper's size, 64 transitions of the demonstrator and
// 64 auxiliary ones with 8 features and 4 actions, for several runs at once, and the time until the first step is done,
// compilation included.
func BenchmarkTrainingStep(b *testing.B) {
	for _, architecture := range []neural.Architecture{neural.Heads, neural.Pairs} {
		for _, runs := range []int{1, 5, 10} {
			b.Run(fmt.Sprintf("%s/runs=%d", architecture, runs), func(b *testing.B) {
				c := neural.Default()
				c.Architecture, c.Steps, c.ReportEvery, c.Folds = architecture, 200, 50, 0
				l, err := New(c, DefaultObjective(50))
				if err != nil {
					b.Fatal(err)
				}
				t := paperTask(runs)
				began, first, steps := time.Now(), 0., 0.
				var perStep float64
				t.Watch = func(p neural.Point) {
					if first == 0 {
						first = time.Since(began).Seconds()
					}
					if p.Step > c.ReportEvery { // compiled by then
						perStep += 1000 / p.StepsPerSecond
						steps++
					}
				}
				for b.Loop() {
					if _, err := l.Fit(context.Background(), t, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(perStep/steps, "ms/step")
				b.ReportMetric(first, "s/first-50-steps")
			})
		}
	}
}

// paperTask is a task of the paper's size.
func paperTask(runs int) *neural.Task {
	t := &neural.Task{Observation: 8, Actions: 4, Discount: 0.99, Beta: 3}
	for r := range runs {
		t.Runs = append(t.Runs, neural.Run{Demos: noise(uint64(2*r), 3), Aux: noise(uint64(2*r+1), 5), Seed: uint64(r)})
	}
	return t
}

// noise returns trajectories without meaning.
func noise(seed uint64, count int) []demo.Trajectory {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]demo.Trajectory, count)
	for i := range out {
		const length = 300
		out[i].Observations = make([]float32, 8*(length+1))
		for k := range out[i].Observations {
			out[i].Observations[k] = float32(rng.NormFloat64())
		}
		for range length {
			out[i].Actions = append(out[i].Actions, rng.IntN(4))
		}
	}
	return out
}

// BenchmarkImages reports the time of a training step on stacks of four pictures of 84 × 84 and 6 actions, of 64
// transitions of the demonstrator and as many auxiliary ones or none, and that of the prior's kernel in it alone.
func BenchmarkImages(b *testing.B) {
	m := neural.Image{Frames: 4, Height: 84, Width: 84}
	o := DefaultObjective(0.5)
	o.Image = PongPrior("NOOP FIRE RIGHT LEFT RIGHTFIRE LEFTFIRE")
	random := rand.New(rand.NewPCG(1, 1))
	pictures := func(n int) demo.Trajectory {
		t := demo.Trajectory{Frames: &demo.Frames{Size: 84 * 84, Stack: 4, Pixels: make([]uint8, 84*84*(n+1))}}
		for i := range t.Frames.Pixels {
			t.Frames.Pixels[i] = uint8(random.Uint32())
		}
		for range n {
			t.Actions = append(t.Actions, random.IntN(6))
		}
		return t
	}
	for _, n := range []int{64, 128} {
		b.Run(fmt.Sprintf("step/transitions=%d", n), func(b *testing.B) {
			c := neural.Default()
			c.ReportEvery, c.Folds = 1, 0
			task := &neural.Task{Observation: m.Size(), Image: m, Actions: 6, Discount: 0.99, Beta: 3,
				Runs: []neural.Run{{Demos: []demo.Trajectory{pictures(500)}}}}
			if n > c.Batch {
				task.Runs[0].Aux = []demo.Trajectory{pictures(500)}
			}
			c.Steps = b.N + 1
			task.Watch = func(p neural.Point) {
				if p.Step == 1 { // compiled
					b.ResetTimer()
				}
			}
			l, err := New(c, o)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := l.Fit(context.Background(), task, nil); err != nil {
				b.Fatal(err)
			}
		})
		b.Run(fmt.Sprintf("kernel/transitions=%d", n), func(b *testing.B) {
			choice, err := backend.Get("")
			if err != nil {
				b.Fatal(err)
			}
			exec := MustNewExec(choice.Backend, func(states, actions, scales *Node) *Node {
				return ReduceAllSum(o.Image.correlation(m, states, actions, scales))
			})
			frames, actions := pictures(n).Frames, make([]float32, 6*n)
			states := make([]uint8, n*m.Size())
			for i := range n {
				frames.Observation(states[i*m.Size():(i+1)*m.Size()], i)
				actions[6*i+i%6] = 1
			}
			args := []any{tensors.FromFlatDataAndDimensions(states, 1, n, m.Size()),
				tensors.FromFlatDataAndDimensions(actions, 1, n, 6),
				tensors.FromFlatDataAndDimensions([]float32{1, 1, 9}, 1, 3)}
			exec.MustCall(args...)
			for b.Loop() {
				exec.MustCall(args...)[0].Value()
			}
		})
	}
}
