package valuewalk

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl"
)

// Method is ValueWalk with one configuration. It is a qvirl.Method.
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
func (m *Method) Fit(ctx context.Context, problems []*qvirl.Problem, progress qvirl.Progress) ([]qvirl.Posterior, error) {
	if err := qvirl.ValidateAll(problems); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	busy := make(chan struct{}, workers) // one token for each chain at work
	queue := make(chan int)
	posteriors := make([]qvirl.Posterior, len(problems))
	var wait sync.WaitGroup
	var count sync.Mutex
	done := 0
	for range min(workers, len(problems)) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range queue {
				report := func(status string, finished int) {
					count.Lock()
					defer count.Unlock()
					done += finished
					progress.Report(done, len(problems), fmt.Sprintf("problem %d: %s", i, status))
				}
				w := walk{config: m.config, problem: problems[i], busy: busy, report: func(status string) { report(status, 0) }}
				posterior, err := w.run(ctx)
				if err != nil {
					cancel(fmt.Errorf("problem %d: %w", i, err))
					continue // to empty the queue
				}
				posteriors[i] = posterior
				report("done", 1)
			}
		}()
	}
	for i := range problems {
		if ctx.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return posteriors, nil
}

// walk is the sampling of one problem's posterior.
type walk struct {
	config  Config
	problem *qvirl.Problem
	busy    chan struct{}
	report  func(status string)

	chains []*chain
	metric *metric

	lock    sync.Mutex
	elapsed time.Duration // work of all chains together
}

const (
	referenceDraws = 20  // prior draws whose mean curvature is the first mass matrix
	curvatureEvery = 5   // iterations between the positions whose mean curvature is the final mass matrix
	firstRound     = 2   // iterations per kept sample before convergence is first looked at
	roundGrowth    = 1.4 // growth of the number of iterations from one look to the next
	storeLimit     = 8   // positions stored per kept sample
)

// Random streams of one problem: the chains have the numbers from streamChains on.
const (
	streamStarts = 0
	streamChains = 1
)

func (w *walk) run(ctx context.Context) (*Posterior, error) {
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if err := w.warmUp(ctx); err != nil {
		return nil, err
	}
	c := w.config
	perChain := c.Samples / c.Chains
	for total := min(firstRound*perChain, c.MaxIterations); ; total = min(int(roundGrowth*float64(total)), c.MaxIterations) {
		if err := w.each(func(_ int, k *chain) error { return k.sample(ctx, w.metric, total, storeLimit*perChain) }); err != nil {
			return nil, err
		}
		p := w.posterior(perChain)
		last := total == c.MaxIterations
		ess := p.smallestMeanESS()
		w.report(fmt.Sprintf("%d iterations of %d chains, smallest ESS %.0f", total, c.Chains, ess))
		if ess < c.MinESS && !last { // the full diagnostics cost more
			continue
		}
		start := time.Now()
		p.diagnose(c)
		w.elapsed += time.Since(start)
		p.diagnostics.Seconds = w.elapsed.Seconds()
		if last || p.diagnostics.Clean() == nil {
			return p, nil
		}
	}
}

// prepare compiles the problem, starts the chains at the values of prior draws, and takes the mean curvature at such
// values as the first mass matrix.
func (w *walk) prepare() error {
	start := time.Now()
	defer func() { w.elapsed += time.Since(start) }()
	base, err := newTarget(w.problem)
	if err != nil {
		return err
	}
	hash := base.fingerprint()
	stream := func(number uint64) *rand.Rand {
		return rand.New(rand.NewPCG(w.config.Seed, hash+number*0x9E3779B97F4A7C15)) // golden-ratio steps: distinct streams
	}
	rng := stream(streamStarts)
	var lower mat.TriDense
	if w.problem.Prior.Cov != nil {
		var chol mat.Cholesky
		chol.Factorize(w.problem.Prior.Cov) // newTarget has seen to it that it is positive definite
		chol.LTo(&lower)
	}
	draw := func() ([]float64, error) {
		reward, noise := make([]float64, base.n), make([]float64, base.n)
		for i := range noise {
			noise[i] = rng.NormFloat64()
		}
		for i, mean := range w.problem.Prior.Mean {
			reward[i] = mean
			if w.problem.Prior.Std != nil {
				reward[i] += w.problem.Prior.Std[i] * noise[i]
				continue
			}
			for j := 0; j <= i; j++ {
				reward[i] += lower.At(i, j) * noise[j]
			}
		}
		sol, err := w.problem.MDP.Solve(reward, w.problem.Discount)
		if err != nil {
			return nil, err
		}
		if base.stateOnly {
			return sol.V, nil
		}
		return sol.Q, nil
	}
	curvature, grad := make([]float64, base.n*base.n), make([]float64, base.n)
	for i := 0; i < max(referenceDraws, w.config.Chains); i++ {
		x, err := draw()
		if err != nil {
			return err
		}
		base.eval(x, grad)
		base.addCurvature(curvature)
		if i < w.config.Chains {
			w.chains = append(w.chains, newChain(base.clone(), stream(streamChains+uint64(i)), x, w.config))
		}
	}
	w.metric, err = newMetric(symmetric(curvature, base.n, float64(max(referenceDraws, w.config.Chains))))
	return err
}

