package reference

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	farStream  = 1 << 32       // of random numbers, which is no chain's
	scanStream = farStream + 1 // and of a scan
	farTries   = 2000          // positions that starts from afar are drawn from, but no more than
	farWork    = 2e8           // multiplications take: a fraction of a second
	farScale   = 4             // greatest multiple of the prior's standard deviation
)

// try is a position from which a climb may start.
type try struct {
	u             []float64
	logLikelihood float64
	steepest      int // coordinate in which the log-likelihood is steepest
	turn          int // number of more likely tries with the same one
}

// farStarts returns so many positions to start chains from, drawn from the posterior as far as few tries tell: most of
// it may be in a place that hardly any draw of the prior comes near, and that chains from there never find. A try is a
// draw of the prior with some informed coordinates, one alone as likely as all, c times as wide, c uniform in [1,
// farScale]. It counts by its importance, the posterior's density over the try's given c and these m coordinates,
//
//	log w = log p(D | u) + m log c − ½ Σ_j (1 − 1/c²) u_j².
//
// Positions are drawn at equal steps of the tries' weights, in the order of ‖u‖: of two, one is far out if half of the
// posterior is. The modes that the tries lead to are returned, too; if there are several, positions are on them.
func (t *Target) farStarts(ctx context.Context, rng *rand.Rand, count int) ([][]float64, modes) {
	dim, informed, end := t.Dim(), t.informed, t.work()+farWork
	var tries []try
	var logWeights, norms []float64
	grad := make([]float64, dim)
	for len(tries) < count || len(tries) < farTries && t.work() < end {
		u := make([]float64, dim)
		for j := range u {
			u[j] = rng.NormFloat64()
		}
		c := 1 + (farScale-1)*rng.Float64()
		m := int(math.Exp2(math.Log2(float64(len(informed)+1)) * rng.Float64()))
		logWeight := float64(m) * math.Log(c)
		for _, i := range rng.Perm(len(informed))[:min(m, len(informed))] {
			j := informed[i]
			u[j] *= c
			logWeight -= 0.5 * (1 - 1/(c*c)) * u[j] * u[j]
		}
		l := t.LogLikelihood(u, grad)
		if math.IsNaN(l) {
			l = math.Inf(-1)
		}
		logWeight += l
		for j, g := range grad {
			grad[j] = math.Abs(g)
		}
		tries = append(tries, try{u: u, logLikelihood: l, steepest: floats.MaxIdx(grad)})
		logWeights, norms = append(logWeights, logWeight), append(norms, floats.Norm(u, 2))
	}
	order := make([]int, len(tries))
	floats.Argsort(norms, order)
	total, sum, next := floats.LogSumExp(logWeights), 0.0, rng.Float64()
	var starts [][]float64
	for _, i := range order {
		sum += float64(count) * math.Exp(logWeights[i]-total)
		if len(starts) < count && sum > next {
			starts = append(starts, tries[i].u)
			next++
		}
	}
	for i := 0; len(starts) < count; i++ { // a single try has all the weight, or no try has any
		starts = append(starts, tries[order[i]].u)
	}
	found := t.search(ctx, rng, t.findModes(ctx, nil, tries))
	for i := range starts {
		if len(found) > 1 {
			starts[i] = found[i%len(found)].u
		}
	}
	return starts, found
}

const (
	mostFarther = 10   // modes in a row from which tries go farther
	openStep    = 1.5  // factor from one distance of a push to the next,
	openHalving = 5    // halvings of the last one, to find where something opens
	fartherStep = 1.25 // and factor from one distance of farther to the next
)

// search returns the modes found and those farther out: from the prior mean, where each explanation may open by itself,
// and from the best mode as long as a better one comes of it. What explained a part of the demonstrations as well as
// the best mode did, and was left behind, is tried beside what the better one has changed.
func (t *Target) search(ctx context.Context, rng *rand.Rand, found modes) modes {
	if len(found) == 0 {
		return nil
	}
	if mean := t.modeAt(make([]float64, t.Dim())); mean != nil {
		found = t.findModes(ctx, found, t.farther(rng, mean))
	}
	for range mostFarther {
		known, best := found, found[0]
		if found = t.findModes(ctx, found, t.farther(rng, best)); found[0] == best {
			break
		}
		var beside []try
		for _, o := range known[1:] {
			u := slices.Clone(found[0].u)
			for j, differs := range o.differs(best) {
				if differs {
					u[j] = o.u[j]
				}
			}
			beside = append(beside, try{u: u, logLikelihood: o.evidence, steepest: len(beside)})
		}
		found = t.findModes(ctx, found, beside)
	}
	return found
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
// and one of m rewards that share in a way opens it where √m times the distance of all does, or before.
func (t *Target) farther(rng *rand.Rand, from *mode) (tries []try) {
	there := make([]float64, t.Dim())
	explained, end := t.LogLikelihood(from.u, there), t.work()+climbWork
	most, actions := 0.0, t.problem.MDP.Actions()
	for i, n := range t.counts {
		if n > 0 {
			most += n * math.Log(n/t.total[i/actions])
		}
	}
	reach := math.Sqrt(2*(most-explained+inferior) + floats.Dot(from.u, from.u))
	rewards := t.ledTo()
	alone := reach * math.Sqrt(float64(len(rewards)))
	for _, i := range rng.Perm(len(rewards)) {
		push := t.push(rewards[i])
		if !from.follow(push) {
			continue
		}
		for range 2 { // either side
			floats.Scale(-1, push)
			if t.work() > end {
				return tries
			}
			way := t.opened(from.u, push, explained, alone)
			if way == nil {
				continue
			}
			if floats.Sub(way, there); !from.follow(way) {
				continue
			}
			best, density := try{}, math.Inf(-1)
			for r := 1.0; r < reach; r *= fartherStep {
				u := make([]float64, len(way))
				floats.AddScaledTo(u, from.u, r, way)
				l := t.LogLikelihood(u, nil)
				if d := l - floats.Dot(u, u)/2; l > explained+1 && d > density {
					best, density = try{u: u, logLikelihood: l}, d
				}
			}
			if best.u != nil {
				for j := range way {
					way[j] = math.Abs(way[j])
				}
				best.steepest = floats.MaxIdx(way)
				tries = append(tries, best)
			}
		}
	}
	return tries
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
		out[slices.Index(t.free, i)] = 1
	}
	return out
}

// follow replaces a direction by the one of length 1 in which the density at the mode falls least for what it says:
// (I + H)⁻¹ of it. It reports whether there is one.
func (m *mode) follow(direction []float64) bool {
	x := blas64.Vector{N: len(direction), Data: direction, Inc: 1}
	blas64.Trsv(blas.Trans, m.upper.RawTriangular(), x)
	blas64.Trsv(blas.NoTrans, m.upper.RawTriangular(), x)
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
