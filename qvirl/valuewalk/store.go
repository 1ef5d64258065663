package valuewalk

import (
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// The kinds of stored posteriors.
const (
	Kind        = "valuewalk"
	KindRefined = "refined"
)

// Store implements irl.Storable. Samples are stored in single precision where that is enough.
func (p *Posterior) Store() (kind string, arrays map[string]npz.Array) {
	d := p.diagnostics
	return Kind, mcmc.Join(p.Arrays(), d.Diagnostics.Arrays(p.Problem()), mcmc.ArraysOf(d.numbers()),
		map[string]npz.Array{
			"determinant": npz.Ints([]int{int(npz.Indicator(p.determinant))}),
			"divergences": npz.Ints([]int{d.Divergences})})
}

func (d *Diagnostics) numbers() map[string]*float64 {
	return map[string]*float64{"step_size": &d.StepSize, "leapfrog_steps": &d.LeapfrogSteps}
}

// Restore reads a posterior that Posterior.Store returned. It refuses samples that are not finite.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	p := &Posterior{determinant: r.Int("determinant") != 0, Posterior: mcmc.Restore(r, problem, mcmc.MinPerChain)}
	p.diagnostics.Diagnostics.Restore(r, problem)
	mcmc.RestoreNumbers(r, p.diagnostics.numbers())
	p.diagnostics.Divergences = r.Int("divergences")
	return p, r.Err()
}

// Store implements irl.Storable, walker by walker, without the approximation that the posterior is a refinement of.
func (p *Refined) Store() (kind string, arrays map[string]npz.Array) {
	d := p.diagnostics
	return KindRefined, mcmc.Join(p.Arrays(), mcmc.ArraysOf(d.numbers()), map[string]npz.Array{
		"divergences": npz.Ints([]int{d.Divergences}), "evaluations": npz.Ints([]int{d.Evaluations})})
}

func (d *RefineDiagnostics) numbers() map[string]*float64 {
	return map[string]*float64{"acceptance": &d.Acceptance, "step_size": &d.StepSize,
		"leapfrog_steps": &d.LeapfrogSteps,
		"stuck":          &d.Stuck, "drift": &d.Drift, "settling": &d.Settling, "noise": &d.Noise,
		"policy_drift": &d.PolicyDrift, "seconds": &d.Seconds}
}

// RestoreRefined reads a posterior that Refined.Store returned. Its Start is nil.
func RestoreRefined(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	p := &Refined{Posterior: mcmc.Restore(r, problem, 1)}
	mcmc.RestoreNumbers(r, p.diagnostics.numbers())
	p.diagnostics.Divergences, p.diagnostics.Evaluations = r.Int("divergences"), r.Int("evaluations")
	return p, r.Err()
}
