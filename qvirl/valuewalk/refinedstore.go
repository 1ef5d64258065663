package valuewalk

import (
	"fmt"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// Save writes the posterior to an .npz file as Posterior.Save does, walker by walker, without the approximation that it
// started from.
func (p *Refined) Save(path string) error {
	arrays, err := arraysOf(p.Posterior)
	if err != nil {
		return err
	}
	d := p.diagnostics
	for name, v := range d.scalars() {
		arrays[name] = npz.Scalar(*v)
	}
	arrays["divergences"], arrays["evaluations"] = npz.Ints([]int{d.Divergences}), npz.Ints([]int{d.Evaluations})
	if err := npz.Write(path, arrays); err != nil {
		return fmt.Errorf("valuewalk: cannot save the refined posterior: %w", err)
	}
	return nil
}

// scalars names the diagnostics as they are stored.
func (d *RefineDiagnostics) scalars() map[string]*float64 {
	return map[string]*float64{"acceptance": &d.Acceptance, "step_size": &d.StepSize, "leapfrog_steps": &d.LeapfrogSteps,
		"stuck": &d.Stuck, "drift": &d.Drift, "settling": &d.Settling, "noise": &d.Noise, "policy_drift": &d.PolicyDrift,
		"seconds": &d.Seconds}
}

// LoadRefined reads a posterior that Refined.Save wrote for the same problem. start is the approximation that it is a
// refinement of; nil leaves it without one, and Diagnose with nothing to judge.
func LoadRefined(path string, problem *irl.Problem, start Approximation) (*Refined, error) {
	l, err := open(path, problem)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	p := &Refined{Posterior: l.posterior(problem, 1), start: start}
	l.scalars(p.diagnostics.scalars())
	p.diagnostics.Divergences, p.diagnostics.Evaluations = l.Int("divergences"), l.Int("evaluations")
	if err := l.Err(); err != nil {
		return nil, fmt.Errorf("valuewalk: cannot load a posterior: %w", err)
	}
	return p, nil
}
