package valuewalk

import (
	"context"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Method is ValueWalk with one configuration. It is an irl.Method.
type Method struct{ config Config }

// New returns the method with the given configuration.
func New(config Config) (*Method, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Method{config}, nil
}

// Name returns "valuewalk", or "valuewalk-nodet" without the determinant.
func (m *Method) Name() string { return methodName(!m.config.NoDeterminant) }

func methodName(determinant bool) string {
	if determinant {
		return "valuewalk"
	}
	return "valuewalk-nodet"
}

// Fit samples the posterior of each problem; every one is a *Posterior. It works on as many chains at a time as
// GOMAXPROCS allows. The samples of a problem depend on the problem itself and on the configuration, seed included, but
// neither on its place in the batch nor on the other problems nor on GOMAXPROCS, so that batches may be split freely.
// Poor convergence is not an error: see Posterior.Diagnostics.
func (m *Method) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior, error) {
	return mcmc.Fit(ctx, problems, progress, func(ctx context.Context, problem *irl.Problem,
		job *mcmc.Job) (irl.Posterior, error) {
		return (&walk{config: m.config, problem: problem, job: job}).run(ctx)
	})
}

// walk is the sampling of one problem's posterior.
type walk struct {
	config  Config
	problem *irl.Problem
	job     *mcmc.Job

	chains []*Walker
}

const (
	referenceDraws = 20 // prior draws whose mean curvature is the first mass matrix
	curvatureEvery = 5  // iterations between the positions whose mean curvature is the final mass matrix
	storeLimit     = 8  // positions stored per kept sample
)

// Random streams of one problem: the chains have the numbers from streamChains on.
const (
	streamStarts = 0
	streamChains = 1
)

func (w *walk) run(ctx context.Context) (irl.Posterior, error) {
	if err := w.job.Time(w.prepare); err != nil {
		return nil, err
	}
	if err := w.warmUp(ctx); err != nil {
		return nil, err
	}
	samples, convergence, err := w.job.Converge(w.config.budget(),
		func(i, iterations int) error { return w.chains[i].sample(ctx, iterations) }, w.collect)
	if err != nil {
		return nil, err
	}
	d := Diagnostics{Diagnostics: convergence}
	for _, k := range w.chains {
		share := 1 / float64(d.Iterations*len(w.chains))
		d.Divergences += k.divergences
		d.Acceptance += k.accepted * share
		d.LeapfrogSteps += float64(k.Leapfrogs) * share
		d.StepSize = k.StepSize
	}
	return &Posterior{samples, !w.config.NoDeterminant, d}, nil
}

// prepare compiles the problem, starts the chains at the values of prior draws, and takes the mean curvature at such
// values as the first mass matrix.
func (w *walk) prepare() error {
	base, err := newTarget(w.problem)
	if err != nil {
		return err
	}
	hash := mcmc.Fingerprint(w.problem)
	factor, err := w.problem.Prior.Factor()
	if err != nil {
		return err
	}
	rng := mcmc.Stream(w.config.Seed, hash, streamStarts)
	draw := func() ([]float64, error) {
		sol, err := w.problem.MDP.Solve(w.problem.Prior.Draw(rng, factor), w.problem.Discount)
		if err != nil {
			return nil, err
		}
		x := sol.Q
		if base.stateOnly {
			x = sol.V
		}
		if base.dim > base.n {
			x = base.withBeta(x, rng.NormFloat64())
		}
		return x, nil
	}
	curvature, grad := make([]float64, base.dim*base.dim), make([]float64, base.dim)
	for i := 0; i < max(referenceDraws, w.config.Chains); i++ {
		x, err := draw()
		if err != nil {
			return err
		}
		base.eval(x, grad)
		base.addCurvature(curvature)
		if i < w.config.Chains {
			k := newWalker(base.clone(), mcmc.Stream(w.config.Seed, hash, streamChains+uint64(i)), w.config.Trajectory,
				!w.config.NoDeterminant)
			k.trace = mcmc.NewTrace(base.dim, storeLimit*w.config.Samples/w.config.Chains)
			k.MoveTo(x)
			w.chains = append(w.chains, k)
		}
	}
	m, err := newKinetic(base, curvature, max(referenceDraws, w.config.Chains))
	for _, k := range w.chains {
		k.kinetic = m
	}
	return err
}

// warmUp adapts the step size (¼ of the iterations), collects the mean curvature (½), and adapts the step size to the
// mass matrix made of it (¼). The chains then go on with the same step size, the geometric mean of theirs.
func (w *walk) warmUp(ctx context.Context) error {
	quarter := w.config.Warmup / 4
	adapt := func(iterations int, visit func(k *Walker, made int)) error {
		return w.job.Each(len(w.chains), func(j int) error {
			return w.chains[j].adapt(ctx, iterations, w.config.TargetAccept, visit)
		})
	}
	if err := adapt(quarter, nil); err != nil {
		return err
	}
	if err := adapt(w.config.Warmup-2*quarter, func(k *Walker, made int) {
		if made%curvatureEvery == 0 {
			k.AddCurvature()
		}
	}); err != nil {
		return err
	}
	if err := UseCurvature(w.chains); err != nil {
		return err
	}
	if err := adapt(quarter, nil); err != nil {
		return err
	}
	step := mcmc.MeanStep(w.chains, stepSize)
	for _, k := range w.chains {
		k.StepSize = step
		k.Leapfrogs, k.divergences, k.accepted = 0, 0, 0
	}
	return nil
}

func stepSize(k *Walker) float64 { return k.StepSize }

// collect reads perChain thinned samples of each chain into a posterior.
func (w *walk) collect(perChain int) (*mcmc.Posterior, error) {
	t := w.chains[0].target.clone()
	traces := make([]*mcmc.Trace, len(w.chains))
	for j, k := range w.chains {
		traces[j] = k.trace
	}
	return mcmc.Collect(w.problem, traces, perChain, func(p *mcmc.Posterior, i int, x []float64) {
		t.invert(x)
		p.SetValues(i, t.reward, x)
	}), nil
}
