// Package loo estimates how well a posterior predicts each demonstrated decision from all others, without fitting it
// again: leave-one-out cross-validation by Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry 2017,
// "Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC").
package loo

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Of returns, for each demonstrated decision i of the posterior's problem, in its order,
//
//	log p(aᵢ | sᵢ, the others) ≈ log Σ_d w_d π_d(aᵢ|sᵢ),   w_d ∝ 1 / π_d(aᵢ|sᵢ), smoothed,
//
// over draws d of the posterior: what a draw predicts, weighted as if the decision had not been seen. The draws of a
// posterior that consists of chains are its own; of any other, there are so many, at least mcmc.MinDraws. A decision
// that was demonstrated several times counts each time, and one of them is left out at a time.
func Of(method string, post irl.Posterior, draws int, seed uint64) (*exhibit.LOO, error) {
	if err := irl.CheckPosterior("loo", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	if len(p.Demos) == 0 {
		return nil, fmt.Errorf("loo: the problem has no demonstrations to leave out")
	}
	samples, _, err := mcmc.Draws(post, rand.New(rand.NewPCG(seed, 0)), draws, mcmc.MinDraws)
	if err != nil {
		return nil, fmt.Errorf("loo: %w", err)
	}
	actions := p.MDP.Actions()
	n, _ := samples.Q.Dims()
	out := &exhibit.LOO{Method: method}
	for i, d := range p.Demos {
		there := irl.Samples{Q: samples.Q.Slice(0, n, d.State*actions, (d.State+1)*actions).(*mat.Dense),
			Beta: samples.Beta}
		likelihood := mat.Col(nil, d.Action, there.LogPolicies(actions, p.Beta))
		ratios := floats.ScaleTo(make([]float64, len(likelihood)), -1, likelihood)
		smoothed, err := mcmc.Smooth(ratios)
		if err != nil {
			return nil, fmt.Errorf("loo: decision %d: %w", i, err)
		}
		floats.Add(likelihood, smoothed.LogWeights)
		out.Pointwise = append(out.Pointwise, floats.LogSumExp(likelihood))
		out.KHat, out.Threshold = append(out.KHat, smoothed.KHat), smoothed.Threshold
	}
	return out, nil
}
