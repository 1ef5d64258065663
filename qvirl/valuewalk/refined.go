package valuewalk

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/metric"
)

// RefinedMethod fits an approximate posterior by another method and refines it. It is an irl.Method.
type RefinedMethod struct {
	name   string
	base   irl.Method
	config RefineConfig
}

// NewRefined returns the method of the given name that refines the posteriors of base, which must be Approximations.
func NewRefined(name string, base irl.Method, c RefineConfig) (*RefinedMethod, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &RefinedMethod{name, base, c}, nil
}

// Close closes base.
func (m *RefinedMethod) Close() error { return irl.Close(m.base) }

// Name returns the name that the method was given.
func (m *RefinedMethod) Name() string { return m.name }

// Fit fits and refines the posterior of each problem; every one is a *Refined.
func (m *RefinedMethod) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior,
	error) {
	posts, err := m.base.Fit(ctx, problems, progress.Stage(m.base.Name()+": ", 0, 1, 2))
	if err != nil {
		return nil, err
	}
	return Refine(ctx, m.config, posts, progress.Stage("refinement: ", 1, 1, 2))
}

// Refined is a refined posterior. It is an irl.ValuePosterior and safe for concurrent use. Its samples stand walker by
// walker: Chains is the number of walkers.
type Refined struct {
	*mcmc.Posterior
	start       Approximation
	diagnostics RefineDiagnostics
}

// Start returns the approximate posterior that was refined; nil if the refined one was read from a file.
func (p *Refined) Start() Approximation { return p.start }

// The limits of Convergence.
const (
	maxSettling = 0.04 // posterior standard deviations
	maxUnrest   = 1.3  // times the Monte Carlo error
	maxStuck    = 0.05
)

// Convergence reports whether the walk has come to rest: no more than 5 % of the walkers never moved, and from the
// first to the second half of the walkers' samples, the reward marginals move by no more than 0.04 posterior standard
// deviations beyond Monte Carlo error, or 1.3 times that error. The limits are conventions.
func (p *Refined) Convergence() (ok bool, reason string) {
	switch d := p.diagnostics; {
	case d.StepSize == 0:
		return false, "it has made no transition"
	case d.Stuck > maxStuck:
		return false, fmt.Sprintf("%.0f %% of the walkers never moved", 100*d.Stuck)
	case d.restless():
		return false, fmt.Sprintf("between its halves, the reward marginals move by %.2f standard deviations",
			d.Settling)
	}
	return true, ""
}

// restless reports whether the marginals still move beyond Monte Carlo error.
func (d *RefineDiagnostics) restless() bool {
	noise := math.Sqrt2 * d.Noise // of Settling, which compares half as many samples
	beyond := math.Sqrt(max(d.Settling*d.Settling-noise*noise, 0))
	return beyond > maxSettling && d.Settling > maxUnrest*noise
}

// Diagnostics returns how the refinement went.
func (p *Refined) Diagnostics() RefineDiagnostics { return p.diagnostics }

// Computation implements irl.Computed.
func (p *Refined) Computation() map[string]float64 {
	d := p.diagnostics
	return map[string]float64{metric.Divergences: float64(d.Divergences), metric.Drift: d.Drift,
		metric.Settling: d.Settling, metric.Acceptance: d.Acceptance}
}

// RefineDiagnostics says how a refinement went. The distances are Wasserstein-1 distances of reward marginals in units
// of their posterior standard deviations, averaged over the rewards.
type RefineDiagnostics struct {
	Acceptance    float64 // mean acceptance probability
	Divergences   int     // trajectories whose energy error exceeded 1000 nats
	StepSize      float64 // of the leapfrog integration
	LeapfrogSteps float64 // mean number in a trajectory
	Evaluations   int     // of the posterior density and its gradient, those that found the step size included
	Stuck         float64 // share of the walkers that never moved

	Drift float64 // from the approximation to the samples: the approximation's error, as far as Settling is small
	// from the first half of each walker's samples to the second: what a longer walk would still change
	Settling    float64
	Noise       float64 // that Monte Carlo error alone makes between as many samples
	PolicyDrift float64 // total variation between the posterior-predictive policies of both, mean over states

	Seconds float64 // of work by the clock, summed over the walkers, without that of the approximation
}

// diagnose compares the samples with draws of the approximation and with each other.
func (r *refinement) diagnose() (d RefineDiagnostics) {
	d.StepSize, d.Evaluations, d.Stuck = r.step, int(r.spent.Load()), r.stuck()
	total := math.Max(float64(r.walkers*r.transitions()), 1)
	for _, f := range r.groups {
		d.Acceptance += f.accepted / total
		d.LeapfrogSteps += float64(f.leapfrogs) / total
		d.Divergences += f.divergences
	}
	// A random choice of many samples is as good as all, and costs a fraction.
	chosen := mcmc.Stream(r.config.Seed, r.hash, streamChoice).Perm(r.config.Samples)
	chosen = chosen[:min(compared, len(chosen))]
	before, after := mcmc.NewPosterior(r.problem, len(chosen), 1), mcmc.NewPosterior(r.problem, len(chosen), 1)
	for i, at := range chosen {
		x := r.draws.RawRowView(i)
		if r.config.Kept == 1 { // the draw that this walker started from
			x = r.draws.RawRowView(at)
		}
		r.base.invert(x)
		before.SetValues(i, r.base.reward, x)
		after.Set(i, r.samples.Rewards().RawRowView(at), r.samples.Values().RawRowView(at))
		if betas := r.samples.Betas(); betas != nil {
			after.Betas()[i] = betas[at]
		}
	}
	kept := r.config.Kept
	where := func(in func(walker, position int) bool) *mat.Dense {
		var data []float64
		for i, at := range chosen {
			if in(at/kept, at%kept) {
				data = append(data, after.Rewards().RawRowView(i)...)
			}
		}
		return mat.NewDense(len(data)/r.base.n, r.base.n, data)
	}
	d.Drift = distance(before.Rewards(), after.Rewards())
	d.Noise = distance(where(func(w, _ int) bool { return w%2 == 0 }),
		where(func(w, _ int) bool { return w%2 == 1 })) / math.Sqrt2
	if half := kept / 2; half > 0 {
		d.Settling = distance(where(func(_, j int) bool { return j < half }),
			where(func(_, j int) bool { return j >= kept-half }))
	}
	actions, beta := r.problem.MDP.Actions(), r.problem.Beta
	first := irl.ColumnMeans(before.Samples().Policies(actions, beta))
	last := irl.ColumnMeans(after.Samples().Policies(actions, beta))
	d.PolicyDrift = floats.Distance(first, last, 1) / 2 / float64(r.problem.MDP.States())
	return d
}

// distance returns the Wasserstein-1 distance between the columns of x and y, in standard deviations of y's and
// averaged over the columns. Rows that one of them has more than the other are left out.
func distance(x, y *mat.Dense) float64 {
	n, columns := x.Dims()
	m, _ := y.Dims()
	n = min(n, m)
	sum := 0.0
	for j := range columns {
		a, b := mat.Col(nil, j, x)[:n], mat.Col(nil, j, y)[:n]
		slices.Sort(a)
		slices.Sort(b)
		if gap := floats.Distance(a, b, 1); gap > 0 {
			sum += gap / (float64(n) * stat.StdDev(b, nil))
		}
	}
	return sum / float64(columns)
}
