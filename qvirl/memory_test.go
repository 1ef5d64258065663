package qvirl

import "testing"

// TestMemoryNeedIsThatMeasured: peaks of "qvirl fit" on problems with dense transitions and four actions. An estimate may be above them by
// two thirds, or below by a seventh.
func TestMemoryNeedIsThatMeasured(t *testing.T) {
	for _, c := range []struct {
		method string
		states int
		peak   float64
	}{
		{"paper", 25, 367e6}, {"paper", 50, 445e6}, {"paper", 100, 607e6}, {"qvirl", 25, 340e6}, {"qvirl", 50, 432e6}, {"qvirl", 100, 619e6},
		{"qvirl", 1000, 22.6e9}, {"valuewalk", 25, 45e6}, {"valuewalk", 50, 62e6}, {"valuewalk", 100, 96e6},
		{"avril", 25, 35e6}, {"avril", 50, 47e6}, {"avril", 100, 71e6},
	} {
		if got := MemoryNeed(c.states, 4, c.method) / c.peak; got < 6.0/7 || got > 5.0/3 {
			t.Errorf("%s of %d states: the estimate is %g times the %g bytes measured", c.method, c.states, got, c.peak)
		}
	}
	if unknown, largest := MemoryNeed(1000, 4, "new"), MemoryNeed(1000, 4, "qvirl"); unknown < largest {
		t.Errorf("a method that is not known needs %g bytes, want at least %g", unknown, largest)
	}
}
