package verdict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/reference"
)

// Result is a posterior with the verdict on it.
type Result struct {
	Posterior irl.Posterior
	// Returned says what Posterior is: the name of the method that was asked, "refined" for the samples that the
	// verdict rests on, or "reference" for another run of that sampler.
	Returned  string
	Verdict   Verdict    // on what the method that was asked gave; of samples alone where it is not for the problem
	Diagnosis *Diagnosis // that the verdict rests on; nil of samples alone
	Converged bool       // Posterior is trusted, or consists of samples whose chains agree
	Reason    string     // why, or why not
	Stages    []Stage    // what was computed, in order
}

// Stage is a step of Fit with the time that it took, by the clock.
type Stage struct {
	Name    string
	Seconds float64
}

// Err returns an ErrNotConverged with the reason unless the posterior may be relied on.
func (r *Result) Err() error {
	if r.Converged {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotConverged, r.Reason)
}

// Fit fits a problem by a variational method and judges the answer. Unless it is trusted, and with escalate, Fit goes
// on: from "refine" to the samples that it was judged by, from "do not use" to another run of the reference sampler,
// which looks for goals anywhere.
// Where the method is not for such a problem, the reference sampler takes its place, with a verdict of its own. What
// fails on a valid problem, or cannot be judged, is not to be used. Without escalate, the error is returned, and so is
// that of a backend that is missing.
func Fit(ctx context.Context, method irl.Method, problem *irl.Problem, escalate bool, c Config,
	progress irl.Progress) (*Result, error) {
	if err := irl.CheckFit("verdict", ctx, method); err != nil {
		return nil, err
	}
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	r := &Result{Returned: method.Name()}
	timed := func(name string, f func() error) error {
		start := time.Now()
		err := f()
		r.Stages = append(r.Stages, Stage{name, time.Since(start).Seconds()})
		return err
	}
	sample := func() error {
		stage := progress.Stage(reference.Name+": ", 9, 1, 10)
		if r.Posterior == nil { // failures are early
			stage = progress.Stage(reference.Name+": ", 1, 9, 10)
		}
		err := timed(reference.Name, func() (err error) {
			r.Posterior, err = c.again(ctx, problem, stage)
			return err
		})
		if err != nil {
			return err
		}
		r.Returned = reference.Name
		r.Converged, r.Reason = irl.Converged(r.Posterior)
		return nil
	}
	var samples *reference.Posterior
	err := timed(method.Name(), func() error {
		posts, err := method.Fit(ctx, []*irl.Problem{problem}, progress.Stage(method.Name()+": ", 0, 1, 10))
		if err == nil {
			r.Posterior = posts[0]
		}
		return err
	})
	switch {
	case err != nil && (!escalate || ctx.Err() != nil || errors.Is(err, backend.ErrNone)):
		return nil, err
	case errors.Is(err, irl.ErrSingularPrior) || errors.Is(err, irl.ErrUnsupported):
		if err := sample(); err != nil {
			return nil, err
		}
		r.Verdict = verdictOn(r.Converged)
		r.Reason = fmt.Sprintf("%v; %s takes its place: %s", err, reference.Name, r.Reason)
		return r, nil
	case err != nil:
		r.Diagnosis = &Diagnosis{Verdict: DoNotUse, Reason: fmt.Sprintf("%s failed: %v", method.Name(), err)}
	default:
		err := timed("diagnosis", func() (err error) {
			r.Diagnosis, samples, err = Diagnose(ctx, r.Posterior, c, progress.Stage("diagnosis: ", 1, 8, 10))
			return err
		})
		if err != nil && (!escalate || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			r.Diagnosis = &Diagnosis{Verdict: DoNotUse, Reason: fmt.Sprintf("it could not be judged: %v", err)}
		}
	}
	r.Verdict, r.Converged, r.Reason = r.Diagnosis.Verdict, r.Diagnosis.Verdict == Trust, r.Diagnosis.Reason
	if r.Verdict != DoNotUse || !escalate {
		progress.Report(3, 3, "done")
	}
	if r.Converged || !escalate {
		return r, nil
	}
	if r.Verdict == Refine {
		r.Posterior, r.Returned = samples, "refined"
		r.Converged, r.Reason = irl.Converged(r.Posterior)
	} else if err := sample(); err != nil {
		return nil, err
	}
	if again, ok := r.Posterior.(*reference.Posterior); ok && r.Converged && samples != nil && again != samples {
		if where := elsewhere(samples.Posterior, again.Posterior); where != "" {
			r.Converged, r.Reason = false, "its chains agree, but missed where a chain that judged had been: "+where
		}
	}
	return r, nil
}

