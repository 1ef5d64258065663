package mdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"pgregory.net/rapid"
)

// On the chain, R = (−1, 0, 8) and γ = ½: V(2) = 8, V(1) = 4, V(0) = −1 + 2 = 1; staying in 0 costs another step.
func TestSolveByHand(t *testing.T) {
	m := chain(t)
	sol, err := m.Solve([]float64{-1, 0, 8}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if gap := largestGap(sol.V, []float64{1, 4, 8}); gap > 1e-14 {
		t.Errorf("V = %v, want [1 4 8]", sol.V)
	}
	if gap := largestGap(sol.Q, []float64{1, -0.5, 4, 2, 8, 8}); gap > 1e-14 {
		t.Errorf("Q = %v, want [1 -0.5 4 2 8 8]", sol.Q)
	}
	if sol.Greedy[0] != 0 || sol.Greedy[1] != 0 {
		t.Errorf("greedy actions %v, want to go in states 0 and 1", sol.Greedy)
	}
	// staying for ever in a state worth 1 is worth 1/(1−γ), at any discount
	for _, discount := range []float64{0, 0.9, 0.999} {
		if sol, err = m.Solve([]float64{0, 1, -5}, discount); err != nil {
			t.Fatal(err)
		}
		if want := 1 / (1 - discount); !scalar.EqualWithinAbs(sol.V[1], want, 1e-12*want) {
			t.Errorf("γ = %g: V(1) = %v, want %v", discount, sol.V[1], want)
		}
	}
}

// The solution satisfies Bellman's optimality equation, agrees with value iteration, and is the value of its policy.
func TestSolveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		discount := rapid.SampledFrom([]float64{0, 0.3, 0.9, 0.99}).Draw(t, "discount")
		n := m.States() * rapid.SampledFrom([]int{1, m.Actions()}).Draw(t, "kind of reward")
		reward := drawVector(t, n, -10, 10, "reward")
		sol, err := m.Solve(reward, discount)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.ExpandReward(reward)
		if err != nil {
			t.Fatal(err)
		}
		next := m.Backup(nil, sol.V)
		for i, q := range sol.Q { // values are below 10/(1−γ) = 1000, so 1e-10 is rounding
			if !scalar.EqualWithinAbs(q-r[i], discount*next[i], 1e-10) {
				t.Fatalf("Q[%d] = %g is not R + γPV = %g", i, q, r[i]+discount*next[i])
			}
		}
		for s, v := range sol.V {
			q := sol.Q[s*m.Actions() : (s+1)*m.Actions()]
			if !scalar.EqualWithinAbs(v, floats.Max(q), 1e-10) || !scalar.EqualWithinAbs(v, q[sol.Greedy[s]], 1e-10) {
				t.Fatalf("V[%d] = %g, but Q is %v and the greedy action %d", s, v, q, sol.Greedy[s])
			}
		}
		q, v, err := m.ValueIteration(reward, discount, 1e-11)
		if err != nil {
			t.Fatal(err)
		}
		if gap := max(largestGap(q, sol.Q), largestGap(v, sol.V)); gap > 1e-10 {
			t.Fatalf("value iteration differs by %g", gap)
		}
		policy, err := m.Deterministic(sol.Greedy)
		if err != nil {
			t.Fatal(err)
		}
		value, err := m.PolicyValue(policy, reward, discount)
		if err != nil {
			t.Fatal(err)
		}
		if gap := largestGap(value, sol.V); gap > 1e-10 {
			t.Fatalf("the greedy policy's value differs from V by %g", gap)
		}
	})
}

// A reused solver gives bit for bit what a fresh one gives, whatever it solved before.
func TestSolverHasNoMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		solver, err := m.NewSolver(0.9)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			reward := drawVector(t, m.States(), -10, 10, "reward")
			got, err := solver.Solve(reward)
			if err != nil {
				t.Fatal(err)
			}
			want, err := m.Solve(reward, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			if largestGap(got.Q, want.Q) != 0 || largestGap(got.V, want.V) != 0 {
				t.Fatalf("a reused solver gives Q = %v, a fresh one %v", got.Q, want.Q)
			}
			// from any policy, policy iteration ends at the same values, up to rounding: values are below 100
			policy := make([]int, m.States())
			for s := range policy {
				policy[s] = rapid.IntRange(0, m.Actions()-1).Draw(t, "action")
			}
			from, err := solver.SolveFrom(reward, policy)
			if err != nil {
				t.Fatal(err)
			}
			if largestGap(from.Q, want.Q) > 1e-10 || largestGap(from.V, want.V) > 1e-10 {
				t.Fatalf("from the policy %v, Q = %v, want %v", policy, from.Q, want.Q)
			}
		}
	})
}

