package mdp

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// sweeps of value iteration before policy iteration: cheaper than the policy iterations that they save.
const sweeps = 5

// CheckDiscount refuses a discount outside [0, 1).
func CheckDiscount(discount float64) error {
	if !(discount >= 0 && discount < 1) {
		return fmt.Errorf("mdp: discount = %g is outside [0, 1), such as 0.9 or 0.999", discount)
	}
	return nil
}

// Solution is an optimal solution of an MDP for one reward.
type Solution struct {
	Q      []float64 // optimal state-action values, [S·A]
	V      []float64 // optimal state values, [S]
	Greedy []int     // a greedy action per state, [S]
}

// Solve returns the optimal values for a reward of length S or S·A, exact to rounding. Solver is for many rewards.
func (m *MDP) Solve(reward []float64, discount float64) (*Solution, error) {
	solver, err := m.NewSolver(discount)
	if err != nil {
		return nil, err
	}
	return solver.Solve(reward)
}

// Solver solves an MDP for many rewards, one after the other in the same memory. It is not for concurrent use. Its
// answers do not depend on the rewards that it solved before.
type Solver struct {
	m         *MDP
	discount  float64
	system    *System
	scratch   []float64 // of the system
	immediate []float64 // reward of each state-action pair, [S·A]
	solution  Solution
	work      float64 // see Work

	policy []float64 // of SolveSoft, [S·A]
	paid   []float64 // mean reward of that policy in each state, the entropy's included, [S]
}

// NewSolver returns a solver for the given discount.
func (m *MDP) NewSolver(discount float64) (*Solver, error) {
	if err := CheckDiscount(discount); err != nil {
		return nil, err
	}
	return m.newSolver(discount), nil
}

func (m *MDP) newSolver(discount float64) *Solver {
	pairs, system := m.states*m.actions, m.NewSystem()
	return &Solver{
		m: m, discount: discount, system: system, scratch: system.scratch(), immediate: make([]float64, pairs),
		solution: Solution{Q: make([]float64, pairs), V: make([]float64, m.states), Greedy: make([]int, m.states)},
	}
}

// Clone returns a solver of the same MDP and discount that has solved nothing yet.
func (o *Solver) Clone() *Solver { return o.m.newSolver(o.discount) }

// Solve returns the optimal values for a reward of length S or S·A, exact to rounding: policy iteration, each policy
// evaluated by a linear solve (Howard, 1960), from the greedy policy of a few sweeps of value iteration. The solution
// is valid until the next call.
func (o *Solver) Solve(reward []float64) (*Solution, error) {
	if err := o.m.expandReward(o.immediate, reward); err != nil {
		return nil, err
	}
	clear(o.solution.V)
	o.backup()
	o.sweep()
	return o.improve(), nil
}

// SolveFrom returns what Solve does, by policy iteration from the given deterministic policy [S]: a single policy
// evaluation if that is optimal. Where actions are equally good, it returns the policy's. The solution is valid until
// the next call; the policy may be the Greedy of the last one.
func (o *Solver) SolveFrom(reward []float64, policy []int) (*Solution, error) {
	if err := o.m.expandReward(o.immediate, reward); err != nil {
		return nil, err
	}
	if err := o.m.checkActions(policy); err != nil {
		return nil, err
	}
	copy(o.solution.Greedy, policy)
	return o.improve(), nil
}

// SolveNear returns what Solve does for a reward near the last one: its greedy policy, whose factors are at hand, is
// improved. Where actions are equally good, the answer may depend on the rewards before.
func (o *Solver) SolveNear(reward []float64) (*Solution, error) {
	if o.system.held == nil {
		return o.Solve(reward)
	}
	if err := o.m.expandReward(o.immediate, reward); err != nil {
		return nil, err
	}
	return o.improve(), nil
}

const (
	softIterations = 50   // of SolveSoft at most; few are needed, but rounding may keep it from an end
	softTolerance  = 1e-6 // of the temperature
)

