package tabular

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/irl"
)

// Covariance names how the variational covariance is parametrised.
type Covariance string

const (
	// FullCovariance is a full covariance matrix by its lower triangular factor.
	FullCovariance Covariance = "full"
	// KernelCovariance is standard deviations, and correlations by a radial basis function of latent embeddings
	// (Eq. q-mean-cov).
	KernelCovariance Covariance = "kernel"
	// LowRankCovariance is diagonal but for Config.Rank directions, in the coordinates of rewards under the policy that
	// the posterior expects, by sparse algebra in which nothing is as large as S². It needs state-only rewards that are
	// independent a priori, and takes the place of FullCovariance on more than LargestFull states.
	LowRankCovariance Covariance = "low-rank"
)

// LargestFull is the number of states up to which FullCovariance is what it says: beyond, the matrices take gigabytes,
// and products of them minutes.
const LargestFull = 2048

// DefaultRank is the rank of LowRankCovariance where Config.Rank is zero.
const DefaultRank = 32

// Objective names how the ELBO (Eq. elbo) is computed.
type Objective string

const (
	// ClosedForm is the paper's: the maximum's moments by Config.Maximum, the closed-form likelihood, the KL divergence
	// between Gaussians over rewards.
	ClosedForm Objective = "closed-form"
	// MonteCarlo draws values in each step and takes the exact maximum, likelihood and KL divergence of the draws.
	MonteCarlo Objective = "monte-carlo"
	// ClosedDivergence has the KL divergence of ClosedForm and the likelihood of MonteCarlo.
	ClosedDivergence Objective = "closed-divergence"
)

// Optimizer names how the objective is optimised.
type Optimizer string

const (
	// LBFGS is the limited-memory BFGS method on the closed form, in Go and in double precision.
	LBFGS Optimizer = "l-bfgs"
	// Adam is the paper's, for every objective, in programs that are compiled for a backend.
	Adam Optimizer = "adam"
)

// Config configures tabular QVIRL. Default runs the paper's objective to convergence; PaperConfig follows the
// paper's training to the letter.
type Config struct {
	// Name is the method's name in result rows.
	Name string
	// Objective is how the ELBO is computed; the paper's is ClosedForm.
	Objective Objective
	// LogExpected makes the likelihood of MonteCarlo and ClosedDivergence Σ log E p of the demonstrations, as the
	// closed form's is, in place of E Σ log p, which is the ELBO's. The expectation is over the 16 draws of a step,
	// which leaves the logarithm a little too low. It loses: see experiment/refinement and experiment/apprenticeship.
	LogExpected bool `json:",omitempty"`
	// Maximum is the approximation of the maximum over actions in the ClosedForm and ClosedDivergence objectives; the
	// paper's is Clark.
	Maximum graphs.Maximum
	// KLWeight is the weight of the KL divergence beside the likelihood; 0 for that of the ELBO, 1. With another one,
	// the objective is the ELBO of a likelihood to the power of 1/KLWeight.
	KLWeight float64 `json:",omitempty"`
	// Covariance is the variational family; the paper's experiments on gridworlds are read as FullCovariance.
	Covariance Covariance
	// Rank of LowRankCovariance; 0 for DefaultRank.
	Rank int `json:",omitempty"`
	// Optimizer is how the objective is optimised. LBFGS needs ClosedForm, FullCovariance or LowRankCovariance, and
	// Whiten, and heeds neither LearningRate, Decay, Float64 nor Backend, which are Adam's.
	Optimizer Optimizer
	// Whiten trains in coordinates in which the prior is close to standard normal, which converges in a tenth of the
	// steps. Without it, training starts from standard normal values.
	Whiten bool
	// LearningRate of Adam; the paper's is 0.001 (without Whiten). Its other parameters have their usual defaults.
	LearningRate float64
	// Decay lets the learning rate fall to zero along a cosine within each round.
	Decay bool
	// Steps of the optimizer in a round; the paper's is 20,000 (and one round).
	Steps int
	// Rounds is the largest number of rounds. Training ends earlier once a round has changed no problem's ELBO by more
	// than Tolerance. The posterior is that of the best round.
	Rounds int
	// Tolerance in nats, of the ELBO from one round to the next; with LowRankCovariance, of every 16 states.
	Tolerance float64
	// Float64 computes in double precision always; otherwise only problems do whose covariances or means single
	// precision would lose (see Gaussian.Info).
	Float64 bool
	// Backend is a name for backend.Get; empty chooses the best there is.
	Backend string
	// Seed of what is drawn at random: the initial embeddings of KernelCovariance, the initial directions of
	// LowRankCovariance, and the draws of MonteCarlo and ClosedDivergence. Otherwise nothing is.
	Seed uint64
}

// Default returns the configuration that runs the paper's objective to convergence.
func Default() Config {
	return Config{
		Name: "qvirl", Objective: ClosedForm, Maximum: graphs.Clark, Covariance: FullCovariance, Optimizer: LBFGS,
		Whiten: true, Steps: 50, Rounds: 40, Tolerance: 2e-4,
	}
}

