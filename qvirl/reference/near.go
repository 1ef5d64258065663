package reference

import (
	"iter"
	"math/rand/v2"
	"slices"
)

// around goes through the states that the lists of each state's neighbours lead to from some states, the nearest first,
// each with the number of steps; from comes first, with 0.
func around(neighbours [][]int32, from ...int) iter.Seq2[int, int] {
	return func(yield func(steps, state int) bool) {
		reached := make([]bool, len(neighbours))
		for _, s := range from {
			reached[s] = true
		}
		states, at := slices.Clone(from), 0
		for steps := 0; at < len(states); steps++ {
			for end := len(states); at < end; at++ {
				if !yield(steps, states[at]) {
					return
				}
				for _, s := range neighbours[states[at]] {
					if !reached[s] {
						reached[s] = true
						states = append(states, int(s))
					}
				}
			}
		}
	}
}

// within returns the states that at most so many transitions lead to.
func within(joined [][]int32, steps int, from ...int) []int {
	var states []int
	for n, s := range around(joined, from...) {
		if n > steps {
			break
		}
		states = append(states, s)
	}
	return states
}

// exchangeSteps is how far from a demonstrated state, and from each other, states are whose rewards are exchanged.
const exchangeSteps = 2

// exchanges returns pairs of states near a demonstrated one and each other, as the coordinates of their whitened
// rewards (see coordinates).
func (t *Target) exchanges(joined [][]int32) [][2][]int {
	near, of := within(joined, exchangeSteps, t.demoed...), t.coordinates()
	member := make([]bool, len(joined))
	for _, s := range near {
		member[s] = true
	}
	var pairs [][2][]int
	for _, s := range near {
		for _, other := range within(joined, exchangeSteps, s) {
			if other > s && member[other] {
				if pair := pairOf(of[s], of[other]); len(pair[0]) > 0 {
					pairs = append(pairs, pair)
				}
			}
		}
	}
	return pairs
}

// distantExchanges returns a function that finds two random states of at least two, as the coordinates of their
// whitened rewards (see coordinates).
func (t *Target) distantExchanges() func(rng *rand.Rand) [2][]int {
	of := t.coordinates()
	return func(rng *rand.Rand) [2][]int {
		s, other := rng.IntN(len(of)), rng.IntN(len(of)-1)
		if other >= s {
			other++
		}
		return pairOf(of[s], of[other])
	}
}

// pairOf pairs coordinates of two states, as many of each.
func pairOf(a, b []int) [2][]int {
	size := min(len(a), len(b))
	return [2][]int{a[:size], b[:size]}
}

// coordinates returns those of the whitened rewards of each state, of rewards that are independent or known.
func (t *Target) coordinates() [][]int {
	out := make([][]int, t.problem.MDP.States())
	for j, i := range t.free {
		s := i / t.perState()
		out[s] = append(out[s], j)
	}
	return out
}

// neighbourhoods returns a function that finds a random coordinate with so many others around it: those of states that
// transitions join. Rewards must be independent or known.
func (t *Target) neighbourhoods(joined [][]int32) func(rng *rand.Rand, size int) []int {
	of := t.coordinates()
	return func(rng *rand.Rand, size int) []int {
		centre := rng.IntN(t.Dim())
		out := []int{centre}
		if centre == t.k { // β
			return out
		}
		for _, s := range around(joined, t.free[centre]/t.perState()) {
			for _, j := range of[s] {
				if len(out) >= size {
					return out
				}
				if j != centre {
					out = append(out, j)
				}
			}
		}
		return out
	}
}

// reachableRewards returns the rewards that demonstrations may tell something of, all that are not known and that a
// demonstrated state leads to, and the number of rewards after them where β is inferred.
func (t *Target) reachableRewards() []int { return t.unknownRewards(t.leads(), t.demoed) }

// unknownRewards returns the rewards that are not known and that some states lead to, and the number of rewards after
// them where β is inferred; nil without states. The states that each one leads to are those of leads (see
// Target.leads).
func (t *Target) unknownRewards(leads [][]int32, from []int) (out []int) {
	if len(from) == 0 {
		return nil
	}
	reached := make([]bool, t.problem.MDP.States())
	for _, s := range around(leads, from...) {
		reached[s] = true
	}
	for i, std := range t.stds() {
		if reached[i/t.perState()] && std > 0 {
			out = append(out, i)
		}
	}
	if t.problem.InfersBeta() {
		out = append(out, t.n)
	}
	return out
}

// reachable returns the coordinates that demonstrations may tell something of, all but those of rewards that no
// demonstrated state leads to.
func (t *Target) reachable() (out []int) {
	rewards := t.reachableRewards()
	for j := range t.Dim() {
		if j >= len(t.free) || slices.Contains(rewards, t.free[j]) {
			out = append(out, j)
		}
	}
	return out
}
