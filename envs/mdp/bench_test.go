package mdp_test

import (
	"fmt"
	"math/rand/v2"
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

// BenchmarkSolveNear solves gridworlds of the paper's kind for rewards that change a little from one to the next, as
// along a trajectory of Hamiltonian Monte Carlo.
func BenchmarkSolveNear(b *testing.B) {
	for _, width := range []int{8, 16, 24} {
		b.Run(fmt.Sprint(width*width, " states"), func(b *testing.B) {
			c := gridworld.Paper()
			c.Width, c.Height = width, width
			w, err := gridworld.Random(c, 1)
			if err != nil {
				b.Fatal(err)
			}
			solver, err := w.MDP.NewSolver(0.9)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			reward, velocity := append([]float64(nil), w.Reward...), make([]float64, len(w.Reward))
			for k := 0; b.Loop(); k++ {
				for i := range reward {
					if k%20 == 0 {
						velocity[i] = 0.15 * rng.NormFloat64()
					}
					reward[i] = 0.999*reward[i] + velocity[i]
				}
				if _, err := solver.SolveNear(reward); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
