package policywalk

import (
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/irl/irltest"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// BenchmarkFit3x3 reports the smallest bulk ESS of a reward or a value of a 3×3 gridworld in each second of one core's
// work, PolicyWalk's and ValueWalk's on the same problem in the same run.
func BenchmarkFit3x3(b *testing.B) {
	problem := grid(b, 2003)
	policy, err := New(Default())
	if err != nil {
		b.Fatal(err)
	}
	value, err := valuewalk.New(valuewalk.Default())
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range []irl.Method{policy, value} {
		b.Run(m.Name(), func(b *testing.B) {
			var d mcmc.Diagnostics
			for b.Loop() {
				switch p := irltest.Fit[irl.Posterior](b, problem)(m, nil)[0].(type) {
				case *Posterior:
					d = p.Diagnostics().Diagnostics
				case *valuewalk.Posterior:
					d = p.Diagnostics().Diagnostics
				}
			}
			rhat, ess := d.Worst()
			b.ReportMetric(ess/d.Seconds, "ess/s")
			b.ReportMetric(ess, "ess")
			b.ReportMetric(rhat, "rhat")
			b.ReportMetric(d.Seconds, "core-s")
			b.ReportMetric(d.Acceptance, "accept")
			b.ReportMetric(float64(d.Iterations), "iterations")
		})
	}
}
