package reference

import (
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Config says how a posterior is sampled. Default returns values for any problem.
type Config struct {
	Samples int // samples that are kept, in all chains together, a multiple of Chains; 8000
	Chains  int // half of them from draws of the prior, half from afar; 4
	Warmup  int // iterations of each chain that adapt the kernels and are thrown away; 400

	// Sampling goes on until each reward, value and β has at least MinESS effective samples (bulk) among the kept
	// ones and a split-R̂ of at most MaxRHat, its standard deviation a relative Monte Carlo error of at most
	// MaxStdError, and the probability of each action an error of at most ½/√MinESS, or until each chain has made
	// MaxIterations, or about MaxWork multiplications, or four times as many if it has a quarter of MinESS by then.
	// Diagnostics.Clean tells which.
	MinESS        float64 // 1000
	MaxRHat       float64 // 1.01
	MaxStdError   float64 // 0.04; 0: whatever it is
	MaxIterations int     // per chain, after the warm-up; 200000
	MaxWork       float64 // per chain, after the warm-up; 3e10, about half a minute

	TargetAccept float64 // acceptance that the step sizes are adapted to; 0.65 (Beskos et al., 2013)
	Trajectory   float64 // mean trajectory length in units of the metric; 2
	Seed         uint64

	// Anywhere: exchanges of two states' rewards, which cross from one goal to another, are of any two states, and
	// not only of states near a demonstrated one and each other, as many of which are tried more often.
	Anywhere bool `json:",omitempty"`
}

// Default returns the default configuration with seed 0.
func Default() Config {
	return Config{Samples: 8000, Chains: 4, Warmup: 400, MinESS: 1000, MaxRHat: 1.01, MaxStdError: 0.04,
		MaxIterations: 200000, MaxWork: 3e10, TargetAccept: 0.65, Trajectory: 2}
}

// minWarmup is the shortest warm-up that can adapt anything.
const minWarmup = 80

func (c Config) budget() mcmc.Budget {
	return mcmc.Budget{Samples: c.Samples, Chains: c.Chains, MinESS: c.MinESS, MaxRHat: c.MaxRHat,
		MaxStdError: c.MaxStdError, MaxIterations: c.MaxIterations, FirstLook: 1}
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.All("reference", c.budget().Validate(), check.AtLeast(minWarmup, "Warmup", c.Warmup),
		check.That(c.MaxStdError >= 0, "MaxStdError = %g, want a number that is not negative", c.MaxStdError),
		check.That(c.MaxWork > 0, "MaxWork = %g, want a positive number", c.MaxWork),
		check.Between("TargetAccept", c.TargetAccept),
		check.That(c.Trajectory > 0 && c.Trajectory <= 100, "Trajectory = %g is outside (0, 100]", c.Trajectory))
}
