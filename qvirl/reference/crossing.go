package reference

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// ladder leads from any β to any other, by steps in b between knots at which the posterior of the whitened rewards z
// given b is known well enough to move in. Under a small β the expert errs often and rewards are free, under a large
// one hardly ever and rewards are bound: both may explain the demonstrations better than any β between them.
type ladder struct {
	f         []float64 // log marginal density F(b) = log p(b | D) at the knots, up to a constant
	steps     []float64 // step size of Hamiltonian transitions of z there
	metrics   []*metric // and their metric; nil: the identity
	positions [][]float64

	peaks []int     // knots between which F has valleys
	share []float64 // exp F over its sum
}

const (
	knots      = 65                          // of the grid in b,
	firstKnot  = -farScale                   // from this one on,
	knotStep   = 2. * farScale / (knots - 1) // at this distance
	knotMoves  = 8                           // least transitions at each
	knotRungs  = 8                           // steps in b of a crossing for each knot on its way
	scanWork   = 2e8                         // multiplications of all, or twice as many if these take more
	shallow    = 0.5                         // depth of a valley that chains cross by themselves, in nats
	negligible = 6                           // nats below the highest peak: what a scan may be wrong by, and more
	largestFit = 256                         // most rewards of which knots have metrics of their own
)

// slicedTarget is a target at one b, a likelihood of the whitened rewards z alone.
type slicedTarget struct {
	*Target
	u, grad []float64 // (z, b), and the gradient there
}

func (t *Target) sliced() *slicedTarget {
	return &slicedTarget{t, make([]float64, t.Dim()), make([]float64, t.Dim())}
}

func (s *slicedTarget) Dim() int { return s.k }

// LogLikelihood is that of a Likelihood; with a gradient, it leaves that in b too.
func (s *slicedTarget) LogLikelihood(z, grad []float64) float64 {
	copy(s.u, z)
	if grad == nil {
		return s.Target.LogLikelihood(s.u, nil)
	}
	l := s.Target.LogLikelihood(s.u, s.grad)
	copy(grad, s.grad)
	return l
}

// newLadder returns a ladder between the peaks of p(b | D), or nil if there is one alone, or if to look takes too long.
// A second look, with the metrics that the rungs need, is taken where the first finds several.
func (t *Target) newLadder(rng *rand.Rand, accept float64) (found *ladder) {
	for _, informed := range []bool{false, true} {
		if informed && t.k > largestFit {
			break
		}
		l := t.scan(rng, accept, informed)
		if l == nil || len(l.peaks) < 2 {
			break
		}
		found = l
	}
	return found
}

// scan finds F by thermodynamic integration,
//
//	dF/db = E[∂ log p(D | z, b)/∂b | b, D] − b,
//
// with z from one chain that goes from the smallest β to the largest, and if it is asked for the mean curvature at each
// knot as the metric there. It returns nil where that takes too long.
func (t *Target) scan(rng *rand.Rand, accept float64, informed bool) *ladder {
	s := t.sliced()
	at, moves := newState(t.k), newHamiltonian(s, 1, roughLeapfrog)
	elliptical := newSlice(s)
	for i := range at.u {
		at.u[i] = rng.NormFloat64()
	}
	l := &ladder{f: make([]float64, knots)}
	last, start := 0.0, t.work()
	for i := range l.f {
		b := firstKnot + float64(i)*knotStep
		s.u[t.k] = b
		at.known = position
		adapt := mcmc.NewStepSize(moves.step, accept)
		curvature, curved := mat.NewSymDense(t.Dim(), nil), 0
		end, sum, count := start+scanWork*float64(i+1)/knots, 0.0, 0
		for n := 0; n < knotMoves || t.work() < end; n++ {
			if t.work() > start+2*scanWork {
				return nil
			}
			moves.step = adapt.Next(moves.move(&at, rng))
			elliptical.sweep(&at, rng)
			at.evaluate(s, gradientToo)
			if informed && n%curvatureEvery == 0 {
				t.addInformation(curvature)
				curved++
			}
			if n >= knotMoves/4 {
				sum += s.grad[t.k]
				count++
			}
		}
		moves.step = adapt.Average()
		slope := sum/float64(count) - b
		if i > 0 {
			l.f[i] = l.f[i-1] + knotStep*(last+slope)/2
		}
		last = slope
		if informed {
			moves.metric = newMetric(priorAnd(curvature.SliceSym(0, t.k), float64(curved)))
		}
		l.steps, l.metrics = append(l.steps, moves.step), append(l.metrics, moves.metric)
		l.positions = append(l.positions, slices.Clone(s.u))
	}
	l.peaks, l.share = peaks(l.f), shares(l.f)
	return l
}

