// Package tabular is the paper's method on finite MDPs: variational inference over optimal values. batch.go packs
// problems into arrays. The paper's objective is computed by closed.go and moments.go, in Go with a gradient by hand,
// and minimised by lbfgs.go. objective.go builds it as a graph too, and montecarlo.go others, which replace the paper's
// approximations by draws; variational.go trains graphs by Adam. Config.Objective and Config.Optimizer say which.
//
// On many states, sparse.go computes the paper's objective for a covariance that is diagonal but for a low rank
// (lowrank.go), by factors of band matrices (band.go): with a state and its successors at most w apart in a numbering
// of the states, such as w = 2√S in a gridworld, an evaluation takes time of S·w² and memory of S·(w + rank), where the
// full covariance takes S³ and S². The posterior of either is a Gaussian, whose deviations from the mean are a scatter.
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
package tabular
