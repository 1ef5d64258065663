package valuewalk

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl"
)

// MatchedMethod fits, of a family of distributions, the one that minimises the inclusive divergence KL(p ‖ q) from the exact
// posterior p: of Gaussians, the one with the moments of p. They are estimated from a few Hamiltonian transitions that start
// from draws of another method's posterior, as in Markovian score climbing (Naesseth, Lindsten and Blei, 2020, "Markovian
// score climbing: variational inference with KL(p||q)"), but in one step, because the minimum is known given the samples. The
// divergence that variational inference minimises otherwise, KL(q ‖ p), leaves variances too small. It is a qvirl.Method.
type MatchedMethod struct {
	name   string
	base   qvirl.Method
	family Family
	config RefineConfig
}

// Family is the family of distributions that NewMatched chooses from.
type Family string

// The families.
const (
	GaussianValues  Family = "gaussian-values"  // a Gaussian over optimal values, *qvirl.Gaussian
	GaussianRewards Family = "gaussian-rewards" // a Gaussian over rewards, *qvirl.Warped
	WarpedRewards   Family = "warped-rewards"   // rewards with sinh-arcsinh marginals and Gaussian dependence, *qvirl.Warped
)

// DefaultMatch returns the configuration of the walk that NewMatched takes moments of, with seed 0: 200 walkers. On 8×8 worlds
// of the paper (seeds from 1000) the walk has settled by then from a start with qvirl.StartConfig. With half of the samples, the
// noise in their moments makes the posterior's marginals wrong by a third more, and its policies more uncertain.
func DefaultMatch() RefineConfig {
	return RefineConfig{Transitions: 12, Kept: 30, Samples: 6000, TargetAccept: 0.65, Trajectory: 2}
}

// NewMatched returns the method of the given name that matches a distribution of the family to a walk from the posteriors of
// base, which must be Approximations. There must be more samples than rewards.
func NewMatched(name string, base qvirl.Method, family Family, c RefineConfig) (*MatchedMethod, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if family != GaussianValues && family != GaussianRewards && family != WarpedRewards {
		return nil, fmt.Errorf("valuewalk: there is no family %q", family)
	}
	return &MatchedMethod{name, base, family, c}, nil
}

// Name returns the name that the method was given.
func (m *MatchedMethod) Name() string { return m.name }

// Fit fits the posterior of each problem; of the type that the family says. It reports that it has converged if the walk has:
// see settled. Where β is inferred, the walk starts from the posterior that base finds with the median of its prior.
func (m *MatchedMethod) Fit(ctx context.Context, problems []*qvirl.Problem, progress qvirl.Progress) ([]qvirl.Posterior, error) {
	if err := qvirl.ValidateAll(problems); err != nil {
		return nil, err
	}
	known := make([]*qvirl.Problem, len(problems))
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
	starts, err := approximations(posts)
	if err != nil {
		return nil, err
	}
	return walkAll(ctx, m.config, problems, starts, 0, progress.Stage("walk: ", 1, 1, 2), func(r *refinement) (qvirl.Posterior, error) { return r.match(ctx, m.family) })
}

// match returns the member of a family that is matched to the samples.
func (r *refinement) match(ctx context.Context, family Family) (qvirl.Posterior, error) {
	x := r.positions()
	if rows, n := x.Dims(); rows <= n {
		return nil, fmt.Errorf("valuewalk: %d samples cannot give the covariance of %d values: raise Samples", rows, n)
	}
	if family != GaussianValues {
		return qvirl.NewWarped(ctx, r.problem, r.samples.Rewards(), r.samples.Betas(), family == GaussianRewards, r.settled())
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, x, nil)
	return qvirl.NewGaussian(r.problem, qvirl.ColumnMeans(x), &cov, r.settled())
}

// positions returns the positions that were kept, [Samples, dim].
func (r *refinement) positions() *mat.Dense {
	values, betas := r.samples.Values(), r.samples.Betas()
	if betas == nil {
		return values
	}
	x := mat.NewDense(len(betas), r.base.dim, nil)
	for i, beta := range betas {
		copy(x.RawRowView(i), values.RawRowView(i))
		x.Set(i, r.base.n, math.Log(beta))
	}
	return x
}

// Limits of settled.
const (
	restless      = 0.15 // posterior standard deviations
	restlessNoise = 1.5  // times the Monte Carlo error
)

// settled reports whether the moments no longer depend on where the walk began: no more than 5 % of the walkers never moved,
// and the means of their first and second halves differ by no more than 0.15 standard deviations, or half as much again as
// those of two halves of the walkers do (root mean squares over the values).
func (r *refinement) settled() bool {
	stuck := 0
	for _, f := range r.flocks {
		stuck += f.stuck
	}
	if float64(stuck) > maxStuck*float64(r.walkers) {
		return false
	}
	kept := r.config.Kept
	x := r.positions()
	gap := func(in func(walker, position int) int) float64 { // between the means of groups 0 and 1
		rows, n := x.Dims()
		sums, counts := [2][]float64{make([]float64, n), make([]float64, n)}, [2]float64{}
		for i := range rows {
			side := in(i/kept, i%kept)
			floats.Add(sums[side], x.RawRowView(i))
			counts[side]++
		}
		total := 0.0
		for j := range n {
			std := stat.StdDev(mat.Col(nil, j, x), nil)
			d := (sums[0][j]/counts[0] - sums[1][j]/counts[1]) / std
			total += d * d
		}
		return math.Sqrt(total / float64(n))
	}
	if kept == 1 {
		return true // there are no halves
	}
	noise := gap(func(w, _ int) int { return w % 2 })
	return gap(func(_, j int) int { return min(2*j/kept, 1) }) <= math.Max(restless, restlessNoise*noise)
}

// approximations returns posteriors as a method gives them as Approximations.
func approximations(posts []qvirl.Posterior) ([]Approximation, error) {
	starts := make([]Approximation, len(posts))
	for i, p := range posts {
		var ok bool
		if starts[i], ok = p.(Approximation); !ok {
			return nil, fmt.Errorf("valuewalk: problem %d: a posterior of type %T cannot be refined: it has no draws of optimal values", i, p)
		}
	}
	return starts, nil
}
