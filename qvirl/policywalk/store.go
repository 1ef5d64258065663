package policywalk

import (
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Kind is the kind of a stored posterior.
const Kind = "policywalk"

// Store implements irl.Storable. Samples are stored in single precision where that is enough.
func (p *Posterior) Store() (kind string, arrays map[string]npz.Array) {
	d := p.diagnostics
	return Kind, mcmc.Join(p.Arrays(), d.Diagnostics.Arrays(p.Problem()),
		map[string]npz.Array{"widths": npz.Floats(d.Widths, len(d.Widths))})
}

// Restore reads a posterior that Store returned. It refuses samples that are not finite.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	p := &Posterior{Posterior: mcmc.Restore(r, problem, mcmc.MinPerChain)}
	p.diagnostics.Diagnostics.Restore(r, problem)
	p.diagnostics.Widths = r.Finite("widths", -1)
	return p, r.Err()
}
