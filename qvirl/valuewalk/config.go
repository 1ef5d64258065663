package valuewalk

import "fmt"

// Config says how a posterior is sampled. Default returns values that suit the paper's gridworlds.
type Config struct {
	Samples int // samples that are kept, in all chains together, a multiple of Chains; 5000
	Chains  int // chains from dispersed starts; 4
	Warmup  int // iterations of each chain that adapt the walk and are thrown away; 600

	// Sampling goes on until each reward and each value has at least MinESS effective samples (bulk) among the kept ones
	// and a split-R̂ of at most MaxRHat, or until each chain has made MaxIterations. Diagnostics.Clean tells which.
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

// minWarmup and minPerChain are the shortest warm-up that can adapt anything, and the fewest samples of a chain for which
// the diagnostics mean something.
const (
	minWarmup   = 40
	minPerChain = 4
)

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.Chains < 1:
		return fmt.Errorf("valuewalk: Chains = %d, want at least 1", c.Chains)
	case c.Samples < minPerChain*c.Chains || c.Samples%c.Chains != 0:
		return fmt.Errorf("valuewalk: Samples = %d, want a multiple of the %d chains with at least %d samples each",
			c.Samples, c.Chains, minPerChain)
	case c.Warmup < minWarmup:
		return fmt.Errorf("valuewalk: Warmup = %d, want at least %d", c.Warmup, minWarmup)
	case !(c.MinESS >= 0):
		return fmt.Errorf("valuewalk: MinESS = %g, want a number that is not negative", c.MinESS)
	case !(c.MaxRHat > 1):
		return fmt.Errorf("valuewalk: MaxRHat = %g, want more than 1", c.MaxRHat)
	case c.MaxIterations < c.Samples/c.Chains:
		return fmt.Errorf("valuewalk: MaxIterations = %d is less than the %d samples that each chain must keep",
			c.MaxIterations, c.Samples/c.Chains)
	case !(c.TargetAccept > 0 && c.TargetAccept < 1):
		return fmt.Errorf("valuewalk: TargetAccept = %g is outside (0, 1)", c.TargetAccept)
	case !(c.Trajectory > 0 && c.Trajectory <= 100):
		return fmt.Errorf("valuewalk: Trajectory = %g is outside (0, 100]", c.Trajectory)
	}
	return nil
}
