package reference

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	missed   = 4   // nats that a demonstrated state loses whose explanation is given up
	heldStep = 1.5 // factor from one distance of a push that is held to the next
)

// replaced returns tries in which another single reward explains what an explanation of the best mode does, where that
// may upset other demonstrations. These may still be explained by rewards of their own, but to no step and no push of
// one reward alone: a goal that is far better than anything else, and that the expert passes by elsewhere, needs
// something good there, too. What explains demonstrated states is given up, a reward is pushed until one of them is
// explained again, and held there while all others climb; and then another one, until all are.
func (e *explorer) replaced() (tries []try) {
	t, best := e.Target, e.found.modes[0]
	before, reach, leads := t.lacks(best.u), t.reach(best.u), t.leads()
	all := make([]int, len(t.demoed))
	for d := range all {
		all[d] = d
	}
	type push struct {
		u      []float64 // the best mode without an explanation
		lost   []int     // demonstrated states that it explained
		reward int
	}
	var pushes []push
	for _, given := range best.givable() {
		u := given.zeroed(best.u)
		lost := t.stillLost(u, before, all)
		for _, reward := range t.rewardsOf(lost, leads) {
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
			at, lost := t.explainedAgain(p.u, direction, before, p.lost, reach), p.lost
			held := [][]float64{slices.Clone(direction)}
			for at != nil && len(lost) > 0 {
				at = t.ascend(at, held)
				still := t.stillLost(at, before, lost)
				if len(still) == len(lost) {
					at = nil
				} else if lost = still; len(lost) > 0 {
					at, held = t.pushNext(at, held, before, lost, leads, reach)
				}
			}
			if at != nil && best.squared(at) > distinct*distinct { // not the best again
				found = append(found, at)
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

// stillLost returns those of some demonstrated states that lack more at u than before.
func (t *Target) stillLost(u, before []float64, states []int) (lost []int) {
	lacks := t.lacks(u)
	for _, d := range states {
		if lacks[d] > before[d]+missed {
			lost = append(lost, d)
		}
	}
	return lost
}

// rewardsOf returns the unknown rewards that some demonstrated states lead to.
func (t *Target) rewardsOf(lost []int, leads [][]int32) []int {
	var from []int
	for _, d := range lost {
		from = append(from, t.demoed[d])
	}
	return t.unknownRewards(leads, from)
}

// pushNext goes on where what was given up explained several states: of all rewards it pushes the one that explains one
// more of those that are lost by the shortest way, and holds it, too. It returns nil if there is none.
func (t *Target) pushNext(u []float64, held [][]float64, before []float64, lost []int, leads [][]int32,
	reach float64) (nearest []float64, holds [][]float64) {
	for _, reward := range t.rewardsOf(lost, leads) {
		direction := t.push(reward)
		length := floats.Norm(direction, 2)
		for _, h := range held {
			floats.AddScaled(direction, -floats.Dot(direction, h), h)
		}
		left := floats.Norm(direction, 2)
		if left < length/2 { // next to nothing but what is held
			continue
		}
		floats.Scale(1/left, direction)
		for range 2 {
			floats.Scale(-1, direction)
			at := t.explainedAgain(u, direction, before, lost, reach)
			if at != nil && (nearest == nil || floats.Distance(at, u, 2) < floats.Distance(nearest, u, 2)) {
				nearest, holds = at, append(slices.Clone(held), slices.Clone(direction))
			}
		}
	}
	return nearest, holds
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

// explainedAgain returns the place nearest to u in a direction, as far as reach, where one of some lost states is
// explained again; nil if there is none.
func (t *Target) explainedAgain(u, direction, before []float64, lost []int, reach float64) []float64 {
	at := make([]float64, len(u))
	for r := 1.0; r < reach; r *= heldStep {
		floats.AddScaledTo(at, u, r, direction)
		if len(t.stillLost(at, before, lost)) < len(lost) {
			return at
		}
	}
	return nil
}
