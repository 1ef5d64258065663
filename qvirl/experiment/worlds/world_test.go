package worlds

import (
	"strings"
	"testing"
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
