package variational

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
)

// BenchmarkTrainingStep reports the time of a training step at the paper's size, 64 transitions of the demonstrator and
// 64 auxiliary ones with 8 features and 4 actions, for several runs at once, and the time until the first step is done,
// compilation included.
func BenchmarkTrainingStep(b *testing.B) {
	for _, architecture := range []neural.Architecture{neural.Heads, neural.Pairs} {
		for _, runs := range []int{1, 5, 10} {
			b.Run(fmt.Sprintf("%s/runs=%d", architecture, runs), func(b *testing.B) {
				c := neural.DefaultConfig()
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
