package mdp_test

import (
	"testing"

	"github.com/go-birl/birl/envs/gridworld"
)

// BenchmarkSolver solves one of the paper's 8×8 gridworlds.
func BenchmarkSolver(b *testing.B) {
	w, err := gridworld.Random(gridworld.Paper(), 1)
	if err != nil {
		b.Fatal(err)
	}
	solver, err := w.MDP.NewSolver(0.9)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := solver.Solve(w.Reward); err != nil {
			b.Fatal(err)
		}
	}
}
