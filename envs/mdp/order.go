package mdp

import "slices"

// order numbers states so that those which transitions join have near numbers.
type order struct {
	place        []int32 // number of each state, −1 of those that are left out, [S]
	state        []int32 // the state of each number
	hubs         int     // the last so many states, which many transitions join; of all others,
	lower, upper int     // how far below and above its own number a state's successors are numbered
	span         int     // and by how much a state and its successors differ at most
}

// Joined returns of each state those that a transition leads to or comes from, in rising order, itself left out.
func (m *MDP) Joined() [][]int32 {
	joined, last := make([][]int32, m.states), make([]int32, m.states) // last: 1 + the state that led to it last
	for from := range int32(m.states) {
		for _, to := range m.Successors(int(from)) {
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

// Successors returns those of all actions in a state, one after the other. The caller must not change them.
func (m *MDP) Successors(s int) []int32 {
	return m.next[m.rowStart[s*m.actions]:m.rowStart[(s+1)*m.actions]]
}

// sparse is the share of all pairs of states and successors up to which another numbering is looked for: of more, none
// makes a band much narrower.
const sparse = 0.25

// neighbours returns Joined, or nil where there are more.
func (m *MDP) neighbours() [][]int32 {
	if float64(len(m.next)) > sparse*float64(m.actions)*float64(m.states)*float64(m.states) {
		return nil
	}
	return m.Joined()
}

const (
	mostHubs = 16 // in an order
	hubJoins = 8  // more states than these are joined to a hub
	worthHub = 2  // factor by which hubs must make the elimination cheaper
)

// elimination returns the order in which linear systems are solved, without absorbing states. Hubs come last where that
// makes it much cheaper: a state that leads to many rooms would put all of them side by side.
func (m *MDP) elimination() order {
	joined, absorbing := m.neighbours(), m.absorbing()
	width := func(o order) int { return o.lower + o.upper }
	best := m.narrowest(joined, absorbing, nil, width)
	if joined == nil {
		return best
	}
	byDegree := slices.DeleteFunc(slices.Clone(best.state), func(s int32) bool { return len(joined[s]) <= hubJoins })
	slices.SortStableFunc(byDegree, func(a, b int32) int { return len(joined[b]) - len(joined[a]) })
	for hubs := 1; hubs <= min(mostHubs, len(byDegree)); hubs++ {
		if o := m.narrowest(joined, absorbing, byDegree[:hubs], width); worthHub*o.work() < best.work() {
			best = o
		}
	}
	return best
}

// absorbing returns the states that lead to no other.
func (m *MDP) absorbing() (out []int32) {
	for s := range int32(m.states) {
		if !slices.ContainsFunc(m.Successors(int(s)), func(to int32) bool { return to != s }) {
			out = append(out, s)
		}
	}
	return out
}

// work returns about how many multiplications an elimination takes.
func (o *order) work() float64 {
	lower, upper, hubs := float64(o.lower+1), float64(o.upper+1), float64(o.hubs)
	return float64(len(o.state)) * (lower*upper + hubs*(lower+upper+hubs))
}

// Numbering returns numbers of the states, [S], that are near each other for a state and its successors, and by how
// much two such differ at most.
func (m *MDP) Numbering() (place []int32, span int) {
	o := m.narrowest(m.neighbours(), nil, nil, func(o order) int { return o.span })
	return o.place, o.span
}

// narrowest returns the MDP's own order of the states but for the left out ones or, if that has less of a width, that
// of cuthillMcKee if the neighbours are given, in either case with the hubs last.
func (m *MDP) narrowest(joined [][]int32, leftOut, hubs []int32, width func(order) int) order {
	apart := slices.Sorted(slices.Values(slices.Concat(leftOut, hubs)))
	var own []int32
	for s := range int32(m.states) {
		if _, out := slices.BinarySearch(apart, s); !out {
			own = append(own, s)
		}
	}
	kept := m.numbered(own, hubs)
	if joined == nil {
		return kept
	}
	if near := m.numbered(cuthillMcKee(joined, apart), hubs); width(near) < width(kept) {
		return near
	}
	return kept
}

// numbered returns the order of the given states, hubs last, in which all others are left out.
func (m *MDP) numbered(state, hubs []int32) order {
	banded := int32(len(state))
	o := order{place: slices.Repeat([]int32{-1}, m.states), state: append(state, hubs...), hubs: len(hubs)}
	for i, s := range o.state {
		o.place[s] = int32(i)
	}
	for i, s := range state {
		least, most := i, i
		for _, to := range m.Successors(int(s)) {
			if j := int(o.place[to]); j >= 0 && int32(j) < banded {
				least, most = min(least, j), max(most, j)
			}
		}
		o.lower, o.upper, o.span = max(o.lower, i-least), max(o.upper, most-i), max(o.span, most-least)
	}
	return o
}

// cuthillMcKee returns all states but the left out ones in an order in which joined ones (see Joined) are near each
// other: of each connected part a state far out and then, again and again, the neighbours of the first state that has
// some, those with few neighbours first; and all this backwards (Cuthill and McKee, 1969).
func cuthillMcKee(joined [][]int32, leftOut []int32) []int32 {
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
