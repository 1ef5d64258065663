// Package avril is dynamics-aware AVRIL, the variational baseline of the paper (Chan & van der Schaar, 2021; App.
// "Dynamics-Aware AVRIL"): independent Gaussians over the rewards, tied to a point estimate of the Q-values.
//
// It maximises, over a table Q, reward means m and reward standard deviations s,
//
//	Σ_demos log softmax_β Q(s,·)[a]  +  λ Σ_{s,a} log N(R(s,a); m, s²)  −  KL(N(m, diag s²) ‖ prior)
//
// with R(s,a) = Q(s,a) − γ Σ_s' p(s'|s,a) max_a' Q(s',a'); where the episode ends, R = Q. Under state-only rewards the
// A terms of a state share one reward posterior.
//
// # What λ does
//
// Where the Q-values can meet the reward means exactly, as they can in every state without demonstrations, the
// objective is largest at
//
//	s² = prior variance · (1 − k λ),   k = the number of λ terms of the reward: A (state-only) or 1 (state-action).
//
// So λ does not weigh evidence: it sets the width of the posterior whether or not there are any data. At λ = 0 the
// posterior is the prior; with five actions, λ = 0.17 keeps 39 % of the prior's standard deviation in states that were
// never visited, and from λ = 1/5 on the objective is unbounded and the posterior collapses to a point. The standard
// deviation is kept above e^MinLogStd prior standard deviations, so that the optimisation stays finite. How deep a
// collapse goes above that bound is where Adam stops, not a property of the objective: Diagnostics counts the rewards
// that fell below a thousandth of their prior standard deviation.
//
// # How far the answer depends on the optimisation
//
// The objective is not concave, for R contains a maximum over Q, and AVRIL's answer could depend on where Adam starts
// and stops. On ten of the paper's worlds it hardly does for λ ≤ 0.17: other seeds, starts (InitStd from 0.01 to 1),
// learning rates (0.001 to 0.03) and a fixed number of steps changed the objective (about −98 nats at λ = 0.17) by at
// most 0.04 nats, the log density of the true reward by 0.003 and the mean standard deviation by 0.1 %. At λ = 0.19 the
// log density moves by 0.02; at and above 1/A nothing is robust but the collapse itself.
package avril

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
)

// MinLogStd bounds each log standard deviation from below, in units of the prior's: s ≥ e⁻¹² ≈ 6e-6 of it.
const MinLogStd = -12

// Config describes the optimisation. Parameters are kept in units of the prior's standard deviation, so that one
// learning rate serves rewards of any scale.
type Config struct {
	// Label is the method's name in result rows; "avril" if empty.
	Label string
	// Lambda is the weight λ ≥ 0 of the constraint that ties the reward posterior to the Q-values.
	Lambda float64
	// LearningRate is Adam's, in prior standard deviations a step.
	LearningRate float64
	// Steps is the largest number of Adam steps; exactly that many are made when Tolerance is zero.
	Steps int
	// Tolerance is how little, in nats, the objective may gain from one window of steps to the next before the learning
	// rate is lowered tenfold; when that has happened four times, the optimisation has converged.
	Tolerance float64
	// InitStd is the standard deviation, in units of the prior's, of the random Q-values that the optimisation starts
	// from, around those of the prior mean.
	InitStd float64
	// Seed of the random start. Problems do not share randomness, so that a result does not depend on its batch.
	Seed uint64
}

// Default returns the configuration of the comparison, with the λ that comes closest to the paper's AVRIL row.
func Default() Config {
	return Config{Lambda: 0.17, LearningRate: 0.01, Steps: 40_000, Tolerance: 1e-3, InitStd: 0.01, Seed: 1}
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.All("avril", check.NotNegative("Lambda Tolerance InitStd", c.Lambda, c.Tolerance, c.InitStd),
		check.Positive("LearningRate", c.LearningRate), check.AtLeast(1, "Steps", c.Steps))
}

// Method is AVRIL with a fixed configuration.
type Method struct{ config Config }

// New returns the method.
func New(c Config) (*Method, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Method{c}, nil
}

// Name returns the configured label, or "avril".
func (m *Method) Name() string { return cmp.Or(m.config.Label, "avril") }

// Fit implements irl.Method: it fits the problems in parallel, each by itself. The posteriors are of type *Posterior.
func (m *Method) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior, error) {
	if err := irl.ValidateAll(problems); err != nil {
		return nil, err
	}
	if err := irl.CheckBetaKnown(m.Name(), problems); err != nil {
		return nil, err
	}
	out := make([]irl.Posterior, len(problems))
	var done atomic.Int64
	err := parallel.Each(ctx, len(problems), func(ctx context.Context, i int) error {
		posterior, err := m.fit(ctx, problems[i])
		if err != nil {
			return fmt.Errorf("avril: problem %d: %w", i, err)
		}
		out[i] = posterior
		progress.Report(int(done.Add(1)), len(problems), fmt.Sprintf("objective %.2f", posterior.diagnostics.Objective))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Lambdas is the grid over which λ is chosen for five actions: from the prior to collapse, dense below 1/5.
var Lambdas = []float64{0, 0.02, 0.05, 0.1, 0.13, 0.15, 0.17, 0.18, 0.19, 0.2, 0.25, 0.3, 0.5, 1}
