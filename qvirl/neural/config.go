package neural

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/envs/check"
)

// Config is the part of a learner's configuration that all learners share.
type Config struct {
	Architecture Architecture
	// Hidden are the units of the layers; the paper's are 128 and 128.
	Hidden []int
	// Convolutions and Features are the encoder that images pass before the layers: convolutions, and then so many
	// features, each a rectified linear unit. nil and 0 for those of Mnih et al. (2015), the paper's: 32 filters of 8 ×
	// 8 with stride 4, 64 of 4 × 4 with stride 2, 64 of 3 × 3 with stride 1, and 512 features.
	Convolutions []Convolution `json:",omitempty"`
	Features     int           `json:",omitempty"`
	// Unit, if it is not 0, is what the networks see observations, but images, in multiples of. Features of a root mean
	// square above 1 in the demonstrations, or of a standard deviation below 2 % of their mean, are standardised first,
	// so that two of their standard deviations become 1. With 0 all features are in multiples of their standard
	// deviations, which suits any environment; but a handful of trajectories say little of how far a feature varies,
	// and networks make too much of what hardly does in them. The paper does not say what its networks see.
	Unit float64 `json:",omitempty"`
	// Range is how many units, or standard deviations, away from 0 the networks tell states apart: beyond, features
	// saturate. A network that was trained on a handful of trajectories would otherwise be asked about states far
	// outside of what it has seen. 0 for no limit; the paper mentions none.
	Range float64
	// LearningRate of Adam; the paper's is 0.001. Its other parameters have their usual defaults.
	LearningRate float64
	// Cosine lets the learning rate fall to zero along a cosine. The paper mentions no such thing. With a constant
	// rate, chance in the last steps decides which of two close actions is the greedy one: apprentices of all learners
	// landed worse, and predicted worse, on demonstrations that were made for tuning.
	Cosine bool
	// WeightDecay is decoupled from the gradient, as in AdamW: a step shrinks weights, but no biases, by the share
	// LearningRate · WeightDecay. The paper's is 0.001, which changes little in any number of steps.
	WeightDecay float64
	// Batch is the number of expert transitions of each run in a step; the paper's is 64. AuxBatch is the number of
	// auxiliary ones, where a task has any.
	Batch, AuxBatch int
	// Steps of training; the paper's are 20,000. With more than a few thousand, the likelihood of other trajectories
	// fell and apprentices from one trajectory did worse.
	Steps int
	// ReportEvery is the number of steps between two points of the curves, at which held-out demonstrations are looked
	// at.
	ReportEvery int
	// Patience is the number of points of the curve for which a run goes on without a better held-out log-likelihood;
	// the model is then the best one's. With 0, held-out demonstrations are looked at and change nothing.
	Patience int
	// Folds is the number of parts of the demonstrations by which the action probabilities are calibrated (see
	// Calibration): for each, a model more is trained on all the others. 0 for none, as in the paper.
	Folds int
	// Backend is a name for backend.Get; empty chooses the best there is.
	Backend string `json:",omitempty"`
}

// Default returns the paper's training but for Unit, Range, Cosine, Steps and Folds.
func Default() Config {
	return Config{
		Architecture: Heads, Hidden: []int{128, 128}, Unit: 0.1, Range: 10, LearningRate: 1e-3, Cosine: true,
		WeightDecay: 1e-3,
		Batch:       64, AuxBatch: 64, Steps: 3000, ReportEvery: 500, Folds: 5,
	}
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	hidden := check.That(len(c.Hidden) > 0, "Hidden is empty, want at least one layer")
	for i, n := range c.Hidden {
		hidden = check.First(hidden, check.AtLeast(1, fmt.Sprintf("Hidden[%d]", i), n))
	}
	var convolutions error
	for i, v := range c.Convolutions {
		convolutions = check.First(
			convolutions, check.That(min(v.Filters, v.Size, v.Stride) >= 1 && v.Size%v.Stride == 0,
				"Convolutions[%d] = %+v, want at least 1 each, and a Size that is a multiple of the Stride", i, v))
	}
	return check.All("neural", check.OneOf("Architecture", c.Architecture, Heads, Pairs), hidden,
		check.NotNegative("Unit Range WeightDecay", c.Unit, c.Range, c.WeightDecay),
		check.Positive("LearningRate", c.LearningRate),
		check.AtLeast(1, "Batch AuxBatch Steps ReportEvery", c.Batch, c.AuxBatch, c.Steps, c.ReportEvery),
		check.AtLeast(0, "Patience Features", c.Patience, c.Features),
		check.That(c.Folds == 0 || c.Folds > 1, "Folds = %d, want 0, for no calibration, or at least 2", c.Folds),
		convolutions)
}

// learningRate returns the learning rate of a step.
func (c Config) learningRate(step int) float64 {
	if !c.Cosine {
		return c.LearningRate
	}
	return c.LearningRate * 0.5 * (1 + math.Cos(math.Pi*float64(step)/float64(c.Steps)))
}
