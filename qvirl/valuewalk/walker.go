package valuewalk

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
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

// Walker is one Markov chain of Hamiltonian Monte Carlo, the walk over values: its transitions leave the posterior over
// x invariant, the optimal values of a reward (and log β after them where it is inferred), [Dim].
type Walker struct {
	StepSize  float64         // of a leapfrog step
	Last      mcmc.Transition // the last one
	Leapfrogs int             // leapfrog steps made so far, or since the warm-up

	target      *target
	rng         *rand.Rand
	determinant bool
	trajectory  float64
	longest     int      // leapfrog steps of a trajectory
	kinetic     *kinetic // nil before there is one

	placed             bool // it has a position
	at, from           point
	momentum, velocity []float64
	scratch            []float64

	curvature []float64 // sum over positions, [Dim, Dim]; nil for none
	positions int

	trace       *mcmc.Trace // positions since the warm-up; nil where they are not kept
	divergences int         // since the warm-up
	accepted    float64     // sum of acceptance probabilities since the warm-up
}

// NewWalker returns a walker in the posterior of a problem, whose prior must have a density. It has no position yet.
// trajectory is the mean length of a trajectory in units of posterior standard deviations.
func NewWalker(problem *irl.Problem, rng *rand.Rand, trajectory float64) (*Walker, error) {
	t, err := newTarget(problem)
	if err != nil {
		return nil, err
	}
	return newWalker(t, rng, trajectory, true), nil
}

func newWalker(t *target, rng *rand.Rand, trajectory float64, determinant bool) *Walker {
	k := &Walker{target: t, rng: rng, determinant: determinant, trajectory: trajectory, longest: maxLeapfrog,
		StepSize: firstStep, momentum: make([]float64, t.dim), velocity: make([]float64, t.dim),
		scratch: make([]float64, t.dim)}
	for _, p := range []*point{&k.at, &k.from} {
		p.x, p.grad = make([]float64, t.dim), make([]float64, t.dim)
	}
	return k
}

// MoveTo puts the walker at x, [Dim].
func (k *Walker) MoveTo(x []float64) {
	if k.placed && floats.Equal(x, k.at.x) {
		return
	}
	copy(k.at.x, x)
	k.evaluate()
	k.findDet()
	k.placed = true
}

// evaluate finds the density and the force at the present position.
func (k *Walker) evaluate() {
	k.at.density = k.target.eval(k.at.x, k.at.grad)
	if k.determinant {
		k.at.loop = k.target.addLoopForce(k.at.x, k.at.grad)
	}
}

// AddCurvature adds the posterior's curvature at the present position to that of which UseCurvature makes the mass
// matrix.
func (k *Walker) AddCurvature() {
	if k.curvature == nil {
		k.curvature = make([]float64, k.target.dim*k.target.dim)
	}
	k.target.eval(k.at.x, k.velocity) // a rejected trajectory has left it elsewhere; velocity is scratch between two
	k.target.addCurvature(k.curvature)
	k.positions++
}

// UseCurvature makes the mean of the curvatures that were added to walkers of one problem the mass matrix of each, and
// forgets them.
func UseCurvature(walkers []*Walker) error {
	n := walkers[0].target.dim
	sum, count := make([]float64, n*n), 0
	for _, k := range walkers {
		if k.positions > 0 {
			floats.Add(sum, k.curvature)
		}
		count += k.positions
		k.curvature, k.positions = nil, 0
	}
	m, err := newKinetic(walkers[0].target, sum, count)
	if err != nil {
		return err
	}
	for _, k := range walkers {
		k.kinetic = m
	}
	return nil
}

// Ready reports whether the walker has a mass matrix.
func (k *Walker) Ready() bool { return k.kinetic != nil }

func (k *Walker) findDet() {
	if k.determinant {
		k.at.logDet = k.target.logDet()
	}
}

// Step makes a transition and returns the position, valid until the next, and the probability with which the leapfrog
// integration alone would have been accepted on the smooth stand-in for the density: the size of its steps has a hold
// on that only.
func (k *Walker) Step() (x []float64, integration float64) {
	k.from.copyFrom(&k.at)
	kinetic := k.kinetic.momentum(k.momentum, k.velocity, k.rng)
	steps := mcmc.Leapfrogs(k.rng, k.trajectory, k.StepSize, k.longest)
	floats.AddScaled(k.momentum, k.StepSize/2, k.at.grad)
	for l := 1; l <= steps; l++ {
		k.kinetic.velocity(k.velocity, k.scratch, k.momentum)
		floats.AddScaled(k.at.x, k.StepSize, k.velocity)
		k.evaluate()
		if l < steps {
			floats.AddScaled(k.momentum, k.StepSize, k.at.grad)
		}
	}
	floats.AddScaled(k.momentum, k.StepSize/2, k.at.grad)
	k.kinetic.velocity(k.velocity, k.scratch, k.momentum)
	k.findDet()

	gain := k.at.density - k.from.density + kinetic - 0.5*floats.Dot(k.momentum, k.velocity)
	smooth := gain + k.at.loop - k.from.loop
	exact := gain + k.at.logDet - k.from.logDet
	if math.IsNaN(exact) || math.IsNaN(smooth) { // the trajectory left the range of float64
		exact, smooth = math.Inf(-1), math.Inf(-1)
	}
	accept := math.Min(1, math.Exp(exact))
	k.Last = mcmc.Transition{Acceptance: accept, Divergent: smooth < -divergenceError}
	if k.Last.Divergent {
		k.divergences++
	}
	k.Leapfrogs += steps
	k.accepted += accept
	if !(k.rng.Float64() < accept) {
		k.at.copyFrom(&k.from)
	}
	return k.at.x, math.Min(1, math.Exp(smooth))
}

// adapt makes the given number of iterations while it adapts the step size, and leaves the averaged one in k. visit, if
// not nil, is called after each with how many were made.
func (k *Walker) adapt(ctx context.Context, iterations int, targetAccept float64,
	visit func(k *Walker, made int)) error {
	size := mcmc.NewStepSize(k.StepSize, targetAccept)
	for i := range iterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, integration := k.Step()
		k.StepSize = size.Next(integration)
		if visit != nil {
			visit(k, i+1)
		}
	}
	k.StepSize = size.Average()
	return nil
}

// sample makes iterations until there are total since the warm-up.
func (k *Walker) sample(ctx context.Context, total int) error {
	for k.trace.Len() < total {
		if err := ctx.Err(); err != nil {
			return err
		}
		k.Step()
		k.trace.Add(k.at.x, k.Last)
	}
	return nil
}

// Rewards returns the rewards, [n], that have the values x; valid until the next call.
func (k *Walker) Rewards(x []float64) []float64 {
	k.target.invert(x)
	return k.target.reward
}