// warmUp adapts the step size (¼ of the iterations), collects the mean curvature (½), and adapts the step size to the
// mass matrix made of it (¼). The chains then go on with the same step size, the geometric mean of theirs.
func (w *walk) warmUp(ctx context.Context) error {
	quarter := w.config.Warmup / 4
	adapt := func(_ int, k *chain) error { return k.adapt(ctx, w.metric, quarter, w.config.TargetAccept, nil) }
	if err := w.each(adapt); err != nil {
		return err
	}
	n := w.chains[0].target.n
	curvature := make([][]float64, len(w.chains))
	err := w.each(func(j int, k *chain) error {
		curvature[j] = make([]float64, n*n)
		grad, made := make([]float64, n), 0
		return k.adapt(ctx, w.metric, w.config.Warmup-2*quarter, w.config.TargetAccept, func() {
			if made++; made%curvatureEvery == 0 {
				k.target.eval(k.at.x, grad) // a rejected trajectory has left the target elsewhere
				k.target.addCurvature(curvature[j])
			}
		})
	})
	if err != nil {
		return err
	}
	for _, c := range curvature[1:] {
		for i, v := range c {
			curvature[0][i] += v
		}
	}
	count := len(w.chains) * ((w.config.Warmup - 2*quarter) / curvatureEvery)
	if w.metric, err = newMetric(symmetric(curvature[0], n, float64(count))); err != nil {
		return err
	}
	if err := w.each(adapt); err != nil {
		return err
	}
	log := 0.0
	for _, k := range w.chains {
		log += math.Log(k.step) / float64(len(w.chains))
	}
	for _, k := range w.chains {
		k.step = math.Exp(log)
		k.settle()
	}
	return nil
}

// each runs f for every chain, as many at a time as there are tokens, and returns the first chain's error.
func (w *walk) each(f func(i int, k *chain) error) error {
	errs := make([]error, len(w.chains))
	var wait sync.WaitGroup
	for i, k := range w.chains {
		wait.Add(1)
		go func() {
			defer wait.Done()
			w.busy <- struct{}{}
			defer func() { <-w.busy }()
			start := time.Now()
			errs[i] = f(i, k)
			w.lock.Lock()
			w.elapsed += time.Since(start)
			w.lock.Unlock()
		}()
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// posterior reads perChain thinned samples of each chain into a posterior without diagnostics of convergence.
func (w *walk) posterior(perChain int) *Posterior {
	t := w.chains[0].target.clone()
	p := newPosterior(w.problem, len(w.chains), perChain, t.n, !w.config.NoDeterminant)
	d := &p.diagnostics
	for j, k := range w.chains {
		for i, x := range k.thinned(perChain) {
			t.invert(x)
			p.value.SetRow(j*perChain+i, x)
			p.reward.SetRow(j*perChain+i, t.reward)
		}
		d.Divergences += k.divergences
		d.Acceptance += k.accepted / float64(k.made*len(w.chains))
		d.LeapfrogSteps += float64(k.leapfrogs) / float64(k.made*len(w.chains))
		d.Iterations, d.StepSize = k.made, k.step
	}
	return p
}
