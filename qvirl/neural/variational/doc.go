// Package variational is QVIRL in continuous spaces: a neural network gives the optimal Q-value of any state and action
// a mean, a standard deviation and a latent embedding, whose distances say how the values of different states and
// actions correlate (Eq. q-mean-cov). What that implies for rewards is held against a Gaussian-process prior over them.
//
// [Objective] is the loss, which package neural trains; [Posterior] answers questions of a trained model.
//
// # Notation
//
//	paper                     code
//	μ_Q*, σ_Q*, e(s,a)        values.mean, std, embedding
//	k                         correlation
//	V̂*, w_j                   meanMax, varMax, weights
//	μ_R, Σ_R                  reward.mean, covariance of reward.parts plus reward.lift on the diagonal
//	σ_0, ℓ_d                  prior.log_std, prior.log_lengthscale, exponentiated
//	s'_1, …, s'_m             neural.Transitions.Successor, with weights γ/m in Weight
//	inducing points           Objective.Inducing
//	k_A, k̃_j, α_j             ImagePrior.actionKernel; patchKernel, pyramid; weights
//	λ, B_expert, B_aux        KLWeight, neural.Batch.Expert, Aux
package variational
