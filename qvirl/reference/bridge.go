package reference

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/mcmc"
)

// bridge is a height h(b) ≥ 0 by which the log density of chains is raised where β is inferred: under a small β the
// expert errs often and rewards are free, under a large one hardly ever and rewards are bound, and both may explain
// the demonstrations far better than any β between them. With the log marginal density F(b) = log p(b | D), valleys
// between peaks that are not negligible are filled to a depth that chains cross by themselves,
//
//	h(b) = max(0, min(max_{a≤b} F(a), max_{a≥b} F(a)) − shallow − F(b)).
//
// A position counts with the probability exp(−h(b)), so that those that count have the posterior's distribution
// whatever h is. It is zero at all peaks of F: their masses need not be known.
type bridge []float64 // h at the knots, linear between them and zero beyond

const (
	knots      = 65                          // of the grid in b,
	firstKnot  = -farScale                   // from this one on,
	knotStep   = 2. * farScale / (knots - 1) // at this distance
	knotMoves  = 8                           // least transitions at each
	scanWork   = 2e8                         // multiplications of all, or twice as many if these take more
	shallow    = 3                           // depth of a valley that is left, in nats
	negligible = 6                           // nats below the highest peak: what a scan may be wrong by, and more
	manyMissed = 1000                        // positions that do not count, beyond those that do
)

// newBridge returns the bridge of F at the knots and the highest knot before, between and after valleys that it fills;
// nil and one knot if there are none.
func newBridge(f []float64) (h bridge, peaks []int) {
	h, peaks = make(bridge, len(f)), []int{0}
	for i := range f {
		if ridge := min(floats.Max(f[:i+1]), floats.Max(f[i:])); ridge > floats.Max(f)-negligible {
			h[i] = max(0, ridge-shallow-f[i])
		}
		last := len(peaks) - 1
		switch {
		case h[i] > 0:
		case i > 0 && h[i-1] > 0:
			peaks = append(peaks, i)
		case f[i] > f[peaks[last]]:
			peaks[last] = i
		}
	}
	if len(peaks) == 1 {
		return nil, peaks
	}
	return h, peaks
}

// at returns h(b) and its slope.
func (h bridge) at(b float64) (height, slope float64) {
	x := (b - firstKnot) / knotStep
	if !(x > 0 && x < float64(len(h)-1)) {
		return 0, 0
	}
	i := int(x)
	rise := h[i+1] - h[i]
	return h[i] + (x-float64(i))*rise, rise / knotStep
}

// slicedTarget is a target at one b, a likelihood of the whitened rewards z alone.
type slicedTarget struct {
	*Target
	u, grad []float64 // (z, b), and the gradient there
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

// scan returns the log marginal density F of b at the knots, up to a constant, by thermodynamic integration,
//
//	dF/db = E[∂ log p(D | z, b)/∂b | b, D] − b,
//
// and a position at each knot, with z from one chain that goes from the smallest β to the largest. It returns no knots
// where that takes too long.
func (t *Target) scan(rng *rand.Rand, accept float64) (f []float64, positions [][]float64) {
	s := &slicedTarget{t, make([]float64, t.Dim()), make([]float64, t.Dim())}
	at, moves := newState(t.k), newHamiltonian(s, 1, roughLeapfrog)
	elliptical := newSlice(s)
	for i := range at.u {
		at.u[i] = rng.NormFloat64()
	}
	f = make([]float64, knots)
	last, start := 0.0, t.work()
	for i := range f {
		b := firstKnot + float64(i)*knotStep
		s.u[t.k] = b
		at.known = position
		adapt := mcmc.NewStepSize(moves.step, accept)
		end, sum, count := start+scanWork*float64(i+1)/knots, 0.0, 0
		for n := 0; n < knotMoves || t.work() < end; n++ {
			if t.work() > start+2*scanWork {
				return nil, nil
			}
			moves.step = adapt.Next(moves.move(&at, rng))
			elliptical.sweep(&at, rng)
			at.evaluate(s, gradientToo)
			if n >= knotMoves/4 {
				sum += s.grad[t.k]
				count++
			}
		}
		moves.step = adapt.Average()
		slope := sum/float64(count) - b
		if i > 0 {
			f[i] = f[i-1] + knotStep*(last+slope)/2
		}
		last = slope
		positions = append(positions, slices.Clone(s.u))
	}
	return f, positions
}
