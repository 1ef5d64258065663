// Package qvirl infers reward functions, and how sure one can be of them, from demonstrations: Q-based variational
// inverse reinforcement learning (QVIRL). It defines the problem that every method of this project solves (Problem), the
// questions that every posterior answers (Posterior, Samples, Marginal), and the tabular variational method itself
// (Variational, Gaussian). Subpackages hold the methods it is compared with (valuewalk, policywalk, avril), the metrics and the
// experiments.
//
// The posterior to use by default is not the paper's but one that is closer to the exact one and costs less, Warped: a short
// walk from a brief training, matched by rewards with skewed marginals.
//
//	start, err := qvirl.New(qvirl.StartConfig())
//	method, err := valuewalk.NewMatched("qvirl", start, valuewalk.WarpedRewards, valuewalk.DefaultMatch())
//
// The paper's, run to convergence, is qvirl.New(qvirl.DefaultConfig()). valuewalk.Refine takes either closer still, and
// valuewalk.Diagnose says whether that is needed. With Problem.BetaLogStd, β is inferred with the rewards.
//
// The method in three files: batch.go packs problems into arrays, objective.go builds the paper's loss from them, and
// variational.go trains. montecarlo.go builds another loss, which replaces the paper's approximations by draws; Config.Objective
// says which of them. The posterior by matching is in warped.go.
//
// # Notation
//
//	paper                        code
//	μ_Q*, σ_Q*, e(s,a), k        mean, logStd, embedding, kernelCovariance
//	Σ_Q* (or Σ_V*)               covX [.., n, n]: of the values x that the variational Gaussian is over
//	M_i, ν_i, ω_i, w_j (Clark)   meanMax, nu, omega, weights
//	V̂*                           meanMax, varMax; meanV, varV for the state values
//	C_QV, C_VV                   entries of rewards·rewardsᵀ in Gaussian (batch.posterior)
//	μ_R, Σ_R                     meanR, covR
//	p(a|s; θ)                    logProbs
//	β, γ, ρ0                     Beta, Discount, the MDP's Initial
//
// The values x are V*(s) where rewards depend on the state alone, and Q*(s,a) where they depend on the action too.
package qvirl
