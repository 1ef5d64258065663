package mdp

import "slices"

// order numbers the states for elimination: absorbing ones, which lead to no other state, apart, and the others so that
// those which transitions join have near numbers.
type order struct {
	place        []int32 // number of each state, −1 of absorbing ones, [S]
	state        []int32 // the state of each number
	lower, upper int     // how far below and above its own number a state's successors are numbered
}

// Joined returns of each state those that a transition leads to or comes from, in rising order, itself left out.
func (m *MDP) Joined() [][]int32 {
	joined, last := make([][]int32, m.states), make([]int32, m.states) // last: 1 + the state that led to it last
	for from := range int32(m.states) {
		for _, to := range m.successors(int(from)) {
			if to != from && last[to] != from+1 {
				joined[from], joined[to], last[to] = append(joined[from], to), append(joined[to], from), from+1
			}
		}
	}
	for s := range joined {
		slices.Sort(joined[s])
		joined[s] = slices.Compact(joined[s])
	}
	return joined
}

// successors returns those of all actions in a state, one after the other.
func (m *MDP) successors(s int) []int32 {
	return m.next[m.rowStart[s*m.actions]:m.rowStart[(s+1)*m.actions]]
}

// sparse is the share of all pairs of states and successors up to which another numbering is looked for: of more, none
// makes a band much narrower.
const sparse = 0.25

// findOrder returns the MDP's own numbering of its states or, if transitions reach less far there, that of
// CuthillMcKee.
func (m *MDP) findOrder() order {
	var own, absorbing []int32
	for s := range int32(m.states) {
		if slices.ContainsFunc(m.successors(int(s)), func(to int32) bool { return to != s }) {
			own = append(own, s)
		} else {
			absorbing = append(absorbing, s)
		}
	}
	kept := m.numbered(own)
	if float64(len(m.next)) > sparse*float64(m.actions)*float64(m.states)*float64(m.states) {
		return kept
	}
	near := m.numbered(CuthillMcKee(m.Joined(), absorbing))
	if near.lower+near.upper < kept.lower+kept.upper {
		return near
	}
	return kept
}

// numbered returns the order in which the states that are not absorbing are given.
func (m *MDP) numbered(state []int32) order {
	o := order{place: slices.Repeat([]int32{-1}, m.states), state: state}
	for i, s := range state {
		o.place[s] = int32(i)
	}
	for i, s := range state {
		for _, to := range m.successors(int(s)) {
			if j := o.place[to]; j >= 0 {
				o.lower, o.upper = max(o.lower, i-int(j)), max(o.upper, int(j)-i)
			}
		}
	}
	return o
}

// CuthillMcKee returns all states but the left out ones in an order in which joined ones (see Joined) are near each
// other: of each connected part a state far out and then, again and again, the neighbours of the first state that has
// some, those with few neighbours first; and all this backwards (Cuthill and McKee, 1969).
func CuthillMcKee(joined [][]int32, leftOut []int32) []int32 {
	fewest := func(a, b int32) int { return len(joined[a]) - len(joined[b]) }
	seen := make([]bool, len(joined))
	var out []int32
	through := func(start int32) { // appends the part of a state that was not seen
		first := len(out)
		out, seen[start] = append(out, start), true
		for at := first; at < len(out); at++ {
			begin := len(out)
			for _, to := range joined[out[at]] {
				if !seen[to] {
					out, seen[to] = append(out, to), true
				}
			}
			slices.SortStableFunc(out[begin:], fewest)
		}
	}
	for _, s := range leftOut {
		seen[s] = true
	}
	for s := range int32(len(joined)) {
		if seen[s] {
			continue
		}
		first := len(out)
		for start, passes := s, 0; passes < 3; passes++ { // the last state of a pass is far from its first
			for _, again := range out[first:] {
				seen[again] = false
			}
			out = out[:first]
			through(start)
			start = out[len(out)-1]
		}
	}
	slices.Reverse(out)
	return out
}
