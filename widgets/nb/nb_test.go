package nb

import (
	"errors"
	"fmt"
	"testing"
)

// ended returns what a cell ended with, nil if it came to its end.
func ended(cell func()) (with any) {
	defer func() { with = recover() }()
	cell()
	return nil
}

func Example() {
	half := Must(fmt.Sscan("0.5", new(float64)))
	Verify(half == 1, "%d number was read", half)
	// Output: ✓ 1 number was read
}

func TestFailuresEndTheCell(t *testing.T) {
	broken := errors.New("broken")
	if got := ended(func() { Must(7, broken) }); got != broken {
		t.Errorf("Must with an error: %v", got)
	}
	if got := ended(func() { Check(nil) }); got != nil {
		t.Errorf("Check without an error: %v", got)
	}
	if got := ended(func() { Verify(false, "%d is odd", 4) }); got != "this does not hold: 4 is odd" {
		t.Errorf("Verify of what does not hold: %v", got)
	}
}
