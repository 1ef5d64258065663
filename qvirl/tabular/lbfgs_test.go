package tabular

import (
	"testing"

	"gonum.org/v1/gonum/optimize"
)

// flat is an objective whose loss does not depend on the point.
type flat struct{ loss float64 }

func (f *flat) at([]float64, []float64) float64    { return f.loss }
func (f *flat) parts() (kl, logLikelihood float64) { return f.loss, 0 }

// TestRestartsForgetFormerLosses: those of another objective, which may have been lower, or just as high at the end of
// a round, do not tell that a descent has come to a stop.
func TestRestartsForgetFormerLosses(t *testing.T) {
	for _, c := range []struct{ steps, before int }{{1000, 0}, {1, 99}} {
		f := &flat{float64(c.before)}
		d := &descent{form: f, config: Config{Steps: c.steps, Rounds: 1, Tolerance: 1}, point: make([]float64, 1),
			gradient: make([]float64, 1)}
		x := []float64{0}
		for range stall + 1 {
			d.evaluate(x)
			d.Converged(nil)
		}
		if !d.converged {
			t.Errorf("%+v: not converged after as many steps as tell", c)
		}
		f.loss = 100
		d.restart(x)
		f.loss = 99
		if d.evaluate(x); d.Converged(nil) != optimize.NotTerminated {
			t.Errorf("%+v: converged after one step of another objective", c)
		}
		for range stall + 1 {
			d.evaluate(x)
			d.Converged(nil)
		}
		if !d.converged {
			t.Errorf("%+v: not converged after as many steps of the other objective as tell", c)
		}
	}
}
