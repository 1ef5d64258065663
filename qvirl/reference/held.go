package reference

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

const (
	missed   = 4   // nats that a demonstrated state loses whose explanation is given up
	heldStep = 1.5 // factor from one distance of a push that is held to the next
)

// replaced returns tries in which another single reward explains what an explanation of the best mode does, where that
// may upset other demonstrations. These may still be explained by rewards of their own, but to no step and no push of
// one reward alone: a goal that is far better than anything else, and that the expert passes by elsewhere, needs
// something good there, too. What explains a demonstrated state is given up, a reward is pushed until that state is
// explained again, and held there while all others climb.
func (e *explorer) replaced() (tries []try) {
	t, best := e.Target, e.found.modes[0]
	before, reach, leads := t.lacks(best.u), t.reach(best.u), t.leads()
	type push struct {
		u      []float64 // the best mode without an explanation
		lost   []int     // demonstrated states that it explained
		reward int
	}
	var pushes []push
	for _, given := range best.givable() {
		u := given.zeroed(best.u)
		var lost, from []int
		for d, lack := range t.lacks(u) {
			if lack > before[d]+missed {
				lost, from = append(lost, d), append(from, t.demoed[d])
			}
		}
		for _, reward := range t.unknownRewards(leads, from) {
			pushes = append(pushes, push{u, lost, reward})
		}
	}
	e.rng.Shuffle(len(pushes), func(i, j int) { pushes[i], pushes[j] = pushes[j], pushes[i] })
	for some := range fromEach(e.ctx, t, len(pushes), func(t *Target, i int) (found [][]float64) {
		p := pushes[i]
		direction := t.push(p.reward)
		floats.Scale(1/floats.Norm(direction, 2), direction)
		for range 2 { // either side
			floats.Scale(-1, direction)
			if at := t.explainedAgain(p.u, direction, before, p.lost, reach); at != nil {
				if at = t.ascend(at, direction); best.squared(at) > distinct*distinct { // not the best again
					found = append(found, at)
				}
			}
		}
		return found
	}) {
		for _, u := range some {
			tries = e.append(tries, u)
		}
	}
	return tries
}

// givable returns the coordinates that a mode may give up of what explains the demonstrations: what each demonstrated
// state tells something of, and single ones that are far out.
func (m *mode) givable() (out []set) {
	known := map[string]bool{}
	add := func(s set) {
		if key := s.key(); s.size() > 0 && !known[key] {
			known[key] = true
			out = append(out, s)
		}
	}
	for _, told := range m.told {
		add(told)
	}
	for j, x := range m.u {
		if math.Abs(x) > apart {
			s := make(set, len(m.u))
			s[j] = true
			add(s)
		}
	}
	return out
}

// zeroed returns u with zeros at what belongs.
func (s set) zeroed(u []float64) []float64 {
	out := make([]float64, len(u))
	for j, in := range s {
		if !in {
			out[j] = u[j]
		}
	}
	return out
}

// explainedAgain returns the place nearest to u in a direction, as far as reach, where some of the demonstrated states
// lack hardly more than before; nil if there is none.
func (t *Target) explainedAgain(u, direction, before []float64, states []int, reach float64) []float64 {
	at := make([]float64, len(u))
	for r := 1.0; r < reach; r *= heldStep {
		floats.AddScaledTo(at, u, r, direction)
		again, lacks := true, t.lacks(at)
		for _, d := range states {
			again = again && lacks[d] < before[d]+1
		}
		if again {
			return at
		}
	}
	return nil
}
