//go:build installed

package activelander

import (
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/neural/active"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// BenchmarkQuery times what a query takes at the paper's size: scoring a hundred candidates, and training on.
func BenchmarkQuery(b *testing.B) {
	c := Paper()
	c.Training.Steps = 100
	d, err := c.Open()
	if err != nil {
		b.Fatal(err)
	}
	pool, err := c.Pool(b.Context(), d)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	start, err := c.Start(b.Context(), pool, d, 0)
	if err != nil {
		b.Fatal(err)
	}
	first, more, err := c.Learners("")
	if err != nil {
		b.Fatal(err)
	}
	course, err := c.Course(pool, d, start, EIG, 0, first, more)
	if err != nil {
		b.Fatal(err)
	}
	state, err := course.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if state, err = course.Learn(b.Context(), state, 0); err != nil { // compiles
		b.Fatal(err)
	}
	posterior, err := variational.NewPosterior(state.Model)
	if err != nil {
		b.Fatal(err)
	}
	q := &active.Question{Posterior: posterior, Beta: c.Beta, Discount: c.Discount, Simulator: pool,
		Candidates: start.Candidates}
	for _, method := range c.Methods {
		acquisition, err := c.Acquisition(method)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("choosing/"+method, func(b *testing.B) {
			for b.Loop() {
				if _, err := acquisition.Score(b.Context(), q, rand.New(rand.NewPCG(1, 1))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("training", func(b *testing.B) {
		for b.Loop() {
			if _, err := course.Learn(b.Context(), state, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
