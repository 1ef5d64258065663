package mcmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
)

// Job is what the chains of one problem share: the processors that they work on, and the time that they took.
type Job struct {
	Problem int // place of the problem in the batch

	busy     chan struct{} // one token for each chain at work, of this problem or another
	progress irl.Progress

	lock    sync.Mutex
	elapsed time.Duration // work of all chains together
	reached int           // of progressParts
}

const (
	progressParts = 1000 // in which the progress of a problem is counted
	warmUpShare   = 0.25 // of it that the warm-up is taken to be
)

// Fit samples the posteriors of a batch: of as many problems at a time as GOMAXPROCS allows, and with as many chains at
// work. sample samples one; the first error ends all, and so does ctx.
func Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress,
	sample func(ctx context.Context, problem *irl.Problem, job *Job) (irl.Posterior, error)) ([]irl.Posterior, error) {
	if err := irl.ValidateAll(problems); err != nil {
		return nil, err
	}
	busy := make(chan struct{}, runtime.GOMAXPROCS(0))
	posteriors := make([]irl.Posterior, len(problems))
	part := progress.Shared(len(problems))
	err := parallel.Each(ctx, len(problems), func(ctx context.Context, i int) error {
		which := irl.Which(i, len(problems))
		job := &Job{Problem: i, busy: busy, progress: part(i).Stage(which, 0, 1, 1)}
		posterior, err := sample(ctx, problems[i], job)
		if err != nil {
			return fmt.Errorf("%s%w", which, err)
		}
		posteriors[i] = posterior
		job.Report(1, "done")
		return nil
	})
	if err != nil {
		return nil, err
	}
	return posteriors, nil
}

// Seconds returns the duration of the work so far.
func (j *Job) Seconds() float64 {
	j.lock.Lock()
	defer j.lock.Unlock()
	return j.elapsed.Seconds()
}

// WarmUp tells what share of the problem's warm-up is done, in [0, 1].
func (j *Job) WarmUp(share float64, status string) { j.report(warmUpShare*share, status) }

// Report tells what share of the sampling after the warm-up is done, in [0, 1].
func (j *Job) Report(share float64, status string) {
	j.report(warmUpShare+(1-warmUpShare)*share, status)
}

// report tells what share of everything is done; it counts as no less than before.
func (j *Job) report(share float64, status string) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.reached = max(j.reached, int(share*progressParts))
	j.progress.Report(j.reached, progressParts, status)
}

// Time runs f and counts its duration as work of the chains.
func (j *Job) Time(f func() error) error {
	start := time.Now()
	defer func() {
		j.lock.Lock()
		j.elapsed += time.Since(start)
		j.lock.Unlock()
	}()
	return f()
}

// Each runs f for each of n chains, as many at a time as there are processors free, and returns the first chain's
// error.
func (j *Job) Each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			j.busy <- struct{}{}
			defer func() { <-j.busy }()
			errs[i] = j.Time(func() error { return f(i) })
		})
	}
	wait.Wait()
	return check.First(errs...)
}

// Budget says how many samples are kept, and when sampling ends.
type Budget struct {
	Samples, Chains int     // samples that are kept, in all chains together, a multiple of Chains
	MinESS, MaxRHat float64 // sampling ends when every reward and value has them among the kept samples,
	MaxIterations   int     // or when each chain has made that many iterations,
	MostIterations  int     // or that many where they have a quarter of MinESS by then; 0: MaxIterations
	MaxStdError     float64 // and no standard deviation has a larger relative Monte Carlo error; 0: whatever it is
	MaxSamples      int     // that are kept where tails are so heavy that MaxStdError asks for more than Samples
	MinIterations   int     // that each chain makes in any case
	MaxPolicyError  float64 // largest Monte Carlo error of an action's probability; 0: whatever it is
	FirstLook       float64 // iterations per kept sample before convergence is first looked at, at least 1; 0: 2

	// Again, unless it is nil, is shown the samples at each look at which they have less than half of MinESS, and how
	// many iterations they are of. If it reports true the chains begin anew, as after the warm-up.
	Again func(samples *Posterior, iterations int) (bool, error)

	// Few, unless it is nil, reports whether samples that meet the targets are too few for something that they should
	// hold. As many again are kept then, up to MaxSamples.
	Few func(samples *Posterior) bool
}

// wantsMore reports whether a standard deviation that convergence does not depend on, with that relative Monte Carlo
// error of so many samples, is not known as well as others are but will be of MaxSamples.
func (b Budget) wantsMore(stdError float64, samples int) bool {
	return b.MaxStdError > 0 && stdError > b.MaxStdError &&
		stdError*math.Sqrt(float64(samples)/float64(max(b.MaxSamples, 1))) <= b.MaxStdError
}

// MinPerChain is the fewest samples of a chain for which the diagnostics mean something.
const MinPerChain = minLength

