// Package policywalk samples the exact posterior of Bayesian inverse reinforcement learning on a finite MDP by a Markov
// chain in reward space (PolicyWalk: Ramachandran and Amir, 2007).
//
// A Metropolis chain changes one component of the reward at a time. The likelihood of a proposal needs its optimal
// values: the policy that was optimal before is evaluated under the new reward, and improved only if it is no longer
// optimal, which after a small change it seldom is. The posterior is that of package valuewalk: the same Gaussian prior
// and Boltzmann likelihood (Eq. boltzmann-likelihood). No change of variables is involved, so that the two samplers
// check each other.
//
// The original walks on a lattice of rewards whose spacing δ is set by hand, one step of ±δ at a time. Here steps are
// Gaussian, with a width for each component that the warm-up adapts: the stationary distribution is then the posterior
// itself instead of its restriction to a lattice, and there is no δ to choose. The components are those of the whitened
// reward z, R = μ + L z with L Lᵀ the prior covariance: single rewards, in units of their standard deviation, where the
// prior is independent. Chains start from prior draws, the original's from one random reward.
package policywalk