// again runs the reference sampler from the prior.
func (c Config) again(ctx context.Context, problem *irl.Problem, progress irl.Progress) (irl.Posterior, error) {
	config := c.Reference
	config.Seed++ // chains of their own
	config.Anywhere = true
	sampler, err := reference.New(config)
	if err != nil {
		return nil, err
	}
	posts, err := sampler.Fit(ctx, []*irl.Problem{problem}, progress)
	if err != nil {
		return nil, err
	}
	return posts[0], nil
}

const (
	places  = 2    // standard deviations of a chain that make a place,
	narrow  = 0.25 // with this share of the posterior's at least
	visited = 1e-3 // least share of the draws in a place that counts as found
)

// elsewhere says where one of the judging chains was, in a reward or a value, that another run does not know of; empty
// if there is no such place. Chains that agree may all have missed what others found.
func elsewhere(judges, again *mcmc.Posterior) string {
	for _, kind := range []struct {
		name          string
		n             int
		judged, known func(i int) [][]float64
	}{
		{"reward", judges.Problem().RewardDim(), judges.RewardChains, again.RewardChains},
		{"the value of state", judges.Problem().MDP.States(), judges.ValueChains, again.ValueChains},
	} {
		for i := range kind.n {
			draws := slices.Concat(kind.known(i)...)
			spread := stat.StdDev(draws, nil)
			for _, chain := range kind.judged(i) {
				mean, std := stat.MeanStdDev(chain, nil)
				within, reach := 0, places*math.Max(std, narrow*spread)
				for _, x := range draws {
					if math.Abs(x-mean) <= reach {
						within++
					}
				}
				if reach > 0 && float64(within) < visited*float64(len(draws)) {
					return fmt.Sprintf("%s %d at %.4g ± %.2g", kind.name, i, mean, std)
				}
			}
		}
	}
	return ""
}

// Sample fits a problem by a method that says itself whether it has converged, as a sampler whose chains agree.
func Sample(ctx context.Context, sampler irl.Method, problem *irl.Problem, progress irl.Progress) (*Result, error) {
	r, err := alone(ctx, sampler, problem, progress)
	if err != nil {
		return nil, err
	}
	r.Converged, r.Reason = irl.Converged(r.Posterior)
	r.Verdict = verdictOn(r.Converged)
	return r, nil
}

// verdictOn returns that on samples.
func verdictOn(converged bool) Verdict {
	if converged {
		return Converged
	}
	return NotConverged
}

// Unjudged fits a problem by an approximate method and leaves it at that, for the given reason, such as "as was asked":
// the answer is not to be relied on until something vouches for it.
func Unjudged(ctx context.Context, m irl.Method, problem *irl.Problem, why string, progress irl.Progress) (*Result,
	error) {
	r, err := alone(ctx, m, problem, progress)
	if err != nil {
		return nil, err
	}
	r.Verdict, r.Reason = NotJudged, "it was not judged ("+why+"), and nothing vouches for it"
	if ok, reason := irl.Converged(r.Posterior); !ok {
		r.Reason += "; " + reason
	}
	return r, nil
}

// alone fits a problem by a method and judges nothing.
func alone(ctx context.Context, m irl.Method, problem *irl.Problem, progress irl.Progress) (*Result, error) {
	if err := irl.CheckFit("verdict", ctx, m); err != nil {
		return nil, err
	}
	start := time.Now()
	posts, err := m.Fit(ctx, []*irl.Problem{problem}, progress)
	if err != nil {
		return nil, err
	}
	return &Result{Posterior: posts[0], Returned: m.Name(),
		Stages: []Stage{{m.Name(), time.Since(start).Seconds()}}}, nil
}

// ErrNotConverged is that of a posterior that is not to be relied on.
var ErrNotConverged = errors.New("not converged")
