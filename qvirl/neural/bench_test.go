package neural

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-birl/birl/envs/demo"
)

// BenchmarkStep takes steps of training at the paper's size (two layers of 128 units, batches of 64, 8 features, 4
// actions) on the best backend. The time of ten runs over that of one is what batching them gains; ten runs are two
// programs, side by side on a CPU of several cores.
func BenchmarkStep(b *testing.B) {
	for _, runs := range []int{1, groupSize, 10} {
		b.Run(fmt.Sprintf("%d runs", runs), func(b *testing.B) {
			c := Default()
			c.Folds = 0
			l, err := NewLearner("test", c, classifier{})
			if err != nil {
				b.Fatal(err)
			}
			task := &Task{Observation: 8, Actions: 4, Discount: 0.99, Beta: 3}
			for r := range runs {
				d := demo.Trajectory{Observations: make([]float32, 301*8), Actions: make([]int, 300)}
				normal := random(uint64(r), 50, 0)
				for i := range d.Observations {
					d.Observations[i] = float32(normal.NormFloat64())
				}
				for i := range d.Actions {
					d.Actions[i] = normal.IntN(4)
				}
				task.Runs = append(task.Runs, Run{Demos: []demo.Trajectory{d}, Seed: uint64(r)})
			}
			fit := func(steps int) {
				l.config.Steps = steps
				if _, err := l.Fit(context.Background(), task, nil); err != nil {
					b.Fatal(err)
				}
			}
			fit(defaultUnroll) // compiles
			b.ResetTimer()
			fit((b.N + defaultUnroll - 1) / defaultUnroll * defaultUnroll)
		})
	}
}
