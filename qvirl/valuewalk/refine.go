package valuewalk

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Approximation is an approximate posterior over the optimal values x that the walk moves in, V* [S] for state-only
// rewards and Q* [S·A] for state-action rewards, and log β if it is inferred. *tabular.Gaussian is one.
type Approximation interface {
	irl.Posterior
	// SampleValues draws n of them, [n, ValueDim], or [n, RewardDim] if it takes β as known.
	SampleValues(rng *rand.Rand, n int) (*mat.Dense, error)
}

// RefineConfig says how an approximate posterior is refined. DefaultRefine returns values that suit the paper's
// gridworlds.
type RefineConfig struct {
	// Transitions, k, leads from the approximate posterior to the exact one: every sample is at least so many
	// Hamiltonian transitions away from a draw of the approximation. With 0, the samples are such draws, with the
	// rewards that belong to them exactly; as it grows, they become those of ValueWalk.
	Transitions int
	// Kept is the number of samples that a walker gives: its positions after Transitions, Transitions + 1, …
	// transitions.
	Kept    int
	Samples int // of the refined posterior, a multiple of Kept: there are Samples / Kept walkers

	TargetAccept float64 // acceptance of the leapfrog integration that the step size is adapted to
	Trajectory   float64 // mean trajectory length in units of the approximation's standard deviations
	Seed         uint64
}

// DefaultRefine returns the default configuration with seed 0: 240 walkers. On 8×8 worlds of the paper (seeds from
// 1000), from the posterior that tabular.StartConfig gives, its samples are nearly as close to a run of ValueWalk as a
// second run is, in less than half of the time. Such a start is forgotten after a dozen transitions; then only the
// number of samples counts, and longer trajectories bring no more than they cost.
func DefaultRefine() RefineConfig {
	return RefineConfig{Transitions: 15, Kept: 50, Samples: 12000, TargetAccept: 0.65, Trajectory: 1.5}
}

// Validate reports the first field that is out of range.
func (c RefineConfig) Validate() error {
	return check.All("valuewalk", check.AtLeast(0, "Transitions", c.Transitions), check.AtLeast(1, "Kept", c.Kept),
		check.That(c.Samples >= 2*c.Kept && c.Samples%max(c.Kept, 1) == 0, "Samples = %d, want a multiple of the %d "+
			"samples of a walker, and at least two walkers", c.Samples, c.Kept),
		check.Between("TargetAccept", c.TargetAccept), checkTrajectory(c.Trajectory))
}

const (
	pilots      = 4   // walkers that adapt the step size and are thrown away
	pilotSteps  = 25  // transitions of each
	scoutRounds = 2   // rounds in which the pilots find a mass matrix first, where β is inferred
	scoutSteps  = 60  // transitions of each in a round
	betaSpread  = 0.1 // of the starts' log β about the median of its prior, in its standard deviations
	// maxRefining is how many leapfrog steps a trajectory takes at most: where steps are so short that one wants more,
	// a few transitions lead nowhere anyway.
	maxRefining    = 50
	compared       = 2000 // samples that the diagnostics compare, at most
	curvatureDraws = 40   // draws of the approximation whose mean curvature is the mass matrix
	// groups is the number of groups of walkers, each with one random stream and one scratch space. It does not depend
	// on the machine, and neither do the samples.
	groups = 16
)

// Random streams of the refinement of one problem: the pilots have the numbers from streamPilots on, and so on.
// ValueWalk's own streams are below them.
const (
	streamDraws  = 1 << 20
	streamPilots = 1 << 21
	streamGroups = 1 << 22
	streamChoice = 1<<23 + 1
	streamBetas  = 1<<23 + 2
)

// Refine moves samples of approximate posteriors towards the exact ones, by transitions of the Hamiltonian Monte Carlo
// that ValueWalk uses. The mass matrix is the mean curvature of the exact log posterior over draws of the
// approximation: the inverse of the approximation's covariance, which would be at hand, needs steps half as long on the
// paper's gridworlds. It works on as many walkers at a time as GOMAXPROCS allows; like those of Method.Fit, the samples
// of a problem depend on neither that nor the other problems. The posteriors must be Approximations; every one that
// comes back is a *Refined.
func Refine(ctx context.Context, c RefineConfig, posts []irl.Posterior, progress irl.Progress) ([]irl.Posterior,
	error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	starts, err := approximations(posts)
	if err != nil {
		return nil, err
	}
	problems := make([]*irl.Problem, len(starts))
	for i, s := range starts {
		problems[i] = s.Problem()
	}
	return walkAll(ctx, c, problems, starts, compared, progress, func(r *refinement) (irl.Posterior, error) {
		var d RefineDiagnostics
		r.job.Time(func() error { d = r.diagnose(); return nil })
		d.Seconds = r.job.Seconds()
		return &Refined{r.samples, r.start, d}, nil
	})
}