// TestSolveNear walks over rewards, so that factors are held from one to the next, and compares with Solve; and the
// adjoint with V itself: x·V = y·R_π.
func TestSolveNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		discount := rapid.SampledFrom([]float64{0, 0.9, 0.999}).Draw(t, "discount")
		solver, err := m.NewSolver(discount)
		if err != nil {
			t.Fatal(err)
		}
		reward := make([]float64, m.States()*m.Actions())
		for range 5 {
			floats.Add(reward, drawVector(t, len(reward), -3, 3, "step"))
			want, err := m.Solve(reward, discount)
			if err != nil {
				t.Fatal(err)
			}
			got, err := solver.SolveNear(reward)
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-13 / (1 - discount) * (1 + floats.Norm(want.V, math.Inf(1))) // rounding of the linear solve
			if gap := max(largestGap(got.Q, want.Q), largestGap(got.V, want.V)); gap > tolerance {
				t.Fatalf("near the last reward, values differ by %g, want at most %g", gap, tolerance)
			}
			x := drawVector(t, m.States(), -1, 1, "x")
			inner, outer := floats.Dot(x, got.V), 0.0
			solver.Adjoint(x)
			for s, a := range got.Greedy {
				outer += x[s] * reward[s*m.Actions()+a]
			}
			if !(math.Abs(inner-outer) <= 10*float64(m.States())*tolerance) {
				t.Fatalf("x·V = %g, y·R = %g", inner, outer)
			}
		}
		if _, err := solver.SolveNear(make([]float64, len(reward)+1)); err == nil {
			t.Error("SolveNear accepts a reward of another length")
		}
	})
}

