package problemfile

import (
	"errors"
	"fmt"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
)

func (r *reader) mdp() *mdp.MDP {
	var m *mdp.MDP
	if r.archive.Has(probs) {
		rows := r.successors()
		if first := r.initial(); r.err == nil {
			m, r.err = mdp.New(r.states, r.actions, rows, first)
		}
	} else {
		a := r.array(transitions)
		turned := ""
		if len(a.Shape) == 3 && a.Shape[1] == a.Shape[2] {
			turned = ", as transpose(1, 0, 2) gives"
		}
		r.wantShape(len(a.Shape) == 3 && a.Shape[0] == a.Shape[2] && len(a.Data) > 0, transitions, a,
			"[states, actions, states]%s", turned)
		if r.err != nil {
			return nil
		}
		r.states, r.actions = a.Shape[0], a.Shape[1]
		if first := r.initial(); r.err == nil {
			m, r.err = mdp.FromDense(r.states, r.actions, a.Data, first)
		}
	}
	return m
}

// initial reads the distribution of the first state, nil where there is none.
func (r *reader) initial() []float64 {
	if !r.archive.Has(initial) {
		return nil
	}
	first := r.array(initial)
	r.wantShape(is(first.Shape, r.states), initial, first, "[%d]", r.states)
	return first.Data
}

// successors reads the transitions that are given without their zeros, and the numbers of states and actions.
func (r *reader) successors() [][]mdp.Transition {
	p, at := r.array(probs), r.integers(indices)
	if r.err != nil {
		return nil
	}
	mean, err := r.archive.Shape(priorMean)
	if err != nil || len(mean) == 0 || mean[0] == 0 {
		r.err = errors.Join(err, fmt.Errorf("%s has the shape %v, want [states] or [states, actions]", priorMean, mean))
		return nil
	}
	r.states = mean[0]
	if r.archive.Has(rowStarts) {
		return r.compressed(p, at)
	}
	k := len(p.Data)
	if !is(p.Shape, k) || !is(at.Shape, k, 3) {
		r.err = fmt.Errorf("%s and %s have the shapes %v and %v, want [k] and [k, 3]: a state, an action and a "+
			"successor in each row; or [k] and [k], with %s", probs, indices, p.Shape, at.Shape, rowStarts)
		return nil
	}
	for i := range k {
		r.actions = max(r.actions, 1+int(at.Data[3*i+1]))
	}
	if len(mean) == 2 {
		r.actions = mean[1]
	}
	if r.actions > maxNumbers/r.states {
		r.err = fmt.Errorf("%s name %d actions in %d states; want at most %d pairs", indices, r.actions, r.states,
			maxNumbers)
		return nil
	}
	rows := make([][]mdp.Transition, r.states*r.actions)
	for i, v := range p.Data {
		s, a, next := int(at.Data[3*i]), int(at.Data[3*i+1]), int(at.Data[3*i+2])
		if s < 0 || s >= r.states || a < 0 || a >= r.actions {
			r.err = fmt.Errorf("%s[%d] names action %d in state %d, of %d actions in %d states (the length of %s)",
				indices, i, a, s, r.actions, r.states, priorMean)
			return nil
		}
		rows[s*r.actions+a] = append(rows[s*r.actions+a], mdp.Transition{Next: next, Prob: v})
	}
	return rows
}

// compressed is successors in CSR format.
func (r *reader) compressed(p, at *npz.Array) [][]mdp.Transition {
	starts := r.integers(rowStarts)
	if r.err != nil {
		return nil
	}
	k, count := len(p.Data), len(starts.Data)-1
	if !is(p.Shape, k) || !is(at.Shape, k) || len(starts.Shape) != 1 || count < 1 || count%r.states != 0 {
		r.err = fmt.Errorf("%s, %s and %s have the shapes %v, %v and %v, want [k], [k] and [states·actions + 1] with "+
			"%d states (the length of %s)", probs, indices, rowStarts, p.Shape, at.Shape, starts.Shape, r.states,
			priorMean)
		return nil
	}
	r.actions = count / r.states
	rows := make([][]mdp.Transition, count)
	for i := range rows {
		from, to := int(starts.Data[i]), int(starts.Data[i+1])
		if from < 0 || to < from || to > k || i == 0 && from != 0 || i == count-1 && to != k {
			r.err = fmt.Errorf("%s[%d:%d] = %d, %d: want numbers that grow from 0 to %d, the length of %s", rowStarts,
				i, i+2, from, to, k, probs)
			return nil
		}
		for j := from; j < to; j++ {
			rows[i] = append(rows[i], mdp.Transition{Next: int(at.Data[j]), Prob: p.Data[j]})
		}
	}
	return rows
}

func (r *reader) demos() []mdp.Step {
	a := r.integers(demos)
	if len(a.Data) == 0 { // NumPy makes an empty list an array of shape (0,)
		return nil
	}
	flat := ""
	if n := len(a.Shape); n > 2 && a.Shape[n-1] == 2 {
		flat = ", as reshape(-1, 2) gives"
	}
	r.wantShape(len(a.Shape) == 2 && a.Shape[1] == 2, demos, a, "[n, 2]: a state and an action in each row%s", flat)
	if r.err != nil {
		return nil
	}
	steps := make([]mdp.Step, a.Shape[0])
	for i := range steps {
		steps[i] = mdp.Step{State: int(a.Data[2*i]), Action: int(a.Data[2*i+1])}
	}
	return steps
}
