package reference

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// enough is how many nats the actions in a state may be less likely than their frequencies would make them, and still
// count as explained.
const (
	enough      = 2
	mostRepairs = 8 // pushes of a step from which climbs begin
)

// assimilate returns tries that explain the demonstrations one state after the other, from the prior mean. What opens
// only as a whole has no way along which the likelihood of all rises: that of the demonstrations in one state may rise
// at the cost of others, which the next steps repair. Each state that is not explained at the mean is the first of one
// try. A step takes in the state that is explained worst, and goes to the best mode of the demonstrations taken in that
// a climb or a push leads to: they may not be given up again, and others may.
func (e *explorer) assimilate() (tries []try) {
	u := make([]float64, e.Dim())
	end := e.work() + climbWork
	lacks := e.lacks(u)
	order := make([]int, len(lacks))
	floats.Argsort(slices.Clone(lacks), order)
	for _, first := range slices.Backward(order) {
		if !(lacks[first] > enough) || e.work() > end || e.ctx.Err() != nil {
			break
		}
		at := e.takeIn(u, first, end)
		if d := e.logDensity(at); !math.IsNaN(d) {
			tries = append(tries, try{u: at, merit: d, steepest: len(tries)})
		}
	}
	return tries
}

// takeIn returns where assimilating the demonstrations from u, those in one state first, ends.
func (e *explorer) takeIn(u []float64, first int, end float64) []float64 {
	taken := make([]bool, len(e.demoed))
	for next := first; next >= 0 && e.work() < end && e.ctx.Err() == nil; {
		taken[next] = true
		u = e.bestOf(u, taken)
		worst := float64(enough)
		next = -1
		for d, lack := range e.lacks(u) {
			if !taken[d] && lack > worst {
				next, worst = d, lack
			}
		}
	}
	return u
}

// bestOf returns the best mode of the demonstrations in some states alone that a climb from u leads to, or a push.
func (e *explorer) bestOf(u []float64, taken []bool) []float64 {
	some := &explorer{Target: e.restricted(taken), ctx: e.ctx, rng: e.rng}
	defer func() { e.spent = some.spent }()
	best := some.climb(slices.Clone(u))
	if slices.Max(some.lacks(best)) <= enough {
		return best
	}
	from := some.modeAt(u)
	some.spent += dense * math.Pow(float64(len(u)), 3) / 3 // of its factor
	if from == nil {
		return best
	}
	density, tries := some.logDensity(best), some.farther(from)
	for i := range tries {
		tries[i].merit = some.logDensity(tries[i].u)
	}
	slices.SortFunc(tries, func(a, b try) int { return -cmp.Compare(a.merit, b.merit) })
	for _, t := range tries[:min(len(tries), mostRepairs)] {
		at := some.climb(t.u)
		if d := some.logDensity(at); d > density {
			best, density = at, d
		}
	}
	return best
}

// logDensity is that of the posterior at u, up to a constant.
func (t *Target) logDensity(u []float64) float64 { return t.LogLikelihood(u, nil) - floats.Dot(u, u)/2 }

// restricted returns the target of the demonstrations in some demonstrated states alone. It shares scratch space.
func (t *Target) restricted(to []bool) *Target {
	out := *t
	out.demoed, out.counts, out.total = nil, nil, nil
	actions := t.problem.MDP.Actions()
	for d, s := range t.demoed {
		if to[d] {
			out.demoed, out.total = append(out.demoed, s), append(out.total, t.total[d])
			out.counts = append(out.counts, t.counts[d*actions:(d+1)*actions]...)
		}
	}
	return &out
}

// lacks returns how many nats the actions in each demonstrated state are less likely at u than their frequencies would
// make them.
func (t *Target) lacks(u []float64) []float64 {
	out, actions := make([]float64, len(t.demoed)), t.problem.MDP.Actions()
	t.LogLikelihood(u, nil)
	for d, s := range t.demoed {
		scores := make([]float64, actions)
		floats.ScaleTo(scores, t.beta, t.solution.Q[s*actions:(s+1)*actions])
		partition := floats.LogSumExp(scores)
		for a, n := range t.counts[d*actions : (d+1)*actions] {
			if n > 0 {
				out[d] += n * (math.Log(n/t.total[d]) - scores[a] + partition)
			}
		}
	}
	return out
}