// Validate reports the first field that is out of range.
func (b Budget) Validate() error {
	return check.First(check.AtLeast(2, "Chains", b.Chains),
		check.That(b.Samples >= MinPerChain*b.Chains && b.Samples%max(b.Chains, 1) == 0, "Samples = %d, want a "+
			"multiple of the %d chains with at least %d samples each", b.Samples, b.Chains, MinPerChain),
		check.That(b.MinESS >= 0, "MinESS = %g, want a number that is not negative", b.MinESS),
		check.That(b.MaxRHat > 1, "MaxRHat = %g, want more than 1", b.MaxRHat),
		check.That(b.MaxIterations >= b.Samples/max(b.Chains, 1), "MaxIterations = %d is less than the %d samples "+
			"that each chain must keep", b.MaxIterations, b.Samples/max(b.Chains, 1)),
		check.That(b.FirstLook == 0 || b.FirstLook >= 1, "FirstLook = %g, want 0 or at least 1", b.FirstLook))
}

const (
	firstLook   = 2    // Budget.FirstLook where that is 0
	roundGrowth = 1.25 // growth of the number of iterations from one look to the next
	roundParts  = 8    // parts of a chain's way from one look to the next, after each of which it reports
)

// Converge samples until the budget's targets are met or it is spent. advance continues chain i until it has made the
// given number of iterations; collect makes a posterior of that many samples of each chain. The diagnostics come
// without Acceptance.
func (j *Job) Converge(b Budget, advance func(chain, iterations int) error,
	collect func(perChain int) (*Posterior, error)) (*Posterior, Diagnostics, error) {
	var perChain, reached, next, expected, limit int // of iterations
	found, done := "", 0.0                           // share of the sampling
	begin := func() {
		perChain, reached, expected, limit = b.Samples/b.Chains, 0, 0, b.MaxIterations
		next = max(int(cmp.Or(b.FirstLook, firstLook)*float64(perChain)), b.MinIterations)
	}
	begin()
	for {
		total := min(next, limit)
		next = int(roundGrowth * float64(total))
		// What is to come has the rest of the progress, another look after this one too: nobody knows if it is due.
		left, toCome := 1-done, float64(max(expected, min(next, limit))-reached)
		share := func(iterations int) float64 { return 1 - left*(1-float64(iterations-reached)/toCome) }
		var parts atomic.Int64
		if err := j.Each(b.Chains, func(i int) error {
			for part := range roundParts {
				if err := advance(i, reached+(total-reached)*(part+1)/roundParts); err != nil {
					return err
				}
				made := reached + (total-reached)*int(parts.Add(1))/(roundParts*b.Chains)
				j.Report(share(made), fmt.Sprintf("%d iterations of %d chains%s", made, b.Chains, found))
			}
			return nil
		}); err != nil {
			return nil, Diagnostics{}, err
		}
		reached, done = total, share(total)
		d := Diagnostics{Iterations: total, MinESS: b.MinESS, MaxRHat: b.MaxRHat, MaxStdError: b.MaxStdError,
			MaxPolicyError: b.MaxPolicyError}
		var p *Posterior
		var ess float64
		var end bool
		if err := j.Time(func() (err error) {
			if p, err = collect(perChain); err != nil {
				return err
			}
			if ess = p.smallestMeanESS(); ess >= b.MinESS/4 {
				limit = max(limit, b.MostIterations)
			}
			end = total == limit
			found = fmt.Sprintf(", smallest ESS %.0f", ess)
			expected = max(next, min(int(float64(total)*b.MinESS/ess), limit))
			if ess < b.MinESS && !end { // the full diagnostics cost more
				return nil
			}
			d.measure(p, end)
			err = d.Clean()
			if unmet, ok := errors.AsType[*shortfall](err); ok {
				found += ", " + unmet.what
			}
			kept := perChain * b.Chains
			more := errors.Is(err, ErrHeavyTails) || err == nil && (b.wantsMore(d.ValueStdError, kept) ||
				d.BetaTail <= maxBetaTail && b.wantsMore(d.BetaStdError, kept) || b.Few != nil && b.Few(p))
			if more { // samples are nearly independent: only more of them help
				if 2*perChain*b.Chains <= b.MaxSamples && 2*total <= limit {
					perChain *= 2
					next = 2 * total
					expected = max(expected, next)
					return nil
				}
				end = true
			}
			end = end || err == nil
			return nil
		}); err != nil {
			return nil, Diagnostics{}, err
		}
		if end {
			d.Seconds = j.Seconds()
			return p, d, nil
		}
		if b.Again == nil || ess >= b.MinESS/2 { // to begin anew would take longer than to go on
			continue
		}
		again, err := b.Again(p, total)
		if err != nil {
			return nil, Diagnostics{}, err
		}
		if again {
			begin()
		}
	}
}