// Exact ties must not make policy iteration cycle, even where rounding in the linear solve is large.
func TestSolveWithTies(t *testing.T) {
	const states, actions = 40, 4
	rng := rand.New(rand.NewPCG(1, 0))
	rows := make([][]Transition, states*actions)
	for i := range rows { // actions 2 and 3 repeat 0 and 1 with their successors in another order
		if i%actions < 2 {
			u := 0.2 + 0.6*rng.Float64()
			rows[i] = []Transition{{rng.IntN(states), u / 3}, {rng.IntN(states), 2 * u / 3}, {rng.IntN(states), 1 - u}}
		} else {
			k := rows[i-2]
			rows[i] = []Transition{k[2], k[0], k[1]}
		}
	}
	m, err := New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	reward := make([]float64, states)
	for s := range reward {
		reward[s] = 1e6 * rng.NormFloat64()
	}
	const discount = 0.999
	sol, err := m.Solve(reward, discount)
	if err != nil {
		t.Fatal(err)
	}
	_, v, err := m.ValueIteration(reward, discount, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if gap := largestGap(v, sol.V); gap > 1e-3 || floats.Norm(v, 1) == 0 {
		t.Errorf("values of size %g differ from value iteration by %g, want ≤ its tolerance 1e-3",
			floats.Norm(v, math.Inf(1)), gap)
	}
}

// TestSolveBesideLongHorizons: next to states that pay 1 for ever, worth 10⁹, the better way to an end is worth 2 more
// than the other, and is taken.
func TestSolveBesideLongHorizons(t *testing.T) {
	m, err := New(4, 2, [][]Transition{{{Next: 1, Prob: 1}}, {{Next: 2, Prob: 1}}, nil, nil, nil, nil,
		{{Next: 3, Prob: 1}}, {{Next: 3, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := m.NewSolver(1 - 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	for _, reward := range [][]float64{{0, -1, -3, 1}, {0, -1, 1, 1}, {0, -1, -3, 1}} {
		s, err := solver.SolveNear(reward)
		if err != nil {
			t.Fatal(err)
		}
		want := max(reward[1], reward[2])
		if math.Abs(s.V[0]-want) > 1e-6 || math.Abs(s.V[3]/1e9-1) > 1e-6 {
			t.Errorf("rewards %v: the values are %v, want %g of the first state and 1e9 of the last", reward, s.V, want)
		}
	}
}

// checkValues holds a solution for the discount 0.95 against value iteration.
func checkValues(t *testing.T, m *MDP, reward []float64, solution *Solution) {
	t.Helper()
	_, want, err := m.ValueIteration(reward, 0.95, 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	if gap := largestGap(solution.V, want); gap > 1e-10 {
		t.Errorf("values differ by %g from those of value iteration", gap)
	}
}

// TestValueIterationEnds: it does not wait for values that leave the range of float64 to settle.
func TestValueIterationEnds(t *testing.T) {
	m, err := New(1, 1, [][]Transition{{{Next: 0, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, v, err := m.ValueIteration([]float64{1e308}, 0.99, 1); err != nil || !math.IsInf(v[0], 1) {
		t.Errorf("the value %g, error %v, want +Inf", v[0], err)
	}
}

func TestSolveRefuses(t *testing.T) {
	m := chain(t)
	reward, policy := make([]float64, 3), m.Uniform()
	for _, discount := range []float64{-0.1, 1, 2, math.NaN()} {
		_, solveErr := m.Solve(reward, discount)
		_, _, iterationErr := m.ValueIteration(reward, discount, 1e-6)
		_, valueErr := m.PolicyValue(policy, reward, discount)
		_, occupancyErr := m.Occupancy(policy, discount)
		for _, err := range []error{solveErr, iterationErr, valueErr, occupancyErr} {
			if err == nil || !strings.Contains(err.Error(), "outside [0, 1)") {
				t.Errorf("discount %g: got the error %v", discount, err)
			}
		}
	}
	if _, err := m.Solve([]float64{0, math.NaN(), 0}, 0.9); err == nil {
		t.Error("Solve accepts a NaN reward")
	}
	solver, err := m.NewSolver(0.9)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range [][]int{{0, 0}, {0, 0, 2}, {-1, 0, 0}} {
		if _, err := solver.SolveFrom(reward, from); err == nil {
			t.Errorf("SolveFrom accepts the policy %v", from)
		}
	}
	for _, tol := range []float64{0, -1, math.NaN()} {
		if _, _, err := m.ValueIteration(reward, 0.9, tol); err == nil {
			t.Errorf("ValueIteration accepts the tolerance %g", tol)
		}
		if _, _, err := solver.SolveSoft(reward, tol); err == nil {
			t.Errorf("SolveSoft accepts the temperature %g", tol)
		}
	}
	for _, c := range []struct {
		policy []float64
		want   string
	}{
		{policy[:4], "got 4 numbers"},
		{[]float64{0.5, 0.5, 1.5, -0.5, 1, 0}, "policy[1,1] = -0.5"},
		{[]float64{0.5, 0.5, 0.5, 0.4, 1, 0}, "policy[1] sums to 0.9"},
		{[]float64{math.NaN(), 0.5, 0.5, 0.5, 1, 0}, "policy[0,0] = NaN"},
	} {
		if _, err := m.PolicyValue(c.policy, reward, 0.9); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("policy %v: got the error %v, want one with %q", c.policy, err, c.want)
		}
	}
}

// TestSolveSoft: values and policy satisfy the soft Bellman equation, and values are at most
// temperature · log A / (1 − γ) above the optimal ones; the solver then solves as if nothing had been.
func TestSolveSoft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		discount := rapid.SampledFrom([]float64{0, 0.3, 0.9, 0.99}).Draw(t, "discount")
		n := m.States() * rapid.SampledFrom([]int{1, m.Actions()}).Draw(t, "kind of reward")
		reward := drawVector(t, n, -10, 10, "reward")
		solver, err := m.NewSolver(discount)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.ExpandReward(reward)
		if err != nil {
			t.Fatal(err)
		}
		hard, err := m.Solve(reward, discount)
		if err != nil {
			t.Fatal(err)
		}
		beyond := slices.Repeat([]float64{1e308}, n) // values leave the range of float64, and the solver recovers
		if _, _, err := solver.SolveSoft(beyond, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := solver.Solve(reward); err != nil { // whose factors are of no use after soft planning
			t.Fatal(err)
		}
		for _, temperature := range []float64{10, 0.5, 0.05} {
			sol, policy, err := solver.SolveSoft(reward, temperature)
			if err != nil {
				t.Fatal(err)
			}
			next, scores := m.Backup(nil, sol.V), make([]float64, m.Actions())
			for s, v := range sol.V {
				for a := range scores {
					i := s*m.Actions() + a
					want := r[i] + discount*next[i]
					if !scalar.EqualWithinAbs(sol.Q[i], want, 1e-5*temperature+1e-10) {
						t.Fatalf("temperature %g: Q[%d] = %g is not R + γPV = %g", temperature, i, sol.Q[i], want)
					}
					if want := math.Exp((sol.Q[i] - v) / temperature); !scalar.EqualWithinAbs(policy[i], want, 1e-5) {
						t.Fatalf("temperature %g: π[%d] = %g, want %g", temperature, i, policy[i], want)
					}
					scores[a] = sol.Q[i] / temperature
				}
				if q := sol.Q[s*m.Actions():][:m.Actions()]; q[sol.Greedy[s]] < floats.Max(q)-1e-5*temperature-1e-10 {
					t.Fatalf("temperature %g: action %d is the likeliest of Q(%d, ·) = %v", temperature, sol.Greedy[s],
						s, q)
				}
				want := temperature * floats.LogSumExp(scores)
				if !scalar.EqualWithinAbs(v, want, 1e-5*temperature+1e-10) {
					t.Fatalf("temperature %g: V[%d] = %g, want %g", temperature, s, v, want)
				}
				above, most := v-hard.V[s], temperature*math.Log(float64(m.Actions()))/(1-discount)
				if slack := 2*softTolerance*temperature/(1-discount) + 1e-9; above < -slack || above > most+slack {
					t.Fatalf("temperature %g: V[%d] is %g above the optimal value, want 0 to %g", temperature, s, above,
						most)
				}
			}
		}
		again, err := solver.SolveNear(reward)
		if err != nil {
			t.Fatal(err)
		}
		if gap := largestGap(again.V, hard.V); gap > 1e-9 {
			t.Fatalf("after soft planning, optimal values are off by %g", gap)
		}
	})
}
