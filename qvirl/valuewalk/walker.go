package valuewalk

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Walker makes the Hamiltonian transitions of the walk over values one at a time, for samplers that alternate them with
// others: they leave the posterior over x invariant, the optimal values of a reward (and log β after them where it is
// inferred), [Dim].
type Walker struct {
	chain     *chain
	metric    *metric
	curvature []float64 // sum over positions, [Dim, Dim]
	positions int
	placed    bool // it has a position
}

// NewWalker returns a walker in the posterior of a problem, whose prior must have a density. It has no position yet.
// trajectory is the mean length of a trajectory in units of posterior standard deviations.
func NewWalker(problem *irl.Problem, rng *rand.Rand, trajectory float64) (*Walker, error) {
	t, err := newTarget(problem)
	if err != nil {
		return nil, err
	}
	return &Walker{chain: newWalker(t, rng, trajectory, true), curvature: make([]float64, t.dim*t.dim)}, nil
}

// MoveTo puts the walker at x, [Dim].
func (w *Walker) MoveTo(x []float64) {
	if !w.placed || !floats.Equal(x, w.chain.at.x) {
		w.chain.moveTo(x)
		w.placed = true
	}
}

// AddCurvature adds the posterior's curvature at the present position to that of which UseCurvature makes the mass
// matrix.
func (w *Walker) AddCurvature() {
	w.chain.addCurvature(w.curvature)
	w.positions++
}

// UseCurvature makes the mean of the curvatures that were added to walkers of one problem the mass matrix of each, and
// forgets them.
func UseCurvature(walkers []*Walker) error {
	n := walkers[0].chain.target.dim
	sum, count := make([]float64, n*n), 0
	for _, w := range walkers {
		floats.Add(sum, w.curvature)
		count += w.positions
		w.positions = 0
		clear(w.curvature)
	}
	m, err := newMetric(symmetric(sum, n, float64(count)))
	if err != nil {
		return err
	}
	for _, w := range walkers {
		w.metric = m
	}
	return nil
}

// Ready reports whether the walker has a mass matrix.
func (w *Walker) Ready() bool { return w.metric != nil }

// Step makes a transition and returns the position, valid until the next, and the probability with which the leapfrog
// integration alone would have been accepted, which the size of its steps has a hold on.
func (w *Walker) Step() (x []float64, integration float64) {
	integration = w.chain.iterate(w.metric)
	return w.chain.at.x, integration
}

// Last returns the last transition.
func (w *Walker) Last() mcmc.Transition { return w.chain.last }

// StepSize returns the size of a leapfrog step.
func (w *Walker) StepSize() float64 { return w.chain.step }

// SetStepSize sets it.
func (w *Walker) SetStepSize(step float64) { w.chain.step = step }

// Rewards returns the rewards, [n], that have the values x; valid until the next call.
func (w *Walker) Rewards(x []float64) []float64 {
	w.chain.target.invert(x)
	return w.chain.target.reward
}

// Leapfrogs returns how many leapfrog steps were made so far.
func (w *Walker) Leapfrogs() int { return w.chain.leapfrogs }
