// Package checktest tests that what is wrong is refused.
package checktest

import (
	"strings"
	"testing"
)

// Refuses spoils configurations that are right, and wants errors from try that contain the key.
func Refuses[C, R any](t testing.TB, right func() C, try func(C) (R, error), spoil map[string]func(*C)) {
	t.Helper()
	for want, spoil := range spoil {
		c := right()
		spoil(&c)
		if _, err := try(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
