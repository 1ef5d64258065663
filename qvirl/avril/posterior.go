package avril

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// collapsed is the fraction of its prior standard deviation below which a reward's counts as collapsed.
const collapsed = 1e-3

// Diagnostics tell how the optimisation ended.
type Diagnostics struct {
	Steps     int       // Adam steps made
	Converged bool      // whether the objective stopped growing; always false with a Tolerance of zero
	Objective float64   // the final objective, in nats
	Curve     []float64 // mean objective of each window of 500 steps
	Collapsed int       // rewards whose standard deviation is below a thousandth of the prior's
}

// Posterior is AVRIL's posterior over rewards: independent Gaussians.
type Posterior struct {
	problem     *irl.Problem
	q           []float64 // point estimate, [S·A]
	mean, std   []float64 // of the rewards, [n]
	diagnostics Diagnostics
}

// Problem implements irl.Posterior.
func (p *Posterior) Problem() *irl.Problem { return p.problem }

// Reward implements irl.Posterior.
func (p *Posterior) Reward(i int) irl.Marginal {
	return irl.NewMarginal(distuv.Normal{Mu: p.mean[i], Sigma: p.std[i]})
}

// PointQ returns the point estimate of the Q-values, [S·A]. The caller must not change it. AVRIL has no posterior over
// values of its own; Sample has one that follows from the rewards.
func (p *Posterior) PointQ() []float64 { return p.q }

// Diagnostics tell how the optimisation ended.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }

// Computation implements irl.Computed.
func (p *Posterior) Computation() map[string]float64 {
	d := p.diagnostics
	return map[string]float64{metric.Converged: npz.Indicator(d.Converged), metric.Collapsed: float64(d.Collapsed)}
}

// Convergence reports whether the objective stopped growing with no reward collapsed to a point.
func (p *Posterior) Convergence() (ok bool, reason string) {
	switch d := p.diagnostics; {
	case d.Collapsed > 0:
		return false, fmt.Sprintf("%d rewards collapsed to a point (λ is too large)", d.Collapsed)
	case !d.Converged:
		return false, "training ended before it converged"
	}
	return true, ""
}

// Sample implements irl.Posterior: rewards are sampled, and their Q-values found by solving the MDP for each (the
// paper's footnote on AVRIL in active learning).
func (p *Posterior) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	if n < 1 {
		return nil, fmt.Errorf("avril: cannot draw %d samples, want at least 1", n)
	}
	rewards := mat.NewDense(n, len(p.mean), nil)
	for i := 0; i < n; i++ {
		row := rewards.RawRowView(i)
		for j := range row {
			row[j] = p.mean[j] + p.std[j]*rng.NormFloat64()
		}
	}
	return p.problem.SolveSamples(rewards)
}

// Names of the arrays in a saved posterior.
const (
	arrayQ           = "q"
	arrayMean        = "reward_mean"
	arrayStd         = "reward_std"
	arrayCurve       = "objective_curve"
	arrayDiagnostics = "diagnostics" // steps, converged (0 or 1), objective, collapsed
)

// Kind is the kind of a stored posterior.
const Kind = "avril"

// Store implements irl.Storable.
func (p *Posterior) Store() (kind string, arrays map[string]npz.Array) {
	d := p.diagnostics
	return Kind, map[string]npz.Array{
		arrayQ:     npz.Floats(p.q, p.problem.MDP.States(), p.problem.MDP.Actions()),
		arrayMean:  npz.Floats(p.mean, len(p.mean)),
		arrayStd:   npz.Floats(p.std, len(p.std)),
		arrayCurve: npz.Floats(d.Curve, len(d.Curve)),
		arrayDiagnostics: npz.Floats([]float64{float64(d.Steps), npz.Indicator(d.Converged), d.Objective,
			float64(d.Collapsed)}, 4),
	}
}

// Restore reads a posterior that Store returned, as the answer to the given problem.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	n := problem.RewardDim()
	p := &Posterior{
		problem: problem, q: r.Finite(arrayQ, problem.MDP.States(), problem.MDP.Actions()), mean: r.Finite(arrayMean,
			n), std: r.Finite(arrayStd, n),
	}
	for i, v := range p.std {
		if v <= 0 {
			r.Fail("%s[%d] = %g, want more than 0", arrayStd, i, v)
		}
	}
	d, curve := r.Finite(arrayDiagnostics, 4), r.Finite(arrayCurve, -1)
	if err := r.Err(); err != nil {
		return nil, err
	}
	p.diagnostics = Diagnostics{Steps: int(d[0]), Converged: d[1] == 1, Objective: d[2], Collapsed: int(d[3]),
		Curve: curve}
	return p, nil
}
