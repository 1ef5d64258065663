package reference

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/mcmc"
)

// Likelihood is a log-likelihood of u ∈ R^Dim, whose prior is standard normal: the kernels leave the density
// exp(−½ ‖u‖² + LogLikelihood(u)) invariant.
type Likelihood interface {
	Dim() int
	// LogLikelihood returns the log-likelihood at u, [Dim], and writes its gradient to grad, [Dim], unless that is nil.
	LogLikelihood(u, grad []float64) float64
}

// state is a position of a chain. A move leaves the log-likelihood and its gradient behind where it needs neither.
type state struct {
	u, grad       []float64
	logLikelihood float64
	known         knowledge
}

// knowledge says what of a state belongs to its position.
type knowledge int

const (
	position      knowledge = iota // u alone
	likelihoodToo                  // the log-likelihood
	gradientToo                    // and its gradient
)

func newState(dim int) state { return state{u: make([]float64, dim), grad: make([]float64, dim)} }

func (s *state) copyFrom(o *state) {
	copy(s.u, o.u)
	copy(s.grad, o.grad)
	s.logLikelihood, s.known = o.logLikelihood, o.known
}

// evaluate finds the log-likelihood at the present position, and its gradient if that is asked for.
func (s *state) evaluate(l Likelihood, what knowledge) {
	var grad []float64
	if what == gradientToo {
		grad = s.grad
	}
	s.logLikelihood, s.known = l.LogLikelihood(s.u, grad), what
}

// logDensity is that of the posterior, up to a constant.
func (s *state) logDensity() float64 { return s.logLikelihood - 0.5*floats.Dot(s.u, s.u) }

// metric is the mass matrix M = F Fᵀ of the Hamiltonian ½ pᵀ M⁻¹ p − log density; nil F is the identity.
type metric struct {
	factor  *mat.TriDense // F, [n, n]
	inverse *mat.Dense    // M⁻¹, [n, n]; its products are faster dense
}

// newMetric returns the metric of a positive definite mass matrix, or nil if it is not one to rounding.
func newMetric(mass *mat.SymDense) *metric {
	var chol mat.Cholesky
	var inverse mat.SymDense
	if !chol.Factorize(mass) || chol.InverseTo(&inverse) != nil {
		return nil
	}
	m := &metric{&mat.TriDense{}, mat.DenseCopyOf(&inverse)}
	chol.LTo(m.factor)
	return m
}

// draw draws a momentum p ~ N(0, M) and writes M⁻¹ p to velocity; it returns the kinetic energy.
func (m *metric) draw(p, velocity []float64, rng *rand.Rand) float64 {
	for i := range p {
		p[i] = rng.NormFloat64()
	}
	energy := 0.5 * floats.Dot(p, p)
	if m == nil {
		copy(velocity, p)
		return energy
	}
	blas64.Trmv(blas.NoTrans, m.factor.RawTriangular(), blas64.Vector{N: len(p), Data: p, Inc: 1})
	m.velocity(velocity, p)
	return energy
}

// velocity writes M⁻¹ p to dst.
func (m *metric) velocity(dst, p []float64) {
	if m == nil {
		copy(dst, p)
		return
	}
	gemv(blas.NoTrans, m.inverse, p, 0, dst)
}

// hamiltonian makes transitions of Hamiltonian Monte Carlo (Neal, 2011) of uniformly jittered length, with one of two
// step sizes at random.
type hamiltonian struct {
	likelihood Likelihood
	metric     *metric
	step       float64 // size of a leapfrog step
	short      float64 // probability of a transition with steps of shortStep times that size
	trajectory float64 // mean length of a trajectory in units of the metric
	limit      int     // of the leapfrog steps of one

	from               state
	momentum, velocity []float64
	last               mcmc.Transition
	spent              float64 // multiplications by the metric so far
}

// divergent is the loss of energy, in nats, at which a trajectory is given up.
const divergent = 1000

// Where the posterior is far narrower than it is in the mean, as at the largest β, only short steps lead a chain out
// again.
const (
	shortShare = 0.125 // hamiltonian.short after the warm-up
	shortStep  = 0.1   // size of short steps, relative to the others
)

func newHamiltonian(l Likelihood, trajectory float64, limit int) *hamiltonian {
	return &hamiltonian{likelihood: l, step: 0.1, trajectory: trajectory, limit: limit,
		from: newState(l.Dim()), momentum: make([]float64, l.Dim()), velocity: make([]float64, l.Dim())}
}

// move makes a transition and returns its acceptance probability.
func (h *hamiltonian) move(at *state, rng *rand.Rand) float64 {
	if at.known < gradientToo {
		at.evaluate(h.likelihood, gradientToo)
	}
	h.from.copyFrom(at)
	start := h.metric.draw(h.momentum, h.velocity, rng) - at.logDensity()
	step, steps := h.step, mcmc.Leapfrogs(rng, h.trajectory, h.step, h.limit)
	if h.short > 0 && rng.Float64() < h.short {
		step *= shortStep
	}
	for l := 1; l <= steps; l++ {
		h.kick(at, step/2)
		h.metric.velocity(h.velocity, h.momentum)
		h.spent += dense * float64(len(at.u)*len(at.u))
		floats.AddScaled(at.u, step, h.velocity)
		at.evaluate(h.likelihood, gradientToo)
		h.kick(at, step/2)
		if !(-at.logDensity()-start < divergent) {
			break
		}
	}
	h.metric.velocity(h.velocity, h.momentum)
	energy := 0.5*floats.Dot(h.momentum, h.velocity) - at.logDensity()
	accept := math.Min(1, math.Exp(start-energy))
	if math.IsNaN(accept) {
		accept = 0
	}
	h.last = mcmc.Transition{Acceptance: accept, Divergent: !(energy-start < divergent)}
	if !(rng.Float64() < accept) {
		at.copyFrom(&h.from)
	}
	return accept
}