// SolveSoft returns the optimal values of an agent that is paid temperature · H(π(·|s)) for the entropy of what it does
// (Ziebart, 2010), and its policy [S·A]:
//
//	V(s) = temperature · log Σ_a exp(Q(s,a) / temperature),   π(a|s) = exp((Q(s,a) − V(s)) / temperature),
//
// by policy iteration from the values of the last solution until none changes by more than 10⁻⁶ of the temperature.
// Greedy is its likeliest action. Both are valid until the next call.
func (o *Solver) SolveSoft(reward []float64, temperature float64) (*Solution, []float64, error) {
	if !(temperature > 0) {
		return nil, nil, fmt.Errorf("mdp: temperature = %g, want a positive number", temperature)
	}
	if err := o.m.expandReward(o.immediate, reward); err != nil {
		return nil, nil, err
	}
	sol, actions := &o.solution, o.m.actions
	if o.policy == nil {
		o.policy, o.paid = make([]float64, len(o.immediate)), make([]float64, len(sol.V))
	}
	if sum := floats.Sum(sol.V); math.IsNaN(sum) || math.IsInf(sum, 0) {
		clear(sol.V)
	}
	o.backup()
	for i := range softIterations {
		most := 0.0
		for s, before := range sol.V {
			q, p := sol.Q[s*actions:(s+1)*actions], o.policy[s*actions:(s+1)*actions]
			sol.Greedy[s] = argmax(q)
			LogBoltzmann(p, q, actions, 1/temperature)
			sol.V[s] = q[0] - temperature*p[0]
			most = math.Max(most, math.Abs(sol.V[s]-before))
			o.paid[s] = 0
			for a, log := range p {
				p[a] = math.Exp(log)
				o.paid[s] += p[a] * (o.immediate[s*actions+a] - temperature*log)
			}
		}
		if i > 0 && !(most > softTolerance*temperature) {
			break
		}
		o.system.setPolicy(o.policy, o.discount)
		o.work += float64(o.system.factorizeFrom(0)) + o.system.solveWork()
		copy(sol.V, o.paid)
		o.system.solve(sol.V, o.scratch)
		o.backup()
	}
	return sol, o.policy, nil
}

// Adjoint replaces x [S] by the solution y of (I − γ P_π)ᵀ y = x, π the policy of the last solution: with x the
// gradient of a function in V, y is that in the rewards of π.
func (o *Solver) Adjoint(x []float64) {
	o.system.solveTransposed(x, o.scratch)
	o.work += o.system.solveWork()
}

// Work returns about how many multiplications all solutions took so far.
func (o *Solver) Work() float64 { return o.work }

// sweep makes the solution's policy greedy after sweeps of value iteration from its Q.
func (o *Solver) sweep() {
	sol, actions := &o.solution, o.m.actions
	for i := range sweeps {
		if i > 0 {
			o.backup()
		}
		for s := range sol.V {
			q := sol.Q[s*actions : (s+1)*actions]
			sol.V[s] = q[argmax(q)]
		}
	}
	for s := range sol.Greedy {
		sol.Greedy[s] = argmax(sol.Q[s*actions : (s+1)*actions])
	}
}

// improve iterates evaluation and improvement from the greedy policy that the solution holds until it is optimal.
func (o *Solver) improve() *Solution {
	top := math.NaN() // the largest reward, found where it is needed
	for {
		o.evaluate()
		o.backup()
		if !o.better(&top) {
			return &o.solution
		}
	}
}

// Rounding returns the least difference of two actions' values in state s that the last solution tells apart.
func (o *Solver) Rounding(s int) float64 {
	reward := largest(o.immediate)
	q := o.solution.Q[s*o.m.actions : (s+1)*o.m.actions]
	return o.margin(reward, largest(o.solution.V), largest(q), 0)
}

// margin returns by how much an action must be better than the one held, for the largest reward and value and
// the values of both: the rounding of the linear solve, whose condition number is below 2/(1−γ), or exact ties could
// make the iteration cycle. Where episodes end soon, values elsewhere that grow with the horizon add nothing to it;
// 1e-6 is above 2e-16 · 2/(1−γ) for every γ up to 1 − 1e-9.
func (o *Solver) margin(reward, value, better, held float64) float64 {
	return min(1e-14*(reward+value)/(1-o.discount), 1e-6*(reward+math.Abs(better)+math.Abs(held)))
}

