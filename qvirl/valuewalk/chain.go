package valuewalk

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/mcmc"
)

const (
	maxLeapfrog     = 200  // steps of a trajectory, whatever the step size
	divergenceError = 1000 // error of the energy, in nats, that counts as a divergence (Stan's threshold)
	firstStep       = 0.2  // step size that the adaptation starts from
)

// point is a position with what the dynamics need to know there.
type point struct {
	x, grad []float64
	density float64 // log density without the determinant
	loop    float64 // the smooth stand-in for log det
	logDet  float64
}

func (p *point) copyFrom(q *point) {
	copy(p.x, q.x)
	copy(p.grad, q.grad)
	p.density, p.loop, p.logDet = q.density, q.loop, q.logDet
}

// chain is one Markov chain of Hamiltonian Monte Carlo.
type chain struct {
	target      *target
	rng         *rand.Rand
	determinant bool
	trajectory  float64
	step        float64 // step size

	at, from           point
	momentum, velocity []float64

	trace *mcmc.Trace // positions since the warm-up

	leapfrogs, divergences int     // since the warm-up
	accepted               float64 // sum of acceptance probabilities since the warm-up
	last                   mcmc.Transition
}

func newChain(t *target, rng *rand.Rand, start []float64, c Config) *chain {
	k := newWalker(t, rng, c.Trajectory, !c.NoDeterminant)
	k.trace = mcmc.NewTrace(t.dim, storeLimit*c.Samples/c.Chains)
	k.moveTo(start)
	return k
}

// newWalker returns a chain that has no position yet and keeps no trace.
func newWalker(t *target, rng *rand.Rand, trajectory float64, determinant bool) *chain {
	k := &chain{target: t, rng: rng, determinant: determinant, trajectory: trajectory, step: firstStep,
		momentum: make([]float64, t.dim), velocity: make([]float64, t.dim)}
	for _, p := range []*point{&k.at, &k.from} {
		p.x, p.grad = make([]float64, t.dim), make([]float64, t.dim)
	}
	return k
}

// moveTo starts the chain, or starts it again, at a position.
func (k *chain) moveTo(x []float64) {
	copy(k.at.x, x)
	k.evaluate()
	k.findDet()
}

// evaluate finds the density and the force at the present position.
func (k *chain) evaluate() {
	k.at.density = k.target.eval(k.at.x, k.at.grad)
	if k.determinant {
		k.at.loop = k.target.addLoopForce(k.at.x, k.at.grad)
	}
}

// addCurvature adds the target's curvature at the present position to h, [dim, dim].
func (k *chain) addCurvature(h []float64) {
	k.target.eval(k.at.x, k.velocity) // a rejected trajectory has left it elsewhere; velocity is scratch between two
	k.target.addCurvature(h)
}

func (k *chain) findDet() {
	if k.determinant {
		k.at.logDet = k.target.logDet()
	}
}

// iterate makes one transition, which it leaves in last, and returns the acceptance probability that the leapfrog
// integration alone would have had on the smooth stand-in for the density: the step size has a hold on that only.
func (k *chain) iterate(m *metric) (integration float64) {
	k.from.copyFrom(&k.at)
	kinetic := m.momentum(k.momentum, k.velocity, k.rng)
	// A uniformly jittered length keeps trajectories from closing on themselves (Neal, 2011).
	steps := int(math.Ceil((0.5 + k.rng.Float64()) * k.trajectory / k.step))
	steps = min(steps, maxLeapfrog)
	floats.AddScaled(k.momentum, k.step/2, k.at.grad)
	for l := 1; l <= steps; l++ {
		m.velocity(k.velocity, k.momentum)
		floats.AddScaled(k.at.x, k.step, k.velocity)
		k.evaluate()
		if l < steps {
			floats.AddScaled(k.momentum, k.step, k.at.grad)
		}
	}
	floats.AddScaled(k.momentum, k.step/2, k.at.grad)
	m.velocity(k.velocity, k.momentum)
	k.findDet()

	gain := k.at.density - k.from.density + kinetic - 0.5*floats.Dot(k.momentum, k.velocity)
	smooth := gain + k.at.loop - k.from.loop
	exact := gain + k.at.logDet - k.from.logDet
	if math.IsNaN(exact) || math.IsNaN(smooth) { // the trajectory left the range of float64
		exact, smooth = math.Inf(-1), math.Inf(-1)
	}
	accept := math.Min(1, math.Exp(exact))
	k.last = mcmc.Transition{Acceptance: accept, Divergent: smooth < -divergenceError}
	if k.last.Divergent {
		k.divergences++
	}
	k.leapfrogs += steps
	k.accepted += accept
	if !(k.rng.Float64() < accept) {
		k.at.copyFrom(&k.from)
	}
	return math.Min(1, math.Exp(smooth))
}

// adapt makes the given number of iterations while it adapts the step size, and leaves the averaged one in k. visit, if
// not nil, is called after each.
func (k *chain) adapt(ctx context.Context, m *metric, iterations int, targetAccept float64, visit func()) error {
	size := mcmc.NewStepSize(k.step, targetAccept)
	for range iterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		k.step = size.Next(k.iterate(m))
		if visit != nil {
			visit()
		}
	}
	k.step = size.Average()
	return nil
}

func (k *chain) stepSize() float64 { return k.step }

// settle forgets what the warm-up counted.
func (k *chain) settle() { k.leapfrogs, k.divergences, k.accepted = 0, 0, 0 }

// sample makes iterations until there are total since the warm-up.
func (k *chain) sample(ctx context.Context, m *metric, total int) error {
	for k.trace.Len() < total {
		if err := ctx.Err(); err != nil {
			return err
		}
		k.iterate(m)
		k.trace.Add(k.at.x, k.last)
	}
	return nil
}
