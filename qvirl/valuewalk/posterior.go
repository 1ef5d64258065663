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

// Convergence returns the part of the diagnostics that all Markov chains have.
func (p *Posterior) Convergence() *mcmc.Diagnostics { return &p.diagnostics.Diagnostics }

// Diagnostics returns how well the posterior was sampled.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }
