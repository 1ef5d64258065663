package valuewalk

import (
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Config says how a posterior is sampled. Default returns values that suit the paper's gridworlds.
type Config struct {
	Samples int // samples that are kept, in all chains together, a multiple of Chains; 5000
	Chains  int // chains from dispersed starts; 4
	Warmup  int // iterations of each chain that adapt the walk and are thrown away; 600

	// Sampling goes on until each reward and each value has at least MinESS effective samples (bulk) among the kept
	// ones and a split-R̂ of at most MaxRHat, or until each chain has made MaxIterations. Diagnostics.Clean tells
	// which.
	MinESS        float64 // 1000
	MaxRHat       float64 // 1.01
	MaxIterations int     // per chain, after the warm-up; 50000

	TargetAccept float64 // acceptance of the leapfrog integration that the step size is adapted to; 0.65
	Trajectory   float64 // mean trajectory length in units of posterior standard deviations; 3

	NoDeterminant bool // leave the change of variables' determinant out, as the predecessor's released code does
	Seed          uint64
}

// Default returns the default configuration with seed 0.
func Default() Config {
	return Config{Samples: 5000, Chains: 4, Warmup: 600, MinESS: 1000, MaxRHat: 1.01, MaxIterations: 50000,
		TargetAccept: 0.65, Trajectory: 3}
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
	return check.All("valuewalk", c.budget().Validate(), check.AtLeast(minWarmup, "Warmup", c.Warmup),
		check.Between("TargetAccept", c.TargetAccept), checkTrajectory(c.Trajectory))
}

func checkTrajectory(length float64) error {
	return check.That(length > 0 && length <= 100, "Trajectory = %g is outside (0, 100]", length)
}
