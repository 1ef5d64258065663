package reference

import (
	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/mdp"
)

// planner finds the optimal values of one reward after another by mdp.Solver.
type planner struct {
	solver  *mdp.Solver
	m       *mdp.MDP
	actions int

	policy   []int     // π, greedy in q, [S]
	value, q []float64 // V, [S]; Q, [S·A]
}

func newPlanner(m *mdp.MDP, discount float64) (*planner, error) {
	solver, err := m.NewSolver(discount)
	if err != nil {
		return nil, err
	}
	return &planner{solver: solver, m: m, actions: m.Actions()}, nil
}

// solve finds the optimal values for rewards of the state-action pairs, [S·A]. It reports whether they are finite.
func (p *planner) solve(immediate []float64) bool {
	solution, err := p.solver.SolveNear(immediate)
	if err != nil {
		return false
	}
	p.policy, p.value, p.q = solution.Greedy, solution.V, solution.Q
	return !floats.HasNaN(p.q)
}
