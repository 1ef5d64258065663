package matched

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Method fits, of a family of distributions, the one that minimises the inclusive divergence KL(p ‖ q) from the
// exact posterior p: of Gaussians, the one with the moments of p. They are estimated from a few Hamiltonian transitions
// that start from draws of another method's posterior, as in Markovian score climbing (Naesseth, Lindsten and Blei,
// 2020, "Markovian score climbing: variational inference with KL(p||q)"), but in one step, because the minimum is known
// given the samples. The divergence that variational inference minimises otherwise, KL(q ‖ p), leaves variances too
// small. It is an irl.Method.
type Method struct {
	name   string
	base   irl.Method
	family Family
	config valuewalk.RefineConfig
}

// Family is the family of distributions that New chooses from.
type Family string

// The families.
const (
	GaussianValues  Family = "gaussian-values"  // a Gaussian over optimal values, *tabular.Gaussian
	GaussianRewards Family = "gaussian-rewards" // a Gaussian over rewards, *matched.Warped
	// rewards with sinh-arcsinh marginals and Gaussian dependence, *matched.Warped
	WarpedRewards Family = "warped-rewards"
)

// Default returns the configuration of the walk that New takes moments of, with seed 0: 200 walkers. On 8×8
// worlds of the paper (seeds from 1000) the walk has settled by then from a start with tabular.StartConfig. With half
// of the samples, the noise in their moments makes the posterior's marginals wrong by a third more, and its policies
// more uncertain.
func Default() valuewalk.RefineConfig {
	return valuewalk.RefineConfig{Transitions: 12, Kept: 30, Samples: 6000, TargetAccept: 0.65, Trajectory: 2}
}

// New returns the method of the given name that matches a distribution of the family to a walk from the
// posteriors of base, which must be Approximations. There must be more samples than rewards.
func New(name string, base irl.Method, family Family, c valuewalk.RefineConfig) (*Method, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if family != GaussianValues && family != GaussianRewards && family != WarpedRewards {
		return nil, fmt.Errorf("matched: there is no family %q", family)
	}
	return &Method{name, base, family, c}, nil
}

// Name returns the name that the method was given.
func (m *Method) Name() string { return m.name }

// Close closes base.
func (m *Method) Close() error { return irl.Close(m.base) }

// Fit fits the posterior of each problem; of the type that the family says. It reports that it has converged if the
// walk has: see settled. Where β is inferred, the walk starts from the posterior that base finds with the median of its
// prior.
func (m *Method) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior, error) {
	if err := irl.ValidateAll(problems); err != nil {
		return nil, err
	}
	known := make([]*irl.Problem, len(problems))
	for i, p := range problems {
		known[i] = p
		if p.InfersBeta() {
			fixed := *p
			fixed.BetaLogStd = 0
			known[i] = &fixed
		}
	}
	posts, err := m.base.Fit(ctx, known, progress.Stage(m.base.Name()+": ", 0, 1, 2))
	if err != nil {
		return nil, err
	}
	return valuewalk.WalkFrom(ctx, m.config, problems, posts, progress.Stage("walk: ", 1, 1, 2),
		func(w valuewalk.Walk) (irl.Posterior, error) {
			return match(ctx, w, m.family)
		})
}

// match returns the member of a family that is matched to the samples of a walk.
func match(ctx context.Context, w valuewalk.Walk, family Family) (irl.Posterior, error) {
	if rows, n := w.Positions.Dims(); rows <= n {
		return nil, fmt.Errorf("matched: %d samples cannot give the covariance of %d values: raise Samples", rows, n)
	}
	if family != GaussianValues {
		return NewWarped(ctx, w.Problem, w.Samples.Rewards(), w.Samples.Betas(), family == GaussianRewards, w.Settled)
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, w.Positions, nil)
	return tabular.NewGaussian(w.Problem, irl.ColumnMeans(w.Positions), &cov, w.Settled)
}
