package worlds

import (
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

// TestScaleRefusesAWorldInWhichAllPoliciesAreEqual: normalised returns would not be numbers there.
func TestScaleRefusesAWorldInWhichAllPoliciesAreEqual(t *testing.T) {
	w, err := Quick().NewWorld(7)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Scale(w.Return)
	if err != nil || !(s.Optimal > s.Random) || s.Random == 0 {
		t.Errorf("scale %+v, error %v", s, err)
	}
	clear(w.Grid.Reward)
	if s, err := w.Scale(w.Return); err == nil || !strings.Contains(err.Error(), "cannot be normalised") {
		t.Errorf("scale %+v of a world without rewards, error %v", s, err)
	}
}

// TestNameLambda: rows of AVRIL without a λ, of its policies too, get the chosen one, and others stay as they are.
func TestNameLambda(t *testing.T) {
	rows := []experiment.Row{{Method: "avril"}, {Method: "avril-cvar"}, {Method: "avril", Variant: "lambda=0.17"},
		{Method: "qvirl"}}
	for i, want := range []string{"avril-0.02", "avril-0.02-cvar", "avril-0.17", "qvirl"} {
		if got := NameLambda(rows)[i].Name(); got != want {
			t.Errorf("%s became %s, want %s", rows[i].Name(), got, want)
		}
	}
	if rows[0].Variant != "" {
		t.Error("the given rows were changed")
	}
}
