// Package mdp holds finite Markov decision processes with known dynamics: their sparse transition structure, their
// exact solution for a given reward, Boltzmann demonstrators, and demonstrations.
//
// Rewards are plain vectors. A vector of length S is a state-only reward R(s), paid for executing any action in s;
// a vector of length S·A is a state-action reward R(s,a), stored row by row (index s·A + a). Q-values, policies and
// action probabilities use the same row-by-row layout.
//
// A state-action pair whose transition row is all zero ends the episode: its Q-value is its reward. A terminal state is
// one where that holds for every action.
package mdp

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/check"
)

// rowTolerance is how far a transition row may be from summing to one. Files written in float32 stay within it.
const rowTolerance = 1e-6

// Transition is one possible successor of a state-action pair.
type Transition struct {
	Next int     // successor state
	Prob float64 // its probability, in (0, 1]
}

// MDP is a finite Markov decision process without its reward. It is immutable once built and safe to share.
type MDP struct {
	states, actions int
	rowStart        []int32 // [S·A + 1], offsets into next and prob
	next            []int32
	prob            []float64
	run             []int32 // of each row, its first successor where they follow one another, or −1 (see runOf)
	order           order
	initial         []float64 // [S], sums to one
}

// New builds an MDP from the successors of every state-action pair: rows[s·actions+a], empty where the episode ends.
// initial is the distribution of the first state, of length states; nil means uniform. Sums go through a row in its own
// order: samplers with the same seed give the same draws only if that is the same too.
func New(states, actions int, rows [][]Transition, initial []float64) (*MDP, error) {
	if err := checkSize(states, actions); err != nil {
		return nil, err
	}
	if len(rows) != states*actions {
		return nil, fmt.Errorf("mdp: transitions: got %d rows, want states × actions = %d × %d = %d",
			len(rows), states, actions, states*actions)
	}
	return build(states, actions, func(i int) []Transition { return rows[i] }, initial)
}

// FromDense builds an MDP from a dense transition array p of shape [states, actions, states], row-major.
func FromDense(states, actions int, p, initial []float64) (*MDP, error) {
	if err := checkSize(states, actions); err != nil {
		return nil, err
	}
	if len(p) != states*actions*states {
		return nil, fmt.Errorf("mdp: transitions: got %d numbers, want the shape [%d,%d,%d]", len(p), states, actions,
			states)
	}
	row := make([]Transition, 0, states)
	return build(states, actions, func(i int) []Transition {
		row = row[:0]
		for next, prob := range p[i*states : (i+1)*states] {
			if prob != 0 {
				row = append(row, Transition{next, prob})
			}
		}
		return row
	}, initial)
}

func checkSize(states, actions int) error {
	if states <= 0 || actions <= 0 {
		return fmt.Errorf("mdp: need at least one state and one action, got %d states and %d actions", states, actions)
	}
	if states > math.MaxInt32/actions {
		return fmt.Errorf("mdp: %d states and %d actions are more than %d pairs", states, actions, math.MaxInt32)
	}
	return nil
}

// build builds an MDP from its rows, each of which is used before the next is asked for, in time linear in their
// lengths.
func build(states, actions int, rowOf func(i int) []Transition, initial []float64) (*MDP, error) {
	m := &MDP{states: states, actions: actions, rowStart: make([]int32, 1, states*actions+1)}
	last := make([]int, states) // 1 + where in m.next the state was put last
	for i := range states * actions {
		row, sum := rowOf(i), 0.0
		for _, t := range row {
			if t.Next < 0 || t.Next >= states {
				return nil, fmt.Errorf("mdp: transitions[%d,%d]: successor %d is outside 0..%d", i/actions, i%actions,
					t.Next, states-1)
			}
			if !(t.Prob >= 0 && t.Prob <= 1+rowTolerance) { // also refuses NaN
				return nil, fmt.Errorf("mdp: transitions[%d,%d,%d] = %g is not a probability, in [0, 1] to within %g",
					i/actions, i%actions, t.Next, t.Prob, rowTolerance)
			}
			sum += t.Prob
		}
		if len(row) > 0 && sum != 0 && math.Abs(sum-1) > rowTolerance {
			return nil, fmt.Errorf("mdp: transitions[%d,%d] sums to %g; a row must sum to 1 within %g, for which "+
				"float16 is too coarse, or be all zero where the episode ends", i/actions, i%actions, sum,
				rowTolerance)
		}
		first := len(m.next)
		for _, t := range row {
			if t.Prob == 0 {
				continue
			}
			if k := last[t.Next] - 1; k >= first { // the row has named this state before
				m.prob[k] += t.Prob / sum
				continue
			}
			m.next, m.prob = append(m.next, int32(t.Next)), append(m.prob, t.Prob/sum)
			last[t.Next] = len(m.next)
		}
		m.rowStart = append(m.rowStart, int32(len(m.next)))
		m.run = append(m.run, runOf(m.next[first:]))
	}
	m.order = m.elimination()
	var err error
	m.initial, err = initialDistribution(initial, states)
	return m, err
}

// leastRun is how many states make a run: of fewer, a product is faster one by one.
const leastRun = 8