// better makes the policy greedy in Q, and reports whether it was not. It finds the largest reward where it needs it.
func (o *Solver) better(reward *float64) bool {
	sol, actions := &o.solution, o.m.actions
	value := math.NaN() // the largest, found where it is needed
	changed := false
	for s, held := range sol.Greedy {
		q := sol.Q[s*actions : (s+1)*actions]
		if !slices.ContainsFunc(q, func(x float64) bool { return x > q[held] }) {
			continue
		}
		best := argmax(q)
		if math.IsNaN(value) {
			if math.IsNaN(*reward) {
				*reward = largest(o.immediate)
			}
			value = largest(sol.V)
		}
		if q[best] > q[held]+o.margin(*reward, value, q[best], q[held]) {
			sol.Greedy[s], changed = best, true
		}
	}
	return changed
}

// backup sets Q = R + γ P V.
func (o *Solver) backup() {
	q := o.m.Backup(o.solution.Q, o.solution.V)
	for i, r := range o.immediate[:len(q)] {
		q[i] = r + o.discount*q[i]
	}
	o.work += float64(len(o.m.prob) + len(q))
}

// evaluate sets V to the value of the greedy policy.
func (o *Solver) evaluate() {
	o.work += o.system.FactorizePolicy(o.solution.Greedy, o.discount) + o.system.solveWork()
	for s, a := range o.solution.Greedy {
		o.solution.V[s] = o.immediate[s*o.m.actions+a]
	}
	o.system.solve(o.solution.V, o.scratch)
}

// ValueIteration returns the optimal Q-values [S·A] and state values [S] for a reward of length S or S·A, iterated
// until the largest error is below tol: the stopping rule ‖V_k+1 − V_k‖∞ ≤ tol·(1−γ)/γ guarantees it.
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
		if !(change*discount > tol*(1-discount)) { // nor where values leave the range of float64
			return q, v, nil
		}
	}
}

// Evaluator gives the values of one policy under many rewards. It may be used concurrently.
type Evaluator struct {
	m      *MDP
	policy []float64
	system *System // I − γ P_π, factorised
}

// NewEvaluator returns the evaluator of a stochastic policy [S·A], which it keeps: a factorisation for all rewards.
func (m *MDP) NewEvaluator(policy []float64, discount float64) (*Evaluator, error) {
	system, err := m.policySystem(policy, discount)
	if err != nil {
		return nil, err
	}
	return &Evaluator{m, policy, system}, nil
}

// Value returns the exact state values [S] of the policy for a reward of length S or S·A: the solution of
//
//	(I − γ P_π) V = R_π
func (e *Evaluator) Value(reward []float64) ([]float64, error) {
	r, err := e.m.ExpandReward(reward)
	if err != nil {
		return nil, err
	}
	v := make([]float64, e.m.states)
	for i, p := range e.policy {
		v[i/e.m.actions] += p * r[i]
	}
	e.system.solve(v, e.system.scratch())
	return v, nil
}

// PolicyValue returns the exact state values [S] of a stochastic policy [S·A] for a reward of length S or S·A.
// Evaluator is for many rewards.
func (m *MDP) PolicyValue(policy, reward []float64, discount float64) ([]float64, error) {
	e, err := m.NewEvaluator(policy, discount)
	if err != nil {
		return nil, err
	}
	return e.Value(reward)
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
	visits := slices.Clone(m.initial)
	system.solveTransposed(visits, system.scratch())
	out := make([]float64, len(policy))
	for i, p := range policy {
		out[i] = p * visits[i/m.actions]
	}
	return out, nil
}

// policySystem returns I − γ P_π of a stochastic policy [S·A], factorised.
func (m *MDP) policySystem(policy []float64, discount float64) (*System, error) {
	if err := CheckDiscount(discount); err != nil {
		return nil, err
	}
	if err := m.CheckPolicy(policy); err != nil {
		return nil, err
	}
	y := m.NewSystem()
	y.setPolicy(policy, discount)
	y.factorizeFrom(0)
	return y, nil
}

// largest returns the maximum norm, NaN if any number is.
func largest(x []float64) float64 {
	top := 0.0
	for _, v := range x {
		if v = math.Abs(v); v > top || v != v {
			top = v
		}
	}
	return top
}

// argmax returns the first index of the largest element.
func argmax(x []float64) int {
	best, top := 0, x[0]
	for i, v := range x {
		if v > top {
			best, top = i, v
		}
	}
	return best
}
