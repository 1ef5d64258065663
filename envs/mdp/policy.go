package mdp

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// CheckPolicy refuses a vector that is not a distribution over actions in each state, [S·A].
func (m *MDP) CheckPolicy(policy []float64) error {
	if len(policy) != m.states*m.actions {
		return fmt.Errorf("mdp: policy: got %d numbers, want states × actions = %d", len(policy), m.states*m.actions)
	}
	for s := 0; s < m.states; s++ {
		sum := 0.0
		for a, p := range policy[s*m.actions : (s+1)*m.actions] {
			if !(p >= 0) {
				return fmt.Errorf("mdp: policy[%d,%d] = %g is not a probability", s, a, p)
			}
			sum += p
		}
		if !(math.Abs(sum-1) <= rowTolerance) {
			return fmt.Errorf("mdp: policy[%d] sums to %g, want 1", s, sum)
		}
	}
	return nil
}

// Boltzmann writes the policy π(a|s) ∝ exp(β q(s,a)) to dst, allocated if nil, and returns it. q and the result are
// row-by-row in states of the given number of actions, so any number of states goes (Eq. boltzmann-likelihood).
func Boltzmann(dst, q []float64, actions int, beta float64) []float64 {
	if dst == nil {
		dst = make([]float64, len(q))
	}
	for i := 0; i < len(q); i += actions {
		row, out := q[i:i+actions], dst[i:i+actions]
		top := floats.Max(row)
		sum := 0.0
		for a, v := range row {
			out[a] = math.Exp(beta * (v - top))
			sum += out[a]
		}
		floats.Scale(1/sum, out)
	}
	return dst
}

// LogBoltzmann is Boltzmann for the logarithms of the policy's probabilities. dst may be q.
func LogBoltzmann(dst, q []float64, actions int, beta float64) []float64 {
	if dst == nil {
		dst = make([]float64, len(q))
	}
	floats.ScaleTo(dst, beta, q)
	for i := 0; i < len(dst); i += actions {
		row := dst[i : i+actions]
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return dst
}

// Deterministic returns the policy [S·A] that takes the given action in each state.
func (m *MDP) Deterministic(action []int) ([]float64, error) {
	if err := m.checkActions(action); err != nil {
		return nil, err
	}
	policy := make([]float64, m.states*m.actions)
	for s, a := range action {
		policy[s*m.actions+a] = 1
	}
	return policy, nil
}

// checkActions refuses a vector that is not an action of each state.
func (m *MDP) checkActions(action []int) error {
	if len(action) != m.states {
		return fmt.Errorf("mdp: got %d actions, want one for each of the %d states", len(action), m.states)
	}
	for s, a := range action {
		if a < 0 || a >= m.actions {
			return fmt.Errorf("mdp: action[%d] = %d is outside 0..%d", s, a, m.actions-1)
		}
	}
	return nil
}

// Uniform returns the policy that takes every action with the same probability, [S·A].
func (m *MDP) Uniform() []float64 {
	return slices.Repeat([]float64{1 / float64(m.actions)}, m.states*m.actions)
}