// shares returns exp f over its sum.
func shares(f []float64) []float64 {
	out, total := make([]float64, len(f)), floats.LogSumExp(f)
	for i := range f {
		out[i] = math.Exp(f[i] - total)
	}
	return out
}

// peaks returns the highest knot before, between and after valleys of F that are deeper than shallow, between peaks
// that are not negligible.
func peaks(f []float64) []int {
	out, valley := []int{0}, false
	for i := range f {
		ridge := min(floats.Max(f[:i+1]), floats.Max(f[i:]))
		last := len(out) - 1
		switch {
		case ridge > floats.Max(f)-negligible && ridge-shallow > f[i]:
			valley = true
		case valley:
			out, valley = append(out, i), false
		case f[i] > f[out[last]]:
			out[last] = i
		}
	}
	return out
}

// knot returns the knot nearest to b.
func knot(b float64) int { return min(max(0, int(math.Round((b-firstKnot)/knotStep))), knots-1) }

// propose returns a b with the density q = exp F at the nearest knot, to be reached from another, and the log ratio
// log q(b) − log q(b') of the two. It is not ok where b is beyond the knots.
func (l *ladder) propose(b float64, rng *rand.Rand) (to, logRatio float64, ok bool) {
	if !(math.Abs(b) < farScale+knotStep/2) {
		return 0, 0, false
	}
	to = firstKnot + knotStep*(float64(mdp.Draw(rng, l.share))+rng.Float64()-0.5)
	return to, l.f[knot(b)] - l.f[knot(to)], true
}

// cross proposes another b, of any distance: b goes there in equal steps, and z makes a Hamiltonian transition given b
// after each but the last. With the log density π of the posterior, the position is accepted with the probability
//
//	min(1, exp(Σ_k [π(z_k, b_(k+1)) − π(z_k, b_k)] + log q(b) − log q(b')))
//
// (Nilmeier et al. 2011): the way back makes the same transitions in the opposite order.
func (k *chain) cross() {
	t, l, last := k.target, k.ladder, k.target.k
	b := k.at.u[last]
	to, gain, ok := l.propose(b, k.rng)
	if !ok {
		return
	}
	s := t.sliced()
	at, moves := newState(t.k), newHamiltonian(s, 1, roughLeapfrog)
	copy(at.u, k.at.u)
	s.u[last] = b
	at.evaluate(s, likelihoodToo)
	rungs := int(math.Ceil(knotRungs * math.Abs(to-b) / knotStep))
	for i := 1; i <= rungs; i++ {
		before := at.logLikelihood - s.u[last]*s.u[last]/2
		s.u[last] = b + (to-b)*float64(i)/float64(rungs)
		at.evaluate(s, gradientToo)
		gain += at.logLikelihood - s.u[last]*s.u[last]/2 - before
		if i < rungs {
			j := knot(s.u[last])
			moves.step, moves.metric = l.steps[j], l.metrics[j]
			moves.move(&at, k.rng)
		}
	}
	k.hamiltonian.spent += moves.spent
	if math.Log(k.rng.Float64()) < gain {
		copy(k.at.u, at.u)
		k.at.u[last] = to
		k.at.evaluate(t, gradientToo)
		k.keep()
	}
}
