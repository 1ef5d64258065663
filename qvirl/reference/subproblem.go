package reference

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// subproblem is one of states that nothing outside of them matters to.
type subproblem struct {
	*irl.Problem
	states []int // of the problem that it is a part of, in ascending order; nil: all
}

// divide returns the independent subproblems of a problem: groups of demonstrated states no two of which lead to the
// same unknown reward, with all states that they lead to. Where rewards are independent a priori and β is known, the
// rewards of each have a posterior of their own, and those of none have the prior:
//
//	p(R | D) ∝ Π_i p(R_i) p(D_i | R_i) · p(R_rest)
//
// Known rewards, and states that lead to nothing else, may belong to several. A problem of which demonstrations tell
// nothing, or something of each state together, is its only subproblem.
func (t *Target) divide() ([]subproblem, error) {
	whole := []subproblem{{Problem: t.problem}}
	if t.diag == nil || t.problem.InfersBeta() {
		return whole, nil
	}
	leads := t.leads()
	group, members := t.groups(leads), map[int][]int{}
	var order []int
	for _, d := range t.demoed {
		g := group[d]
		if g < 0 {
			continue
		}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], d)
	}
	var out []subproblem
	for _, g := range order {
		var states []int
		for _, s := range around(leads, members[g]...) {
			states = append(states, s)
		}
		slices.Sort(states)
		problem, err := t.restrict(states, members[g])
		if err != nil {
			return nil, err
		}
		out = append(out, subproblem{problem, states})
	}
	if len(out) == 0 || len(out) == 1 && len(out[0].states) == len(leads) {
		return whole, nil
	}
	return out, nil
}

// leads returns the states that may follow each one, as far as they matter to its values.
func (t *Target) leads() [][]int32 {
	leads := make([][]int32, t.problem.MDP.States())
	if t.problem.Discount == 0 {
		return leads
	}
	for s := range leads {
		leads[s] = t.problem.MDP.Successors(s)
	}
	return leads
}

// groups returns for each state that a demonstrated one leads to, and whose value is not known, the number of its
// group; −1 for all others. Demonstrated states that lead to the same such state are of one group.
func (t *Target) groups(leads [][]int32) []int {
	unknown := t.unknown(leads)
	parent := make([]int, len(leads)) // of a forest, in which each tree is a group
	for s := range parent {
		parent[s] = -1
	}
	root := func(s int) int {
		for parent[s] != s {
			parent[s] = parent[parent[s]]
			s = parent[s]
		}
		return s
	}
	for _, d := range t.demoed {
		stack := []int{d}
		for len(stack) > 0 {
			s := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch {
			case !unknown[s]:
			case parent[s] >= 0:
				parent[root(s)] = root(d)
			default:
				parent[s] = d
				for _, next := range leads[s] {
					stack = append(stack, int(next))
				}
			}
		}
	}
	for s, p := range parent {
		if p >= 0 {
			parent[s] = root(s)
		}
	}
	return parent
}

// unknown reports which states lead to an unknown reward, their own or another's.
func (t *Target) unknown(leads [][]int32) []bool {
	before := make([][]int32, len(leads))
	for s, next := range leads {
		for _, to := range next {
			before[to] = append(before[to], int32(s))
		}
	}
	var own []int
	for i, std := range t.stds() {
		if std > 0 {
			own = append(own, i/t.perState())
		}
	}
	out := make([]bool, len(leads))
	for _, s := range around(before, own...) {
		out[s] = true
	}
	return out
}

// stds returns the prior standard deviations of the rewards, [n]. (Entries of a low-rank factor may be negative, and
// columns zero.)
func (t *Target) stds() []float64 {
	std := make([]float64, t.n)
	for j, i := range t.free {
		std[i] = math.Max(std[i], math.Abs(t.diag[j]))
	}
	if t.root != nil {
		for i := range std {
			std[i] = floats.Norm(t.root.RawRowView(i), 2)
		}
	}
	return std
}

// gather returns the numbers of some states, of x with as many for each state.
func gather(x []float64, states []int, each int) []float64 {
	out := make([]float64, 0, len(states)*each)
	for _, s := range states {
		out = append(out, x[s*each:(s+1)*each]...)
	}
	return out
}

// scatter sets the numbers of some states in x to those that gather would return.
func scatter(x []float64, states []int, each int, from []float64) {
	for at, s := range states {
		copy(x[s*each:(s+1)*each], from[at*each:])
	}
}

// restrict returns the problem of some states, which lead to no others, with the demonstrations in some of them; both
// in ascending order.
func (t *Target) restrict(states, demoed []int) (*irl.Problem, error) {
	p := t.problem
	actions, each := p.MDP.Actions(), t.perState()
	place := make(map[int]int, len(states))
	rows := make([][]mdp.Transition, 0, len(states)*actions)
	for i, s := range states {
		place[s] = i
	}
	for _, s := range states {
		for a := range actions {
			var row []mdp.Transition
			next, prob := p.MDP.Row(s, a)
			for k, to := range next {
				if p.Discount > 0 {
					row = append(row, mdp.Transition{Next: place[int(to)], Prob: prob[k]})
				}
			}
			rows = append(rows, row)
		}
	}
	m, err := mdp.New(len(states), actions, rows, nil)
	if err != nil {
		return nil, err
	}
	prior := irl.DiagonalPrior(gather(p.Prior.Mean, states, each), gather(t.stds(), states, each))
	out := &irl.Problem{MDP: m, Prior: prior, Discount: p.Discount, Beta: p.Beta}
	for _, d := range p.Demos {
		if _, in := slices.BinarySearch(demoed, d.State); in {
			out.Demos = append(out.Demos, mdp.Step{State: place[d.State], Action: d.Action})
		}
	}
	return out, nil
}
