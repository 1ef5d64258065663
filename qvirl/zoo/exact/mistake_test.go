package exact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"github.com/go-birl/birl/qvirl/zoo/zootest"
)

// recorder notes failures in place of a test.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatal(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }

// mistaken is a density with a mistake in it.
type mistaken struct {
	gradients
	of func(d zootest.LogDensity, z, grad []float64) float64
}

func (m mistaken) LogDensity(z, grad []float64) float64 { return m.of(m.gradients, z, grad) }

// Mistakes are found: in the density, in its gradient, and in answers.
func TestMistakesAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		change func(p *irl.Problem) // of the problem whose density is taken for that of another
		of     func(d zootest.LogDensity, z, grad []float64) float64
	}{
		"half of β":      {change: func(p *irl.Problem) { p.Beta /= 2 }},
		"a lower γ":      {change: func(p *irl.Problem) { p.Discount *= 0.9 }},
		"a missing step": {change: func(p *irl.Problem) { p.Demos = p.Demos[:max(len(p.Demos)-1, 0)] }},
		"no prior": {of: func(d zootest.LogDensity, z,
			grad []float64) float64 {
			return d.LogDensity(z, grad) + z[0]*z[0]/2
		}},
		"zeros for gradient": {of: func(d zootest.LogDensity, z, grad []float64) float64 {
			v := d.LogDensity(z, grad)
			clear(grad)
			return v
		}},
	} {
		r := &recorder{}
		zootest.Density(r, 50, 1, func(p *irl.Problem) (zootest.LogDensity, error) {
			q := *p
			if test.change != nil {
				test.change(&q)
			}
			l, err := newLikelihood(&q)
			if test.of == nil {
				return gradients{l}, err
			}
			return mistaken{gradients{l}, test.of}, err
		})
		if len(r.failures) == 0 {
			t.Errorf("%s was not found", name)
		}
	}
	r := &recorder{}
	zootest.Answers(r, 50, 2, func(p *irl.Problem) (*summary.Summary, error) {
		s, states := &summary.Summary{}, p.MDP.States()
		s.RewardMean, s.RewardStd = make([]float64, p.RewardDim()), make([]float64, p.RewardDim())
		s.ValueMean, s.ValueStd, s.Policy = make([]float64, states), make([]float64, states), make([]float64,
			states*p.MDP.Actions())
		return s, nil
	})
	if !strings.Contains(strings.Join(r.failures, "\n"), "an unreachable state") {
		t.Errorf("zeros for an answer were not found to be wrong: %q", r.failures)
	}
}
