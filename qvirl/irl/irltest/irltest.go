// Package irltest fits problems in tests of methods.
package irltest

import (
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
)

// Fit returns the posteriors of problems, each of which must be a P, by a method that was made without an error:
// Fit[*Posterior](t, problems...)(New(c)).
func Fit[P irl.Posterior](t testing.TB, problems ...*irl.Problem) func(irl.Method, error) []P {
	return func(m irl.Method, err error) []P {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		posteriors, err := m.Fit(t.Context(), problems, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]P, len(posteriors))
		for i, p := range posteriors {
			out[i] = p.(P)
		}
		return out
	}
}
