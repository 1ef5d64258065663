package tabular

import (
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// The kinds of stored Gaussians: of a full covariance, and of one that is diagonal but for a low rank.
const (
	Kind        = "gaussian"
	LowRankKind = "gaussian-low-rank"
)

// Store implements irl.Storable.
func (p *Gaussian) Store() (kind string, arrays map[string]npz.Array) {
	n, rewards, states := len(p.meanX), len(p.meanR), len(p.meanV)
	curve := make([]float64, 0, 4*len(p.curve))
	for _, c := range p.curve {
		curve = append(curve, float64(c.Step), c.ELBO, c.KL, c.LogLikelihood)
	}
	arrays = map[string]npz.Array{
		"value_mean": npz.Floats(p.meanV, states), "value_var": npz.Floats(p.varV, states),
		"x_mean": npz.Floats(p.meanX, n), "reward_mean": npz.Floats(p.meanR, rewards),
		"action_probs": npz.Floats(p.probs, states, len(p.probs)/states),
		"curve":        npz.Floats(curve, len(p.curve), 4),
		"converged":    npz.Scalar(npz.Indicator(p.converged)), "seconds": npz.Scalar(p.seconds),
		"exact": npz.Scalar(npz.Indicator(p.exact != nil)), "elbo": npz.Scalar(p.elbo),
	}
	return p.around.store(arrays), arrays
}

// Restore reads a Gaussian that Store returned with Kind, as the answer to the given problem.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	return restore(r, problem, restoreFull)
}

// RestoreLowRank reads one that Store returned with LowRankKind.
func RestoreLowRank(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	return restore(r, problem, restoreLowRank)
}

func restore(r *npz.Reader, problem *irl.Problem, around func(*npz.Reader, *irl.Problem) (scatter, error)) (
	irl.Posterior, error) {
	n, rewards, states, actions := problem.ValueDim(), problem.RewardDim(), problem.MDP.States(), problem.MDP.Actions()
	read := r.Finite
	p := &Gaussian{
		problem: problem, meanV: read("value_mean", states), varV: read("value_var", states),
		meanX: read("x_mean", n), meanR: read("reward_mean", rewards), probs: read("action_probs", states, actions),
		converged: r.Scalar("converged") != 0, seconds: r.Scalar("seconds"), elbo: r.Scalar("elbo"),
	}
	curve, exact := read("curve", -1, 4), r.Scalar("exact")
	var err error
	if p.around, err = around(r, problem); err != nil {
		return nil, err
	}
	if exact != 0 {
		p.exact = p.exactly()
	}
	for ; len(curve) > 0; curve = curve[4:] {
		p.curve = append(p.curve, CurvePoint{Step: int(curve[0]), ELBO: curve[1], KL: curve[2],
			LogLikelihood: curve[3]})
	}
	return p, nil
}
