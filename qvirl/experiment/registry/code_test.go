package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

// TestUnitsNameTheCodeThatRowsDependOn: beside their own method's, that of the reference that they are compared with,
// and of the parts of a method that walks from another's answer.
func TestUnitsNameTheCodeThatRowsDependOn(t *testing.T) {
	for _, c := range []struct{ experiment, unit, code string }{ // the units whose names begin so
		{"avril-3x3", "", "valuewalk"}, {"maxmean", "", "valuewalk"}, {"single-unknown", "", "valuewalk qvirl"},
		{"active-gridworld", "", "valuewalk"}, {"active-gridworld", "qvirl", "qvirl"},
		{"refinement", "", "qvirl qvirl-matched qvirl-refined"},
		{"rationality", "known", "qvirl-matched qvirl valuewalk"},
		{"posterior-quality", "", "valuewalk"}, {"apprenticeship", "", "valuewalk"}, {"lambda-size", "", "valuewalk"},
		{"low-rank", "", "qvirl"}, {"visited", "qvirl-w", "qvirl"},
		{"zoo", "corridor--fit", "qvirl-matched qvirl valuewalk"},
		{"zoo", "corridor--qvirl-matched", "qvirl valuewalk"},
	} {
		d, err := experiment.Find(Definitions(), c.experiment)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := d.Plan(experiment.Settings{Scale: "quick", Backend: "go"})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, u := range plan.Units {
			if !strings.HasPrefix(u.Name, c.unit) {
				continue
			}
			found = true
			for _, code := range strings.Fields(c.code) {
				if u.Method != code && !slices.Contains(u.Code, code) {
					t.Errorf("%s, unit %s: rows depend on %s, the unit names %s and %v", c.experiment, u.Name, code,
						u.Method, u.Code)
				}
			}
		}
		if !found {
			t.Errorf("%s has no unit %s…", c.experiment, c.unit)
		}
	}
}
