package valuewalk

import "github.com/go-birl/birl/qvirl/mcmc"

// Posterior is a sampled posterior. It is an irl.ValuePosterior and safe for concurrent use.
type Posterior struct {
	*mcmc.Posterior
	determinant bool
	diagnostics Diagnostics
}

// Method returns the name of the method that sampled it.
func (p *Posterior) Method() string { return methodName(p.determinant) }

// Sampling returns the part of the diagnostics that all Markov chains have.
func (p *Posterior) Sampling() *mcmc.Diagnostics { return &p.diagnostics.Diagnostics }

// Convergence reports whether the chains agree and are long enough by the configuration's targets.
func (p *Posterior) Convergence() (ok bool, reason string) { return p.diagnostics.Converged() }

// Diagnostics returns how well the posterior was sampled.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }
