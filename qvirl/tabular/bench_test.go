package tabular

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/zoo"
)

// paperProblems returns n of the paper's problems on random 8×8 gridworlds, of seeds that the reported results do not
// use.
func paperProblems(tb testing.TB, n int) []*irl.Problem {
	tb.Helper()
	out := make([]*irl.Problem, n)
	for i := range out {
		var err error
		if out[i], err = zoo.Gridworld(8, uint64(1000+i), 5); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// BenchmarkTrainingStep reports the time of one training step for each 8×8 world of a batch.
func BenchmarkTrainingStep(b *testing.B) {
	for _, worlds := range []int{1, 10, 50, 100} {
		b.Run(fmt.Sprintf("worlds=%d", worlds), func(b *testing.B) {
			c := AdamConfig()
			c.Steps, c.Rounds = 1, 1
			problems := paperProblems(b, worlds)
			m, err := New(c)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := m.Fit(context.Background(), problems, nil); err != nil { // compiles
				b.Fatal(err)
			}
			m.config.Steps = b.N
			b.ResetTimer()
			if _, err := m.Fit(context.Background(), problems, nil); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(worlds), "µs/step/world")
		})
	}
}