// kick adds scale times the gradient of the log density to the momentum.
func (h *hamiltonian) kick(at *state, scale float64) {
	for i, g := range at.grad {
		h.momentum[i] += scale * (g - at.u[i])
	}
}

// slice makes transitions of elliptical slice sampling (Murray, Adams and MacKay, 2010) in some coordinates, which
// needs neither a gradient nor tuning: from u, along the ellipse u cos θ + ν sin θ with ν ~ N(0, I), to a point whose
// likelihood exceeds a random share of the present.
type slice struct {
	likelihood Likelihood
	from, nu   []float64
	scan       []int                                // coordinates that single has still to move, or it begins anew
	near       func(rng *rand.Rand, size int) []int // a random set of coordinates that belong together
	pair       func(rng *rand.Rand) [2][]int        // two random sets of as many coordinates to exchange; may be nil
}

func newSlice(l Likelihood) *slice {
	s := &slice{likelihood: l, from: make([]float64, l.Dim()), nu: make([]float64, l.Dim())}
	s.near = func(rng *rand.Rand, size int) []int { return rng.Perm(l.Dim())[:size] }
	return s
}

// sweepMoves is the number of transitions of a sweep, and of single.
const sweepMoves = 16

// single makes transitions of one coordinate each, one after the other in random order: of many that each have a limit
// of their own, such as that no other place is worth a stay, a set is as good as never free to move.
func (s *slice) single(at *state, rng *rand.Rand) {
	for range sweepMoves {
		if len(s.scan) == 0 {
			s.scan = rng.Perm(len(s.from))
		}
		last := len(s.scan) - 1
		s.moveIn(s.scan[last:], at, rng)
		s.scan = s.scan[:last]
	}
}

// sweep makes transitions of few coordinates each: of one alone as likely as of two to three, of four to seven and so
// on. Each set has a width of its own, where a transition of all together is as short as the narrowest direction, and
// far from the demonstrations nothing limits it. As many exchanges come first.
func (s *slice) sweep(at *state, rng *rand.Rand) {
	if s.pair != nil {
		for range sweepMoves {
			s.exchange(s.pair(rng), at, rng)
		}
	}
	doublings := math.Log2(float64(len(s.from) + 1))
	for range sweepMoves { // the last leaves its position evaluated
		s.moveIn(s.near(rng, int(math.Exp2(doublings*rng.Float64()))), at, rng)
	}
}

// exchange proposes that two sets of coordinates exchange their values, which the prior does not mind: which of two
// states is the goal may be all that demonstrations leave open, with little between the two answers. It reports whether
// they did.
func (s *slice) exchange(pair [2][]int, at *state, rng *rand.Rand) bool {
	if at.known < likelihoodToo {
		at.evaluate(s.likelihood, likelihoodToo)
	}
	before := at.logLikelihood
	swap := func() {
		for k, i := range pair[0] {
			j := pair[1][k]
			at.u[i], at.u[j] = at.u[j], at.u[i]
		}
	}
	swap()
	at.evaluate(s.likelihood, likelihoodToo)
	if !(math.Log(rng.Float64()) < at.logLikelihood-before) {
		swap()
		at.logLikelihood, at.known = before, likelihoodToo
		return false
	}
	return true
}

// moveIn makes a transition of the given coordinates: they are independent of the others under the prior.
func (s *slice) moveIn(coordinates []int, at *state, rng *rand.Rand) {
	if at.known < likelihoodToo {
		at.evaluate(s.likelihood, likelihoodToo)
	}
	for _, i := range coordinates {
		s.from[i], s.nu[i] = at.u[i], rng.NormFloat64()
	}
	floor := at.logLikelihood - rng.ExpFloat64()
	angle := 2 * math.Pi * rng.Float64()
	shrink(angle, angle-2*math.Pi, angle, rng, func(angle float64) bool {
		sin, cos := math.Sincos(angle)
		for _, i := range coordinates {
			at.u[i] = s.from[i]*cos + s.nu[i]*sin
		}
		at.evaluate(s.likelihood, likelihoodToo)
		return at.logLikelihood > floor
	})
}

// shrink goes to x and, until it is above the floor of a slice there, to draws from the bracket (low, high), whose end
// on that side each draw becomes (Neal, 2003, "Slice sampling"): in the end, the bracket has shrunk to 0, the position
// that the transition begins at.
func shrink(x, low, high float64, rng *rand.Rand, above func(x float64) bool) {
	for !above(x) && high-low >= 1e-14 {
		if x < 0 {
			low = x
		} else {
			high = x
		}
		x = low + (high-low)*rng.Float64()
	}
}
