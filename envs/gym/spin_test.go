package gym

import "testing"

// After each vain attempt, twice as many answers are slept for, up to a limit; attempts that are of use undo that.
func TestSpinnerGivesWay(t *testing.T) {
	var s spinner
	polls := 0
	never := func() bool { polls++; return false }
	for i, last, attempts := 0, 0, 0; attempts < 14; i++ {
		polls = 0
		if s.wait(never); polls == 0 {
			continue
		}
		if want := min(1<<attempts>>1, mostSkip); attempts > 0 && i-last-1 != want {
			t.Errorf("before attempt %d, %d answers are slept for, want %d", attempts, i-last-1, want)
		}
		last = i
		attempts++
	}
	if s.pause != mostSkip {
		t.Errorf("the pause grew to %v, want %d", s.pause, mostSkip)
	}
	for range int(10 / recovery) {
		s.useful()
	}
	if s.vain(); s.skip != 1 {
		t.Errorf("after many attempts of use, a vain one has %v answers slept for, want 1", s.skip)
	}
}
