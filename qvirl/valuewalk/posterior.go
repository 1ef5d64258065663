package valuewalk

import (
	"fmt"

	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/metric"
)

// maxCondition is the condition number of the prior's correlations up to which chains that agree are believed. Beyond,
// the posterior over values is a sheet so thin that all chains may creep from their starts at the same pace.
const maxCondition = 1e6

// Posterior is a sampled posterior. It is an irl.ValuePosterior and safe for concurrent use.
type Posterior struct {
	*mcmc.Posterior
	determinant bool
	diagnostics Diagnostics
}

// Diagnostics says how well a posterior was sampled.
type Diagnostics struct {
	mcmc.Diagnostics

	Divergences   int     // trajectories after the warm-up whose energy error exceeded 1000 nats
	StepSize      float64 // of the leapfrog integration
	LeapfrogSteps float64 // mean number in a trajectory
}

// Method returns the name of the method that sampled it.
func (p *Posterior) Method() string { return methodName(p.determinant) }

// Sampling returns the part of the diagnostics that all Markov chains have.
func (p *Posterior) Sampling() *mcmc.Diagnostics { return &p.diagnostics.Diagnostics }

// Computation implements irl.Computed.
func (p *Posterior) Computation() map[string]float64 {
	out := p.diagnostics.Diagnostics.Computation()
	out[metric.Divergences] = float64(p.diagnostics.Divergences)
	return out
}

// Convergence reports whether the chains agree and are long enough by the configuration's targets, under a prior for
// which that means something.
func (p *Posterior) Convergence() (ok bool, reason string) {
	if c := p.Problem().Prior.Condition(); c > maxCondition {
		return false, fmt.Sprintf("the prior's correlations have the condition number %.1g, above %.1g: chains of a "+
			"walk over values may agree and be wrong; use the method reference", c, maxCondition)
	}
	return p.diagnostics.Converged()
}

// Diagnostics returns how well the posterior was sampled.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }
