package reference

import (
	"cmp"
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/parallel"
)

const (
	largestMode = 4096 // most numbers of a mode
	idleClimbs  = 16   // climbs in a row, and two for each mode, that led to nothing new, after which none begins
	climbSteps  = 60   // evaluations of a climb
	climbWork   = 1e9  // multiplications after which no other climb begins
	mostSeen    = 256  // modes that are kept in mind, whether they count or not
	mostFarther = 10   // modes in a row from which tries go farther,
	better      = 1    // each of so much more evidence, in nats, than the one before
	openStep    = 1.5  // factor from one distance of a push to the next,
	openHalving = 5    // halvings of the last one, to find where something opens
	fartherStep = 1.25 // and factor from one distance of farther to the next
)

// explorer looks for the modes of a target.
type explorer struct {
	*Target
	ctx   context.Context
	rng   *rand.Rand
	found search // those that count
	seen  modes  // and all
}

// searchable reports whether the problem is small enough to look for modes.
func (t *Target) searchable() bool { return t.Dim() <= largestMode }

// explore returns the modes that tries lead to, and those farther out: from the prior mean, where each explanation may
// open by itself, and from the best mode as long as a better one comes of it, by pushes of single rewards and by soft
// planning. Then come those beside the best: what explains a part of the demonstrations as well as something that the
// best has, and what it has and need not; and what takes the place of something that it has, if other rewards follow.
// There are none if nothing was demonstrated, or the problem is too large.
func (t *Target) explore(ctx context.Context, rng *rand.Rand, tries []try) (none search) {
	if !t.searchable() || len(t.demoed) == 0 {
		return none
	}
	e := &explorer{Target: t, ctx: ctx, rng: rng}
	e.climbAll(tries)
	mean := t.modeAt(make([]float64, t.Dim()))
	if len(e.found.modes) == 0 || mean == nil {
		return e.found
	}
	e.climbAll(e.farther(mean))
	e.climbAll(e.soften(mean))
	bases := []*mode{mean}
	for range mostFarther {
		best := e.found.modes[0]
		e.climbAll(e.farther(best))
		if e.climbAll(e.soften(best)); e.found.modes[0].evidence < best.evidence+better {
			break
		}
		bases = append(bases, best)
	}
	e.climbAll(e.beside(bases))
	for range mostFarther {
		best := e.found.modes[0]
		if e.climbAll(e.replaced()); e.found.modes[0].evidence < best.evidence+better {
			break
		}
	}
	return e.found
}

// fromEach goes through what is found from each of n beginnings, on all processors, until that has taken climbWork or
// the context ends. The target of each has solved nothing before: where actions are equally good, what is found may
// depend on that.
func fromEach[T any](ctx context.Context, t *Target, n int, find func(t *Target, i int) T) iter.Seq[T] {
	type result struct {
		found T
		work  float64
	}
	return func(yield func(T) bool) {
		still, work := t.Clone(), 0.0 // the loop may use t
		for r := range parallel.Ahead(n, func(i int) result {
			own := still.Clone()
			found := find(own, i)
			return result{found, own.work()}
		}) {
			if work += r.work; !yield(r.found) || work > climbWork || ctx.Err() != nil {
				return
			}
		}
	}
}

// climbAll climbs from tries to modes. The importance of a try does not tell how much of the posterior it stands for
// where many rewards share in an explanation, and the most likely ones may all have the same: each reward that matters
// most to some tries has a turn, the best of its tries first. It ends when many climbs in a row have led to
// nothing new, or with the context.
func (e *explorer) climbAll(tries []try) {
	slices.SortStableFunc(tries, func(a, b try) int { return -cmp.Compare(a.merit, b.merit) })
	turns := map[int]int{}
	for i := range tries {
		tries[i].turn = turns[tries[i].steepest]
		turns[tries[i].steepest]++
	}
	slices.SortStableFunc(tries, func(a, b try) int { return a.turn - b.turn })
	idle := 0
	for o := range fromEach(e.ctx, e.Target, len(tries), func(t *Target, i int) *mode { return t.summit(tries[i].u) }) {
		before := len(e.found.modes)
		if o = e.found.climbed(e.Target, o); len(e.found.modes) > before {
			idle = 0
		} else {
			idle++
		}
		if o != nil && len(e.seen) < mostSeen && e.seen.size() < modeSize && e.seen.same(o) < 0 {
			e.seen = append(e.seen, o)
		}
		if idle >= idleClimbs+2*len(e.found.modes) {
			break
		}
	}
}

// beside returns tries that differ from the best mode as one that was seen differs from what was the best before. The
// first of these is the prior mean: there, the try has that of the mean where the other one does not. In others, a
// single reward that is far out is where the prior has it, so that a climb gives up what pays only with it.
func (e *explorer) beside(before []*mode) (tries []try) {
	best, end := e.found.modes[0], e.work()+climbWork
	for j, x := range best.u {
		if math.Abs(x) > apart {
			u := slices.Clone(best.u)
			u[j] = 0
			tries = e.append(tries, u)
		}
	}
	for k, base := range before {
		for _, o := range e.seen {
			if e.work() > end {
				return tries
			}
			from := o
			if k == 0 {
				from = base
			}
			u := slices.Clone(best.u)
			for j, differs := range o.differs(base) {
				if differs {
					u[j] = from.u[j]
				}
			}
			tries = e.append(tries, u)
		}
	}
	return tries
}