// walkAll walks towards the posteriors of problems from approximations, one each, and returns what answer makes of each
// walk. At least so many draws are made of an approximation, up to the number of samples.
func walkAll(ctx context.Context, c RefineConfig, problems []*irl.Problem, starts []Approximation, draws int,
	progress irl.Progress, answer func(*refinement) (irl.Posterior, error)) ([]irl.Posterior, error) {
	return mcmc.Fit(ctx, problems, progress, func(ctx context.Context, problem *irl.Problem,
		job *mcmc.Job) (irl.Posterior, error) {
		walkers := c.Samples / c.Kept
		r := &refinement{config: c, start: starts[job.Problem], problem: problem, job: job, walkers: walkers,
			drawn: max(walkers, min(draws, c.Samples))}
		if err := r.run(ctx); err != nil {
			return nil, err
		}
		return answer(r)
	})
}

// refinement is the walk from one problem's approximate posterior.
type refinement struct {
	config  RefineConfig
	start   Approximation
	problem *irl.Problem
	job     *mcmc.Job

	base    *target
	hash    uint64
	walkers int
	drawn   int        // draws of the approximation, at least one a walker
	draws   *mat.Dense // these, and then one a pilot
	starts  *mat.Dense // of the walkers: the first of the draws, or what adapt says
	kinetic *kinetic
	step    float64      // its size
	spent   atomic.Int64 // evaluations of the target

	samples *mcmc.Posterior
	reached []mcmc.Transition // of each sample, the transition that led to it
	groups  []group
}

// group is what a group of walkers reports.
type group struct {
	leapfrogs, divergences, stuck int
	accepted                      float64
}

func (r *refinement) run(ctx context.Context) error {
	if err := r.job.Time(r.prepare); err != nil {
		return err
	}
	if r.transitions() > 0 {
		if err := r.adapt(ctx); err != nil {
			return err
		}
	}
	report := func(share float64) {
		r.job.Report(share, fmt.Sprintf("%d walkers of %d transitions", r.walkers, r.transitions()))
	}
	report(0)
	r.samples = mcmc.NewPosterior(r.problem, r.walkers, r.config.Kept)
	r.groups = make([]group, min(groups, r.walkers))
	if r.config.Transitions > 0 { // otherwise the first samples are draws of the approximation
		r.reached = make([]mcmc.Transition, r.config.Samples)
		r.samples.SetTransitions(r.reached)
	}
	var walked atomic.Int64
	return r.job.Each(len(r.groups), func(i int) error {
		if err := r.walk(ctx, i, i*r.walkers/len(r.groups), (i+1)*r.walkers/len(r.groups)); err != nil {
			return err
		}
		report(float64(walked.Add(1)) / float64(len(r.groups)))
		return nil
	})
}

// transitions is the number of transitions that a walker makes.
func (r *refinement) transitions() int { return r.config.Transitions + r.config.Kept - 1 }

