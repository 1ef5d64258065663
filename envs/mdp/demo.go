package mdp

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Step is one demonstrated decision: action taken in state.
type Step struct{ State, Action int }

// Trajectory is the sequence of decisions of one episode, in order.
type Trajectory []Step

// Flatten returns the steps of all trajectories in order. The likelihood of demonstrations depends on nothing else.
func Flatten(trajectories []Trajectory) []Step {
	return slices.Concat(trajectories...)
}

// CheckSteps refuses steps whose state or action is out of range.
func (m *MDP) CheckSteps(steps []Step) error {
	for i, d := range steps {
		if d.State < 0 || d.State >= m.states {
			return fmt.Errorf("mdp: demos[%d]: state %d is outside 0..%d", i, d.State, m.states-1)
		}
		if d.Action < 0 || d.Action >= m.actions {
			return fmt.Errorf("mdp: demos[%d]: action %d is outside 0..%d", i, d.Action, m.actions-1)
		}
	}
	return nil
}

// Rollout follows a stochastic policy [S·A] from the given state for at most length steps, or until the episode ends;
// the action that ends it is part of the trajectory.
func (m *MDP) Rollout(rng *rand.Rand, policy []float64, start, length int) Trajectory {
	var t Trajectory
	for s := start; len(t) < length; {
		a := Draw(rng, policy[s*m.actions:(s+1)*m.actions])
		t = append(t, Step{s, a})
		if m.Ends(s, a) {
			break
		}
		next, prob := m.Row(s, a)
		s = int(next[Draw(rng, prob)])
	}
	return t
}

// DrawInitial draws a first state from the initial distribution.
func (m *MDP) DrawInitial(rng *rand.Rand) int { return Draw(rng, m.initial) }

// Demonstrate rolls out n trajectories of at most length steps from drawn initial states, by an expert who is
// Boltzmann-rational for its optimal Q-values [S·A] with coefficient beta (Appendix "Expert Demonstrations").
func (m *MDP) Demonstrate(rng *rand.Rand, optimalQ []float64, beta float64, n, length int) []Trajectory {
	policy := Boltzmann(nil, optimalQ, m.actions, beta)
	out := make([]Trajectory, n)
	for i := range out {
		out[i] = m.Rollout(rng, policy, m.DrawInitial(rng), length)
	}
	return out
}

// Draw returns an index with the given probabilities, which sum to one up to rounding.
func Draw(rng *rand.Rand, prob []float64) int {
	u := rng.Float64()
	last := 0
	for i, p := range prob {
		if p <= 0 {
			continue
		}
		last = i
		if u -= p; u < 0 {
			break
		}
	}
	return last
}
