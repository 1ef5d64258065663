package worlds

import (
	"slices"
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

// TestOnNamesTheCode: that of all methods that rows depend on, the reference among them.
func TestOnNamesTheCode(t *testing.T) {
	for _, c := range []struct {
		code    string
		methods []string
		named   bool
	}{
		{ValueWalk, []string{ValueWalk, QVIRL}, true},
		{ValueWalk, []string{ValueWalkNoDet}, true},
		{ValueWalk, []string{QVIRLMatched}, true},
		{QVIRL, []string{QVIRL20k}, true},
		{QVIRL, []string{QVIRLRefined}, true},
		{QVIRLMatched, []string{QVIRLMatched}, true},
		{AVRIL, []string{ValueWalk, AVRILName(0.17)}, true},
		{AVRIL, []string{ValueWalk, QVIRLMatched}, false},
		{QVIRLMatched, []string{QVIRLRefined}, false},
	} {
		_, code, err := Quick().On([]uint64{1}, c.methods...)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(code, c.code) != c.named {
			t.Errorf("rows of %v depend on the code of %v; of %s: want %t", c.methods, code, c.code, c.named)
		}
	}
}
