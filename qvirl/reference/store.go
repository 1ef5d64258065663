package reference

import (
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Kind is the kind of a stored posterior.
const Kind = "reference"

// Arrays with the numbers of modes and of subproblems, which files of before they were stored lack.
const modesFound, subproblems = "modes", "subproblems"

// Store implements irl.Storable. Samples are stored in single precision where that is enough.
func (p *Posterior) Store() (kind string, arrays map[string]npz.Array) {
	d := p.diagnostics
	return Kind, mcmc.Join(p.Arrays(), d.Diagnostics.Arrays(p.Problem()), map[string]npz.Array{
		"shares": npz.Floats(d.Shares[:], kernels), modesFound: npz.Ints([]int{d.Modes}),
		"unsearched": npz.Scalar(npz.Indicator(d.Unsearched)), "rounding": npz.Scalar(d.Rounding),
		"rare": npz.Scalar(d.Rare), "crowded": npz.Scalar(npz.Indicator(d.Crowded)),
		subproblems: npz.Ints([]int{d.Subproblems}),
	})
}

// Restore reads a posterior that Store returned. It refuses samples that are not finite.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	p := &Posterior{Posterior: mcmc.Restore(r, problem, mcmc.MinPerChain)}
	p.diagnostics.Diagnostics.Restore(r, problem)
	copy(p.diagnostics.Shares[:], r.Finite("shares", kernels))
	if r.Has(modesFound) {
		p.diagnostics.Modes, p.diagnostics.Unsearched = r.Int(modesFound), r.Scalar("unsearched") != 0
		p.diagnostics.Rounding = r.Scalar("rounding")
	}
	if r.Has("rare") { // files of before lack it
		p.diagnostics.Rare, p.diagnostics.Crowded = r.Scalar("rare"), r.Scalar("crowded") != 0
	}
	if r.Has(subproblems) {
		p.diagnostics.Subproblems = r.Int(subproblems)
	}
	return p, r.Err()
}
