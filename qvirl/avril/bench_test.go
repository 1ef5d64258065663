package avril

import (
	"testing"
)

// BenchmarkSteps makes 20,000 steps on one of the paper's 8×8 worlds.
func BenchmarkSteps(b *testing.B) {
	p := paperProblem(b, 1000)
	c := Default()
	c.Steps, c.Tolerance = 20_000, 0
	m, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.fit(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}
