package mdp

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// improvementMargin is how much better an action must be before policy iteration prefers it over the present one. It
// keeps rounding in exact ties from making the iteration cycle.
const improvementMargin = 1e-10

// CheckDiscount refuses a discount outside [0, 1).
func CheckDiscount(discount float64) error {
	if !(discount >= 0 && discount < 1) {
		return fmt.Errorf("mdp: discount = %g is outside [0, 1)", discount)
	}
	return nil
}

// Solution is an optimal solution of an MDP for one reward.
type Solution struct {
	Q      []float64 // optimal state-action values, [S·A]
	V      []float64 // optimal state values, [S]
	Greedy []int     // a greedy action per state, [S]
}

// Solve returns the optimal values for a reward of length S or S·A, exact to rounding: policy iteration, each policy
// evaluated by a linear solve (Howard, 1960).
func (m *MDP) Solve(reward []float64, discount float64) (*Solution, error) {
	r, err := m.ExpandReward(reward)
	if err != nil {
		return nil, err
	}
	if err := CheckDiscount(discount); err != nil {
		return nil, err
	}
	sol := &Solution{Q: r, Greedy: make([]int, m.states)}
	immediate := append([]float64(nil), r...)
	for s := range sol.Greedy { // the first policy is greedy in the immediate reward
		sol.Greedy[s] = argmax(immediate[s*m.actions : (s+1)*m.actions])
	}
	backup := make([]float64, m.states*m.actions)
	for {
		sol.V, err = m.evaluateGreedy(sol.Greedy, immediate, discount)
		if err != nil {
			return nil, err
		}
		m.Backup(backup, sol.V)
		for i := range sol.Q {
			sol.Q[i] = immediate[i] + discount*backup[i]
		}
		changed := false
		for s := range sol.Greedy {
			q := sol.Q[s*m.actions : (s+1)*m.actions]
			best := argmax(q)
			if q[best] > q[sol.Greedy[s]]+improvementMargin*(1+math.Abs(q[best])) {
				sol.Greedy[s], changed = best, true
			}
		}
		if !changed {
			return sol, nil
		}
	}
}

// ValueIteration returns the optimal Q-values [S·A] and state values [S] for a reward of length S or S·A, iterated until
// the largest error is below tol: the stopping rule ‖V_k+1 − V_k‖∞ ≤ tol·(1−γ)/γ guarantees it.
func (m *MDP) ValueIteration(reward []float64, discount, tol float64) (q, v []float64, err error) {
	r, err := m.ExpandReward(reward)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckDiscount(discount); err != nil {
		return nil, nil, err
	}
	if !(tol > 0) {
		return nil, nil, fmt.Errorf("mdp: tolerance = %g, want a positive number", tol)
	}
	q, v = make([]float64, len(r)), make([]float64, m.states)
	for {
		m.Backup(q, v)
		change := 0.0
		for i := range q {
			q[i] = r[i] + discount*q[i]
		}
		for s := range v {
			best := q[s*m.actions+argmax(q[s*m.actions:(s+1)*m.actions])]
			change = math.Max(change, math.Abs(best-v[s]))
			v[s] = best
		}
		if change*discount <= tol*(1-discount) {
			return q, v, nil
		}
	}
}

// PolicyValue returns the exact state values [S] of a stochastic policy [S·A] for a reward of length S or S·A: the
// solution of (I − γ P_π) V = R_π.
func (m *MDP) PolicyValue(policy, reward []float64, discount float64) ([]float64, error) {
	r, err := m.ExpandReward(reward)
	if err != nil {
		return nil, err
	}
	system, err := m.policySystem(policy, discount)
	if err != nil {
		return nil, err
	}
	rhs := mat.NewVecDense(m.states, nil)
	for i, p := range policy {
		rhs.SetVec(i/m.actions, rhs.AtVec(i/m.actions)+p*r[i])
	}
	return solveSystem(system, rhs)
}

// Return returns the expected discounted return of a stochastic policy [S·A] from the initial distribution.
func (m *MDP) Return(policy, reward []float64, discount float64) (float64, error) {
	v, err := m.PolicyValue(policy, reward, discount)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for s, p := range m.initial {
		sum += p * v[s]
	}
	return sum, nil
}

// Occupancy returns the discounted visits Σ_t γ^t P(s_t = s, a_t = a) of a stochastic policy [S·A] from the initial
// distribution, [S·A]. The return under any reward is its inner product with that reward.
func (m *MDP) Occupancy(policy []float64, discount float64) ([]float64, error) {
	system, err := m.policySystem(policy, discount)
	if err != nil {
		return nil, err
	}
	visits, err := solveSystem(system.T(), mat.NewVecDense(m.states, append([]float64(nil), m.initial...)))
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(policy))
	for i, p := range policy {
		out[i] = p * visits[i/m.actions]
	}
	return out, nil
}

// policySystem returns I − γ P_π.
func (m *MDP) policySystem(policy []float64, discount float64) (*mat.Dense, error) {
	if err := CheckDiscount(discount); err != nil {
		return nil, err
	}
	if err := m.CheckPolicy(policy); err != nil {
		return nil, err
	}
	system := mat.NewDense(m.states, m.states, nil)
	for s := 0; s < m.states; s++ {
		row := system.RawRowView(s)
		row[s] = 1
		for a := 0; a < m.actions; a++ {
			next, prob := m.Row(s, a)
			for k, to := range next {
				row[to] -= discount * policy[s*m.actions+a] * prob[k]
			}
		}
	}
	return system, nil
}

func (m *MDP) evaluateGreedy(greedy []int, immediate []float64, discount float64) ([]float64, error) {
	system := mat.NewDense(m.states, m.states, nil)
	rhs := mat.NewVecDense(m.states, nil)
	for s, a := range greedy {
		row := system.RawRowView(s)
		row[s] = 1
		next, prob := m.Row(s, a)
		for k, to := range next {
			row[to] -= discount * prob[k]
		}
		rhs.SetVec(s, immediate[s*m.actions+a])
	}
	return solveSystem(system, rhs)
}

func solveSystem(a mat.Matrix, rhs *mat.VecDense) ([]float64, error) {
	var x mat.VecDense
	if err := x.SolveVec(a, rhs); err != nil { // I − γP is diagonally dominant for γ < 1, so this is a rounding failure
		return nil, fmt.Errorf("mdp: the policy's linear system is ill-conditioned: %w", err)
	}
	return x.RawVector().Data, nil
}

// argmax returns the first index of the largest element.
func argmax(x []float64) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}