// prepare compiles the problem, and finds the starts and the mass matrix.
func (r *refinement) prepare() (err error) {
	if r.base, err = newTarget(r.problem); err != nil {
		return err
	}
	r.hash = mcmc.Fingerprint(r.problem)
	if r.draws, err = r.start.SampleValues(mcmc.Stream(r.config.Seed, r.hash, streamDraws),
		r.drawn+pilots); err != nil {
		return err
	}
	n, dim := r.draws.Dims()
	if n != r.drawn+pilots || dim != r.base.n && dim != r.base.dim {
		return fmt.Errorf("valuewalk: the approximation gave draws [%d,%d], want [%d,%d]", n, dim, r.drawn+pilots,
			r.base.dim)
	}
	for i, x := range r.draws.RawMatrix().Data {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("valuewalk: draw %d of the approximation: value %d is %g", i/dim, i%dim, x)
		}
	}
	if dim < r.base.dim { // it takes β as known
		values, rng := r.draws, mcmc.Stream(r.config.Seed, r.hash, streamBetas)
		r.draws = mat.NewDense(n, r.base.dim, nil)
		for i := range n {
			r.draws.SetRow(i, r.base.withBeta(values.RawRowView(i), betaSpread*rng.NormFloat64()))
		}
	}
	r.starts = r.draws
	curvature, grad := make([]float64, r.base.dim*r.base.dim), make([]float64, r.base.dim)
	for i := range min(curvatureDraws, r.walkers) {
		r.base.eval(r.draws.RawRowView(i), grad)
		r.base.addCurvature(curvature)
	}
	r.kinetic, err = newKinetic(r.base, curvature, min(curvatureDraws, r.walkers))
	return err
}

// adapt finds the step size: the geometric mean of those that the pilots adapt to. Where β is inferred, the
// approximation does not say where, and the mean curvature over its draws may be far from that over the posterior: the
// pilots first walk there, and their positions on the way give a mass matrix, twice, and the walkers their starts.
func (r *refinement) adapt(ctx context.Context) error {
	chains, visited := make([]*Walker, pilots), make([][]float64, pilots)
	for i := range chains {
		chains[i] = r.newWalker(streamPilots + uint64(i))
		chains[i].MoveTo(r.draws.RawRowView(r.drawn + i))
	}
	each := func(transitions int, visit func(k *Walker, made int)) error {
		return r.job.Each(pilots, func(i int) error {
			return chains[i].adapt(ctx, transitions, r.config.TargetAccept, visit)
		})
	}
	rounds := 0
	if r.base.dim > r.base.n {
		rounds = scoutRounds
	}
	for range rounds {
		clear(visited)
		if err := each(scoutSteps, func(k *Walker, made int) {
			if made > scoutSteps/2 {
				k.AddCurvature()
				i := slices.Index(chains, k)
				visited[i] = append(visited[i], k.at.x...)
			}
		}); err != nil {
			return err
		}
		if err := UseCurvature(chains); err != nil {
			return err
		}
	}
	r.kinetic = chains[0].kinetic
	if err := each(pilotSteps, nil); err != nil {
		return err
	}
	if rounds > 0 { // the walkers start there too, at positions of one pilot after the other
		r.starts = mat.NewDense(r.walkers, r.base.dim, nil)
		for w := range r.walkers {
			from := visited[w%pilots]
			at := w / pilots % (len(from) / r.base.dim)
			r.starts.SetRow(w, from[at*r.base.dim:(at+1)*r.base.dim])
		}
	}
	for _, k := range chains {
		r.spent.Add(int64(k.Leapfrogs + 1))
	}
	r.step = mcmc.MeanStep(chains, stepSize)
	return nil
}

func (r *refinement) newWalker(stream uint64) *Walker {
	k := newWalker(r.base.clone(), mcmc.Stream(r.config.Seed, r.hash, stream), r.config.Trajectory, true)
	k.kinetic, k.longest = r.kinetic, maxRefining
	return k
}

// walk moves the walkers of group i, those from first to end − 1, one after the other, and keeps their samples.
func (r *refinement) walk(ctx context.Context, i, first, end int) error {
	k := r.newWalker(streamGroups + uint64(i))
	k.StepSize = r.step
	f := &r.groups[i]
	for w := first; w < end; w++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := r.starts.RawRowView(w)
		k.MoveTo(start)
		for t := range r.transitions() + 1 {
			if t > 0 {
				k.Step()
			}
			if j := t - r.config.Transitions; j >= 0 {
				k.target.invert(k.at.x) // a rejected trajectory has left the target elsewhere
				r.samples.SetValues(w*r.config.Kept+j, k.target.reward, k.at.x)
				if r.reached != nil {
					r.reached[w*r.config.Kept+j] = k.Last
				}
			}
		}
		if k.at.x[0] == start[0] { // a transition moves every value
			f.stuck++
		}
	}
	f.leapfrogs, f.divergences, f.accepted = k.Leapfrogs, k.divergences, k.accepted
	r.spent.Add(int64(k.Leapfrogs + end - first))
	return nil
}