// append adds the try of a position with its density, which has a turn of its own, unless it has none.
func (e *explorer) append(tries []try, u []float64) []try {
	d := e.logDensity(u)
	if math.IsNaN(d) {
		return tries
	}
	return append(tries, try{u: u, merit: d, steepest: len(tries)})
}

// farther returns tries far out from a mode that explain the demonstrations better. What no reward near the prior
// opens, a single one that is pushed far enough may: the likelihood rises, and its gradient there tells which rewards
// share in that, all those of a long way for example, each of which need be much nearer the prior than one alone. Both
// the push and the way are in the metric of the mode, so that what demonstrations hold together moves together, and
// what they hold where it is stays. A mode u of the density f may have a rival at u' of the evidence that counts if
// ½ ‖u'‖² is less than what can be gained over f: the log-likelihood is at most that of the actions' frequencies,
//
//	½ ‖u'‖² < Σ n(s,a) log n(s,a)/n(s) − f(u) + inferior,
//
// and one of m rewards that share in a way opens it where √m times the distance of all does, or before. Either way is
// tried: what one reward opens may be that one alone, where small steps hardly tell what holds the others.
func (e *explorer) farther(from *mode) (tries []try) {
	t := e.Target
	there := make([]float64, t.Dim())
	explained := t.LogLikelihood(from.u, there)
	reach := t.reach(from.u)
	rewards := t.reachableRewards()
	alone := reach * math.Sqrt(float64(len(rewards)))
	order := e.rng.Perm(len(rewards))
	pushed := func(t *Target, i int) (tries []try) {
		push := t.push(rewards[order[i]])
		if !from.follow(push) {
			return nil
		}
		for range 2 { // either side
			floats.Scale(-1, push)
			way := t.opened(from.u, push, explained, alone)
			if way == nil {
				continue
			}
			tries = append(tries, t.along(push, from.u, explained, alone)...)
			if floats.Sub(way, there); from.follow(way) {
				tries = append(tries, t.along(way, from.u, explained, reach)...)
			}
		}
		return tries
	}
	for some := range fromEach(e.ctx, t, len(order), pushed) {
		tries = append(tries, some...)
	}
	return tries
}

// along returns the try of the greatest density from u in a direction, up to reach, of those that explain the
// demonstrations better than u, if there is one.
func (t *Target) along(direction, u []float64, explained, reach float64) []try {
	var best try
	density := math.Inf(-1)
	for r := 1.0; r < reach; r *= fartherStep {
		at := make([]float64, len(u))
		floats.AddScaledTo(at, u, r, direction)
		l := t.LogLikelihood(at, nil)
		if d := l - floats.Dot(at, at)/2; l > explained+1 && d > density {
			best, density = try{u: at, merit: l}, d
		}
	}
	if best.u == nil {
		return nil
	}
	for j, x := range direction {
		if math.Abs(x) > math.Abs(direction[best.steepest]) {
			best.steepest = j
		}
	}
	return []try{best}
}

// push returns the direction in which whitened rewards move reward i the most, β where i is their number, [Dim].
func (t *Target) push(i int) []float64 {
	out := make([]float64, t.Dim())
	switch {
	case i == t.n:
		out[t.k] = 1
	case t.root != nil:
		copy(out, t.root.RawRowView(i))
	default:
		for j, of := range t.free {
			if of == i && t.diag[j] != 0 { // not a column of zeros, which moves no reward
				out[j] = 1
			}
		}
	}
	return out
}

// follow replaces a direction by the one of length 1 in which the density at the mode falls least for what it says:
// (I + H)⁻¹ of it. It reports whether there is one.
func (m *mode) follow(direction []float64) bool {
	m.condition(direction, func() float64 { return 0 })
	length := floats.Norm(direction, 2)
	floats.Scale(1/length, direction)
	return length > 0 && !math.IsInf(length, 1)
}

// opened returns the gradient of the log-likelihood at the least distance from u in a direction, up to most, at which
// the demonstrations are better explained than at u; nil if there is none.
func (t *Target) opened(u, direction []float64, explained, most float64) []float64 {
	at, grad := make([]float64, len(u)), make([]float64, len(u))
	better := func(r float64) bool {
		floats.AddScaledTo(at, u, r, direction)
		return t.LogLikelihood(at, grad) > explained+1
	}
	closed := 0.0
	for r := 2.0; r < most; r *= openStep {
		if better(r) {
			for range openHalving {
				if middle := (closed + r) / 2; better(middle) {
					r = middle
				} else {
					closed = middle
				}
			}
			better(r)
			return grad
		}
		closed = r
	}
	return nil
}

// logDensity is that of the posterior at u, up to a constant.
func (t *Target) logDensity(u []float64) float64 { return t.LogLikelihood(u, nil) - floats.Dot(u, u)/2 }

// lacks returns how many nats the actions in each demonstrated state are less likely at u than their frequencies would
// make them.
func (t *Target) lacks(u []float64) []float64 {
	out, actions := make([]float64, len(t.demoed)), t.problem.MDP.Actions()
	t.LogLikelihood(u, nil)
	for d, s := range t.demoed {
		logs := mdp.LogBoltzmann(nil, t.solution.Q[s*actions:(s+1)*actions], actions, t.beta)
		for a, n := range t.counts[d*actions : (d+1)*actions] {
			if n > 0 {
				out[d] += n * (math.Log(n/t.total[d]) - logs[a])
			}
		}
	}
	return out
}
