package reference

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// TestHopelessProblemsAreRefused: where rounding hides by far how actions differ, in any unit of reward, and only where
// the samples would not be vouched for.
func TestHopelessProblemsAreRefused(t *testing.T) {
	base := *small(t)["no demonstrations"]
	for name, c := range map[string]struct {
		mean      [2]float64
		std, beta float64
		hopeless  bool
	}{
		"no mean":                     {[2]float64{}, 1, 2, false},
		"a mean that is hidden":       {[2]float64{6e14, 6e14}, 1, 2, true},
		"one that may be":             {[2]float64{1e13, 1e13}, 1, 2, false},
		"deviations of its size":      {[2]float64{6e14, 6e14}, 6e14, 2, false},
		"an expert who does not care": {[2]float64{6e14, 6e14}, 1, 1e-6, false},
		"actions that are different":  {[2]float64{0, 1e16}, 1, 2, false},
		"a place that nobody goes to": {[2]float64{0, -1e16}, 1, 2, false},
	} {
		for _, unit := range []float64{1, 1e-20, 1e20} {
			p := base
			p.Demos = []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 0}, {State: 1, Action: 1}}
			p.Prior, p.Beta = irl.IndependentPrior(2, 0, c.std*unit), c.beta/unit
			for i, m := range c.mean {
				p.Prior.Mean[i] = m * unit
			}
			err := CheckResolution(&p)
			if (err != nil) != c.hopeless {
				t.Errorf("%s, unit %g: error %v", name, unit, err)
			}
			if err != nil && !(errors.Is(err, irl.ErrBadProblem) && strings.Contains(err.Error(), "rounding may")) {
				t.Errorf("%s: error %v", name, err)
			}
			if !c.hopeless || unit != 1 {
				continue
			}
			brief := Default()
			brief.MaxWork /= 50
			ok, reason := fit(t, brief, &p)[0].Convergence()
			if ok || !strings.Contains(reason, "rounding") {
				t.Errorf("%s: refused, but its samples are vouched for: %s", name, reason)
			}
		}
	}
}