// AdamConfig returns a configuration that runs any objective to convergence by Adam, in whitened coordinates.
func AdamConfig() Config {
	return Config{
		Name: "qvirl-adam", Objective: ClosedForm, Maximum: graphs.Clark, Covariance: FullCovariance, Optimizer: Adam,
		Whiten: true, LearningRate: 0.01, Decay: true, Steps: 1500, Rounds: 6, Tolerance: 0.02,
	}
}

// PaperConfig returns the paper's training: 20,000 steps of Adam at a learning rate of 0.001, from a standard normal.
func PaperConfig() Config {
	return Config{
		Name: "qvirl-20k", Objective: ClosedForm, Maximum: graphs.Clark, Covariance: FullCovariance, Optimizer: Adam,
		LearningRate: 0.001, Steps: 20000, Rounds: 1,
	}
}

// MonteCarloConfig returns the configuration of the MonteCarlo objective, whose posterior is closer to the exact one
// than the paper's.
func MonteCarloConfig() Config {
	c := AdamConfig()
	c.Name, c.Objective = "qvirl-svi", MonteCarlo
	c.LearningRate, c.Steps, c.Rounds, c.Tolerance = 0.015, 4000, 3, 0.1
	return c
}

// StartConfig returns a short training with the paper's objective, for a posterior that only has to be close enough
// for a walk to start from (matched.New).
func StartConfig() Config {
	c := Default()
	c.Name, c.Steps, c.Rounds = "qvirl-start", 30, 1
	return c
}

// draws reports whether the objective draws values in each step.
func (c Config) draws() bool { return c.Objective == MonteCarlo || c.Objective == ClosedDivergence }

// On returns the config that computes on a backend, as backend.Get takes it.
func (c Config) On(backendName string) Config {
	c.Backend = backendName
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.All("tabular", check.OneOf("Objective", c.Objective, ClosedForm, MonteCarlo, ClosedDivergence),
		check.That(!c.draws() || c.Covariance == FullCovariance, "Objective %q needs Covariance %q, not %q",
			c.Objective, FullCovariance, c.Covariance),
		check.That(!c.LogExpected || c.draws(), "LogExpected needs Objective %q or %q, not %q", MonteCarlo,
			ClosedDivergence, c.Objective), check.OneOf("Maximum", c.Maximum, graphs.Clark, graphs.MaxMean),
		check.That(c.KLWeight >= 0 && !math.IsInf(c.KLWeight, 1), "KLWeight = %g, want a finite positive number, or 0 "+
			"for 1", c.KLWeight),
		check.OneOf("Covariance", c.Covariance, FullCovariance, KernelCovariance, LowRankCovariance),
		check.That(c.Rank >= 0, "Rank = %d, want at least 1, or 0 for %d", c.Rank, DefaultRank),
		check.That(c.Covariance != LowRankCovariance || c.Optimizer == LBFGS, "Covariance %q needs Optimizer %q, not "+
			"%q", c.Covariance, LBFGS, c.Optimizer), check.OneOf("Optimizer", c.Optimizer, LBFGS, Adam),
		check.That(c.Optimizer != LBFGS || c.Objective == ClosedForm && c.Covariance != KernelCovariance && c.Whiten,
			"Optimizer %q needs Objective %q, Covariance %q and Whiten; have %q, %q and %v: choose %q", LBFGS,
			ClosedForm, FullCovariance, c.Objective, c.Covariance, c.Whiten, Adam),
		check.That((c.Optimizer != Adam || c.LearningRate > 0) && !math.IsInf(c.LearningRate, 0), "LearningRate = %g, "+
			"want a finite positive number", c.LearningRate), check.AtLeast(1, "Steps Rounds", c.Steps, c.Rounds),
		check.That(c.Tolerance >= 0, "Tolerance = %g, want a number that is not negative", c.Tolerance))
}

// demoCounts returns how often each action was demonstrated in each state, [S·A], over the weight of the KL divergence.
func (c Config) demoCounts(p *irl.Problem) []float64 {
	counts := p.DemoCounts()
	if c.KLWeight > 0 {
		floats.Scale(1/c.KLWeight, counts)
	}
	return counts
}

// rankOf returns the rank of the covariance for a problem; 0 for a full one.
func (c Config) rankOf(p *irl.Problem) int {
	states := p.MDP.States()
	if c.Covariance != LowRankCovariance && (c.Optimizer != LBFGS || states <= LargestFull) {
		return 0
	}
	return min(cmp.Or(c.Rank, DefaultRank), states)
}

// learningRate returns the learning rate at a step of a round.
func (c Config) learningRate(step int) float64 {
	if !c.Decay {
		return c.LearningRate
	}
	return c.LearningRate * 0.5 * (1 + math.Cos(math.Pi*float64(step)/float64(c.Steps)))
}
