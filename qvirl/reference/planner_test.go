package reference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
)

// randomMDP has rows of a few successors, of certain self-loops and of endings, and in every third state two actions
// that are the same.
func randomMDP(t testing.TB, rng *rand.Rand, states, actions int) *mdp.MDP {
	t.Helper()
	rows := make([][]mdp.Transition, states*actions)
	for i := range rows {
		s := i / actions
		switch {
		case s%3 == 0 && i%actions > 0:
			rows[i] = rows[i-1]
		case rng.IntN(8) == 0: // the episode ends
		case rng.IntN(6) == 0:
			rows[i] = []mdp.Transition{{Next: s, Prob: 1}}
		default:
			left := 1.0
			for range 2 {
				p := left * rng.Float64()
				rows[i] = append(rows[i], mdp.Transition{Next: rng.IntN(states), Prob: p})
				left -= p
			}
			rows[i] = append(rows[i], mdp.Transition{Next: rng.IntN(states), Prob: left})
		}
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPlannerSolves walks over rewards, so that the updates of the inverse accumulate, and compares the values with
// those of mdp.Solve, which factorises every policy anew. Every fifth reward is of whole numbers, for ties.
func TestPlannerSolves(t *testing.T) {
	const rewards = 150
	for _, states := range []int{1, 2, 9, 40} {
		for _, discount := range []float64{0, 0.5, 0.99, 0.9999} {
			t.Run(fmt.Sprintf("%d states, discount %g", states, discount), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(states), math.Float64bits(discount)))
				m := randomMDP(t, rng, states, 3)
				solver, err := m.NewSolver(discount)
				if err != nil {
					t.Fatal(err)
				}
				p := newPlanner(m, discount)
				start := p.work
				walk, r := make([]float64, 3*states), make([]float64, 3*states)
				for k := range rewards {
					for i := range r {
						walk[i] += 0.2 * rng.NormFloat64()
						r[i] = walk[i]
						if k%5 == 0 {
							r[i] = math.Round(r[i])
						}
					}
					exact, err := solver.Solve(r)
					if err != nil {
						t.Fatal(err)
					}
					p.solve(r)
					// An action worse by 1e-13 of the largest value may stay, at every step of the 1/(1−γ) that count.
					tolerance := 1e-12 / (1 - discount) * (1 + floats.Norm(exact.V, math.Inf(1)))
					if gap := floats.Distance(p.q, exact.Q, math.Inf(1)); !(gap <= tolerance) {
						t.Fatalf("reward %d: a value of an action is off by %g, want %g", k, gap, tolerance)
					}
					if gap := floats.Distance(p.value, exact.V, math.Inf(1)); !(gap <= tolerance) {
						t.Fatalf("reward %d: a value is off by %g, want %g", k, gap, tolerance)
					}
				}
				// Updates must be right to save factorisations: one for each reward, and more of the whole numbers,
				// would be S³ each.
				if cube := float64(states * states * states); states > 20 && !(p.work-start < 0.8*rewards*cube) {
					t.Errorf("%.2g multiplications, %.2g for each reward's factorisation", p.work-start,
						(p.work-start)/rewards/cube)
				}
				inverse := mat.NewDense(states, states, p.inverse.Data)
				var product mat.Dense
				product.Mul(inverse, policySystem(m, p.policy, discount))
				for i := range states {
					for j := range states {
						want := 0.0
						if i == j {
							want = 1
						}
						if !(math.Abs(product.At(i, j)-want) <= 1e-8) { // what the gradient needs
							t.Fatalf("M (I − γ P)[%d,%d] = %g", i, j, product.At(i, j))
						}
					}
				}
			})
		}
	}
}

// policySystem returns I − γ P_π from the dense transition probabilities.
func policySystem(m *mdp.MDP, policy []int, discount float64) *mat.Dense {
	states, dense := m.States(), m.Dense()
	out := mat.NewDense(states, states, nil)
	for s, a := range policy {
		for next := range states {
			out.Set(s, next, -discount*dense[(s*m.Actions()+a)*states+next])
		}
		out.Set(s, s, out.At(s, s)+1)
	}
	return out
}
