// Package qvirl infers reward functions, and how sure one can be of them, from demonstrations: Bayesian inverse
// reinforcement learning. It is the front door: what a user names is here, and what does the work is in the packages
// below.
//
//	result, err := qvirl.Fit(ctx, problem)
//	if err != nil {
//		return err
//	}
//	low, high := result.Posterior.Reward(2).Interval(0.9)
//
//	irl         the problem and its posterior, which all of them share
//	verdict     whether to believe a posterior, and what to do if not
//	matched     the recommended posterior
//	tabular     the paper's method, QVIRL
//	reference   Markov chain Monte Carlo for any prior, discount and rationality
//	summary     means, standard deviations and the policy; sbc: calibration by simulation
//	valuewalk   Markov chain Monte Carlo from the exact posterior, refinement towards it, and diagnosis
//	policywalk  an earlier sampler
//	avril       an earlier variational method
//	apprentice  policies for a posterior; active: queries; metric: distances
//	problemfile problems and posteriors in files; inferencedata: ArviZ's; method: the names of methods
//	zoo         small problems with exact answers, to judge methods by
//	portrait    what the explorer of package widgets shows; loo: how well posteriors predict single steps;
//	            predictive: whether demonstrations are such as the model gives
//	neural      learners from observations instead of states
//	experiment  the experiments, from configuration to rows
package qvirl

import (
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
)

// What a problem is made of, and what a posterior answers.
type (
	// Problem is one Bayesian IRL problem on a finite MDP.
	Problem = irl.Problem
	// Prior is a Gaussian prior over the reward vector.
	Prior = irl.Prior
	// Kernel is the covariance function of a Gaussian process.
	Kernel = irl.Kernel
	// Posterior is a posterior over the reward of one problem.
	Posterior = irl.Posterior
	// Samples are joint samples of rewards and the optimal Q-values that belong to them.
	Samples = irl.Samples
	// Marginal is the distribution of one number of a posterior, with its credible intervals.
	Marginal = irl.Marginal
	// Method infers reward posteriors.
	Method = irl.Method
	// Progress is told how far a long computation has come.
	Progress = irl.Progress
)

// IndependentPrior returns the prior under which n rewards are independent N(mean, std²).
func IndependentPrior(n int, mean, std float64) Prior { return irl.IndependentPrior(n, mean, std) }

// DiagonalPrior returns the prior under which rewards are independent N(mean, std²), both [n]; one whose std is 0 is
// known.
func DiagonalPrior(mean, std []float64) Prior { return irl.DiagonalPrior(mean, std) }

// CorrelatedPrior returns the prior N(mean, cov), mean [n] and cov [n, n].
func CorrelatedPrior(mean []float64, cov *mat.SymDense) Prior { return Prior{Mean: mean, Cov: cov} }

// KernelPrior returns the prior of a Gaussian process over rewards with the given features, a row of [n, d] for each
// reward, and mean [n].
func KernelPrior(kernel Kernel, features *mat.Dense, mean []float64) (Prior, error) {
	return irl.KernelPrior(kernel, features, mean)
}
