package reference

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// subproblem is one of states that nothing outside of them matters to, but what is known. Behind its states it has
// those of known values that they lead to, where its episodes end.
type subproblem struct {
	*irl.Problem
	states []int // of the problem that it is a part of, in ascending order; nil: all
}

// divide returns the independent subproblems of a problem: groups of demonstrated states no two of which lead to the
// same unknown reward, with all states of unknown values that they lead to. Where rewards are independent a priori and
// β is known, the rewards of each have a posterior of their own, and those of none have the prior:
//
//	p(R | D) ∝ Π_i p(R_i) p(D_i | R_i) · p(R_rest),
//
// and what they leave. A problem of which demonstrations tell nothing, or something of all unknown values together, is
// its only subproblem, and leaves nothing.
func (t *Target) divide(config Config) ([]subproblem, *remainder, error) {
	whole := []subproblem{{Problem: t.problem}}
	if t.diag == nil || t.problem.InfersBeta() {
		return whole, nil, nil
	}
	leads := t.leads()
	unknown := t.unknown(leads)
	group, states := t.groups(leads, unknown), map[int][]int{} // those of each group
	var order, left []int                                      // the groups, and the states of unknown values of none
	for s, g := range group {
		switch {
		case g >= 0 && states[g] == nil:
			order = append(order, g)
			fallthrough
		case g >= 0:
			states[g] = append(states[g], s)
		case unknown[s]:
			left = append(left, s)
		}
	}
	if len(order) == 0 || len(order) == 1 && left == nil {
		return whole, nil, nil
	}
	demos := map[int][]mdp.Step{} // in each group
	for _, d := range t.problem.Demos {
		demos[group[d.State]] = append(demos[group[d.State]], d)
	}
	known, err := t.solver.Solve(t.problem.Prior.Mean)
	if err != nil {
		return nil, nil, err
	}
	std := t.stds()
	var out []subproblem
	for _, g := range order {
		problem, err := t.restrict(states[g], demos[g], std, known.V)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, subproblem{problem, states[g]})
	}
	remains, err := t.newRemainder(left, t.values(known), config)
	return out, remains, err
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
func (t *Target) groups(leads [][]int32, unknown []bool) []int {
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

// restrict returns the problem of some states, in ascending order, with the demonstrations in them, given all prior
// standard deviations and the values of the other states that they lead to.
func (t *Target) restrict(states []int, demos []mdp.Step, stds, values []float64) (*irl.Problem, error) {
	p, each := t.problem, t.perState()
	m, edge, err := t.part(states)
	if err != nil {
		return nil, err
	}
	mean, std := gather(p.Prior.Mean, states, each), gather(stds, states, each)
	for _, s := range edge {
		mean = append(mean, slices.Repeat(values[s:s+1], each)...)
	}
	std = append(std, make([]float64, len(mean)-len(std))...)
	out := &irl.Problem{MDP: m, Prior: irl.DiagonalPrior(mean, std), Discount: p.Discount, Beta: p.Beta}
	for _, d := range demos {
		at, _ := slices.BinarySearch(states, d.State)
		out.Demos = append(out.Demos, mdp.Step{State: at, Action: d.Action})
	}
	return out, nil
}

// part returns the MDP of some states, in which episodes end at the edge, which comes last: the other states that they
// lead to, as far as these matter.
func (t *Target) part(states []int) (part *mdp.MDP, edge []int, err error) {
	m := t.problem.MDP
	place := make(map[int]int, len(states))
	for i, s := range states {
		place[s] = i
	}
	rows := make([][]mdp.Transition, 0, len(states)*m.Actions())
	for _, s := range states {
		for a := range m.Actions() {
			var row []mdp.Transition
			next, prob := m.Row(s, a)
			for k, to := range next {
				if t.problem.Discount == 0 {
					break
				}
				if _, in := place[int(to)]; !in {
					place[int(to)] = len(states) + len(edge)
					edge = append(edge, int(to))
				}
				row = append(row, mdp.Transition{Next: place[int(to)], Prob: prob[k]})
			}
			rows = append(rows, row)
		}
	}
	rows = append(rows, make([][]mdp.Transition, len(edge)*m.Actions())...)
	part, err = mdp.New(len(states)+len(edge), m.Actions(), rows, nil)
	return part, edge, err
}
