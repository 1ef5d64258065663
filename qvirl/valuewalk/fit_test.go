package valuewalk

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/zoo"
)

// paperProblem returns a world of the paper with its demonstrations. Seeds 0–99 are those that results are reported on.
func paperProblem(t testing.TB, seed uint64) *irl.Problem {
	t.Helper()
	p, err := zoo.Gridworld(8, seed, 5)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BenchmarkFit8x8 samples the posteriors of five worlds and reports the smallest bulk ESS of a reward or a value in
// each second of one core's work, the worst world counting.
func BenchmarkFit8x8(b *testing.B) {
	for _, noDeterminant := range []bool{false, true} {
		for seed := uint64(1000); seed < 1005; seed++ {
			config := Default()
			config.NoDeterminant = noDeterminant
			method, err := New(config)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/world=%d", method.Name(), seed), func(b *testing.B) {
				problem := paperProblem(b, seed)
				for b.Loop() {
					posteriors, err := method.Fit(context.Background(), []*irl.Problem{problem}, nil)
					if err != nil {
						b.Fatal(err)
					}
					d := posteriors[0].(*Posterior).Diagnostics()
					r1, e1 := d.Reward.Worst()
					r2, e2 := d.Value.Worst()
					ess := min(d.Reward.BulkESS[e1], d.Value.BulkESS[e2])
					b.ReportMetric(ess/d.Seconds, "ess/s")
					b.ReportMetric(ess, "ess")
					b.ReportMetric(max(d.Reward.RHat[r1], d.Value.RHat[r2]), "rhat")
					b.ReportMetric(d.Seconds, "core-s")
					b.ReportMetric(d.Acceptance, "accept")
					b.ReportMetric(float64(d.Iterations), "iterations")
					b.ReportMetric(d.LeapfrogSteps, "steps")
				}
			})
		}
	}
}