// runOf returns the first of some states that follow one another, and -1 where they do not or are few.
func runOf(next []int32) int32 {
	if len(next) < leastRun {
		return -1
	}
	for k, to := range next {
		if to != next[0]+int32(k) {
			return -1
		}
	}
	return next[0]
}

func initialDistribution(initial []float64, states int) ([]float64, error) {
	if initial == nil {
		return slices.Repeat([]float64{1 / float64(states)}, states), nil
	}
	if len(initial) != states {
		return nil, fmt.Errorf("mdp: initial: got %d probabilities, want one for each of the %d states", len(initial),
			states)
	}
	sum := 0.0
	for s, p := range initial {
		if !(p >= 0) || math.IsInf(p, 0) {
			return nil, fmt.Errorf("mdp: initial[%d] = %g is not a probability", s, p)
		}
		sum += p
	}
	if math.Abs(sum-1) > rowTolerance {
		return nil, fmt.Errorf("mdp: initial sums to %g, want 1", sum)
	}
	out := make([]float64, states)
	for s, p := range initial {
		out[s] = p / sum
	}
	return out, nil
}

// States returns the number of states S.
func (m *MDP) States() int { return m.states }

// Actions returns the number of actions A.
func (m *MDP) Actions() int { return m.actions }

// Initial returns the distribution of the first state, [S]. The caller must not change it.
func (m *MDP) Initial() []float64 { return m.initial }

// Row returns the successors of (s, a) and their probabilities; both are empty where the episode ends. The caller must
// not change them.
func (m *MDP) Row(s, a int) (next []int32, prob []float64) {
	i := s*m.actions + a
	lo, hi := m.rowStart[i], m.rowStart[i+1]
	return m.next[lo:hi], m.prob[lo:hi]
}

// Expect returns Σ_s' p(s'|s,a) v(s').
func (m *MDP) Expect(s, a int, v []float64) (sum float64) {
	next, prob := m.Row(s, a)
	if first := m.run[s*m.actions+a]; first >= 0 {
		return floats.Dot(prob, v[first:int(first)+len(next)])
	}
	for k, to := range next {
		sum += prob[k] * v[to]
	}
	return sum
}

// AddRow adds c p(·|s,a) to dst, [S].
func (m *MDP) AddRow(dst []float64, s, a int, c float64) {
	next, prob := m.Row(s, a)
	if first := m.run[s*m.actions+a]; first >= 0 {
		floats.AddScaled(dst[first:int(first)+len(next)], c, prob)
		return
	}
	for k, to := range next {
		dst[to] += c * prob[k]
	}
}

// Stay returns p(s|s,a).
func (m *MDP) Stay(s, a int) float64 {
	next, prob := m.Row(s, a)
	if k := slices.Index(next, int32(s)); k >= 0 { // a row names a state once
		return prob[k]
	}
	return 0
}

// Ends reports whether the episode ends after action a in state s.
func (m *MDP) Ends(s, a int) bool {
	i := s*m.actions + a
	return m.rowStart[i] == m.rowStart[i+1]
}

// Terminal reports whether every action in state s ends the episode.
func (m *MDP) Terminal(s int) bool {
	return m.rowStart[s*m.actions] == m.rowStart[(s+1)*m.actions]
}

// Backup returns Σ_s' p(s'|s,a) v(s') for every state-action pair, [S·A]; zero where the episode ends. dst is used if
// it has that length, and allocated if it is nil.
func (m *MDP) Backup(dst, v []float64) []float64 {
	if dst == nil {
		dst = make([]float64, m.states*m.actions)
	}
	lo := m.rowStart[0]
	for i, hi := range m.rowStart[1:] {
		sum := 0.0
		next := m.next[lo:hi]
		if first := m.run[i]; first >= 0 {
			dst[i], lo = floats.Dot(m.prob[lo:hi], v[first:int(first)+len(next)]), hi
			continue
		}
		for k, p := range m.prob[lo:hi] {
			sum += p * v[next[k]]
		}
		dst[i], lo = sum, hi
	}
	return dst
}

// Dense returns the transition probabilities as a dense array of shape [S, A, S], row-major.
func (m *MDP) Dense() []float64 {
	out := make([]float64, m.states*m.actions*m.states)
	for i := 0; i < m.states*m.actions; i++ {
		for k := m.rowStart[i]; k < m.rowStart[i+1]; k++ {
			out[i*m.states+int(m.next[k])] = m.prob[k]
		}
	}
	return out
}

// ExpandReward returns the reward as a state-action vector [S·A], whichever of the two lengths it has. With a single
// action the two coincide.
func (m *MDP) ExpandReward(reward []float64) ([]float64, error) {
	out := make([]float64, m.states*m.actions)
	if err := m.expandReward(out, reward); err != nil {
		return nil, err
	}
	return out, nil
}

func (m *MDP) expandReward(dst, reward []float64) error {
	if err := check.Finite("mdp: reward", reward); err != nil {
		return err
	}
	switch len(reward) {
	case len(dst):
		copy(dst, reward)
		return nil
	case m.states:
		for s, r := range reward {
			for a := range m.actions {
				dst[s*m.actions+a] = r
			}
		}
		return nil
	}
	return fmt.Errorf("mdp: reward: got %d numbers, want %d (one a state) or %d (one a state-action pair)",
		len(reward), m.states, len(dst))
}
