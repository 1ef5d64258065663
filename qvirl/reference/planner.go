package reference

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
)

// planner finds the optimal values of one reward after another, each by policy iteration from the policy of the last.
// It keeps the inverse M = (I − γ P_π)⁻¹: an action that changes in one state changes one row of I − γ P_π,
//
//	(A + e_s dᵀ)⁻¹ = M − (M e_s)(dᵀ M) / (1 + dᵀ M e_s)    (Sherman and Morrison, 1950),
//
// so that neighbouring rewards cost O(S²) in place of the O(S³) of a factorisation.
type planner struct {
	m        *mdp.MDP
	discount float64
	states   int
	actions  int

	policy  []int          // π, greedy in q, [S]
	inverse blas64.General // M of π, [S, S]
	value   []float64      // V, [S]
	q       []float64      // Q, [S·A]
	work    float64        // multiplications so far

	residual, column, row []float64 // scratch, [S]
	changed               []int
}

// maxResidual is the residual of V = R_π + γ P_π V, relative to V, above which M is computed anew.
const maxResidual = 1e-9

func newPlanner(m *mdp.MDP, discount float64) *planner {
	s := m.States()
	p := &planner{m: m, discount: discount, states: s, actions: m.Actions(), policy: make([]int, s),
		inverse: blas64.General{Rows: s, Cols: s, Stride: s, Data: make([]float64, s*s)},
		value:   make([]float64, s), q: make([]float64, s*m.Actions()),
		residual: make([]float64, s), column: make([]float64, s), row: make([]float64, s)}
	p.invert()
	return p
}

// solve finds the optimal values for rewards of the state-action pairs, [S·A].
func (p *planner) solve(immediate []float64) {
	p.work += overhead
	for round := 0; ; round++ {
		size := p.evaluate(immediate)
		p.m.Backup(p.q, p.value)
		p.work += float64(len(p.q))
		for i, r := range immediate {
			p.q[i] = r + p.discount*p.q[i]
		}
		// An action must be better by more than rounding, or exact ties could make the iteration cycle.
		margin := 1e-13 * (1 + size) * math.Pow(2, float64(max(0, round-30)))
		p.changed = p.changed[:0]
		for s, a := range p.policy {
			q := p.q[s*p.actions : (s+1)*p.actions]
			if best := floats.MaxIdx(q); q[best] > q[a]+margin {
				p.changed = append(p.changed, s)
			}
		}
		if len(p.changed) == 0 {
			return
		}
		if 4*len(p.changed) > p.states {
			p.iterate(immediate)
			p.invert()
			continue
		}
		for _, s := range p.changed {
			p.change(s, floats.MaxIdx(p.q[s*p.actions:(s+1)*p.actions]))
		}
	}
}

// sweeps is the number of sweeps of value iteration that are made where many actions change.
const sweeps = 30

// iterate improves π by value iteration from the present Q, V(s) ← max_a Q(s,a), Q ← R + γ P V: greedy in each iterate,
// it is no worse than before, and a factorisation costs as much as many sweeps over sparse transitions.
func (p *planner) iterate(immediate []float64) {
	for range sweeps {
		for s := range p.value {
			p.value[s] = floats.Max(p.q[s*p.actions : (s+1)*p.actions])
		}
		p.m.Backup(p.q, p.value)
		for i, r := range immediate {
			p.q[i] = r + p.discount*p.q[i]
		}
	}
	p.work += sweeps * float64(len(p.q))
	for s := range p.policy {
		p.policy[s] = floats.MaxIdx(p.q[s*p.actions : (s+1)*p.actions])
	}
}

// evaluate sets V to the value of π, by M and one step of iterative refinement, and returns its largest absolute value.
func (p *planner) evaluate(immediate []float64) float64 {
	for fresh := false; ; fresh = true {
		for s, a := range p.policy {
			p.row[s] = immediate[s*p.actions+a]
		}
		p.multiply(blas.NoTrans, p.value, p.row)
		size := floats.Norm(p.value, math.Inf(1))
		worst := 0.0
		for s, a := range p.policy {
			next, prob := p.m.Row(s, a)
			sum := 0.0
			for k, to := range next {
				sum += prob[k] * p.value[to]
			}
			p.residual[s] = p.row[s] + p.discount*sum - p.value[s]
			worst = math.Max(worst, math.Abs(p.residual[s]))
		}
		p.multiply(blas.NoTrans, p.column, p.residual)
		floats.Add(p.value, p.column)
		if fresh || worst <= maxResidual*size*(1-p.discount) {
			return size
		}
		p.invert()
	}
}

// multiply writes M x or Mᵀ x to dst.
func (p *planner) multiply(t blas.Transpose, dst, x []float64) {
	p.work += float64(p.states * p.states)
	blas64.Gemv(t, 1, p.inverse, blas64.Vector{N: len(x), Data: x, Inc: 1}, 0, blas64.Vector{N: len(dst), Data: dst,
		Inc: 1})
}

// change lets π take action a in state s.
func (p *planner) change(s, a int) {
	p.work += 2 * float64(p.states*p.states)
	clear(p.row) // dᵀ M
	scatter := func(action int, scale float64) {
		next, prob := p.m.Row(s, action)
		for k, to := range next {
			floats.AddScaled(p.row, scale*prob[k], p.inverse.Data[int(to)*p.states:(int(to)+1)*p.states])
		}
	}
	scatter(p.policy[s], p.discount)
	scatter(a, -p.discount)
	for i := range p.column {
		p.column[i] = p.inverse.Data[i*p.states+s]
	}
	blas64.Ger(-1/(1+p.row[s]), blas64.Vector{N: p.states, Data: p.column, Inc: 1}, blas64.Vector{N: p.states,
		Data: p.row, Inc: 1}, p.inverse)
	p.policy[s] = a
}

// invert computes M of π anew.
func (p *planner) invert() {
	p.work += float64(p.states * p.states * p.states)
	system := mat.NewDense(p.states, p.states, nil)
	for s, a := range p.policy {
		next, prob := p.m.Row(s, a)
		for k, to := range next {
			system.Set(s, int(to), -p.discount*prob[k])
		}
		system.Set(s, s, system.At(s, s)+1)
	}
	// I − γ P_π is strictly diagonally dominant by rows, hence not singular; its condition is at most 2/(1−γ).
	_ = mat.NewDense(p.states, p.states, p.inverse.Data).Inverse(system)
}
