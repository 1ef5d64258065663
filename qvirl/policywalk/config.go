package policywalk

import (
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Config says how a posterior is sampled. Default returns values that suit 3×3 gridworlds; larger worlds are better
// left to ValueWalk. An iteration of a chain is a sweep, one proposal for each component of the reward.
type Config struct {
	Samples int // samples that are kept, in all chains together, a multiple of Chains; 5000
	Chains  int // chains from prior draws; 4
	Warmup  int // iterations of each chain that adapt the steps and are thrown away; 1000

	// Sampling goes on until each reward and each value has at least MinESS effective samples (bulk) among the kept
	// ones and a split-R̂ of at most MaxRHat, or until each chain has made MaxIterations. Diagnostics.Clean tells
	// which.
	MinESS        float64 // 1000
	MaxRHat       float64 // 1.01
	MaxIterations int     // per chain, after the warm-up; 200000

	// TargetAccept is the acceptance of each component's proposals that the width of its steps is adapted to; 0.44, the
	// best for one component of a Gaussian (Roberts and Rosenthal, 2001).
	TargetAccept float64
	Seed         uint64
}

// Default returns the default configuration with seed 0.
func Default() Config {
	return Config{Samples: 5000, Chains: 4, Warmup: 1000, MinESS: 1000, MaxRHat: 1.01, MaxIterations: 200_000,
		TargetAccept: 0.44}
}

// minWarmup is the shortest warm-up that can adapt anything.
const minWarmup = 40

// budget returns what the config says about the length of the chains.
func (c Config) budget() mcmc.Budget {
	return mcmc.Budget{Samples: c.Samples, Chains: c.Chains, MinESS: c.MinESS, MaxRHat: c.MaxRHat,
		MaxIterations: c.MaxIterations}
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.All("policywalk", c.budget().Validate(), check.AtLeast(minWarmup, "Warmup", c.Warmup),
		check.Between("TargetAccept", c.TargetAccept))
}
