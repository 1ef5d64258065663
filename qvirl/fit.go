package qvirl

import (
	"context"
	"encoding/json"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/verdict"
)

// What a fit comes to.
type (
	// Result is a posterior with the verdict on it.
	Result = verdict.Result
	// Verdict says what a posterior is good for.
	Verdict = verdict.Verdict
	// Summary holds means, standard deviations and the policy of a posterior, with their Monte Carlo errors.
	Summary = summary.Summary
)

// The verdicts: the first three on a variational posterior, the next two on samples, and the last where nothing was
// judged.
const (
	Trust        = verdict.Trust
	Refine       = verdict.Refine
	DoNotUse     = verdict.DoNotUse
	Converged    = verdict.Converged
	NotConverged = verdict.NotConverged
	NotJudged    = verdict.NotJudged
)

// Errors, for errors.Is.
var (
	// ErrNotConverged is that of a posterior that may not be relied on.
	ErrNotConverged = verdict.ErrNotConverged
	// ErrBadProblem is that of a problem that is not one.
	ErrBadProblem = irl.ErrBadProblem
	// ErrNoBackend is that of variational methods that are to compute on a backend, as WithBackend or the optimizer
	// Adam has them, which cannot be used.
	ErrNoBackend = backend.ErrNone
	// ErrUnsupported is that of a method for problems of another kind, and ErrSingularPrior of one that needs the
	// inverse of a covariance that has none.
	ErrUnsupported, ErrSingularPrior = irl.ErrUnsupported, irl.ErrSingularPrior
)

// settings are what options set.
type settings struct {
	name     string
	options  Options
	judging  Judging
	progress Progress
}

// Option changes how Fit works.
type Option func(*settings)

// WithMethod chooses one of method.Fitters by its name; without it, that is DefaultMethod's.
func WithMethod(name string) Option { return func(s *settings) { s.name = name } }

// WithSeed sets the seed of everything random; without it, that is 1.
func WithSeed(seed uint64) Option {
	return func(s *settings) { s.options.Seed, s.judging.Seed = seed, seed }
}

// WithBackend chooses what variational methods compute on that need a backend, as those that Adam trains do and those
// of the default configuration do not, as backend.Get takes it; without it, that is the best there is.
func WithBackend(name string) Option { return func(s *settings) { s.options.Backend = name } }

// WithConfig replaces fields of the method's default configuration, see MethodConfig, by those of a JSON object.
func WithConfig(config json.RawMessage) Option {
	return func(s *settings) { s.options.Config = config }
}

// WithProgress has f told how far the fit has come.
func WithProgress(f Progress) Option { return func(s *settings) { s.progress = f } }

// WithoutEscalation keeps a variational posterior that is not trusted; the error is an ErrNotConverged then, beside the
// result.
func WithoutEscalation() Option { return func(s *settings) { s.judging.Escalate = false } }

// WithoutVerdict returns a variational posterior that nothing vouches for, in a fraction of the time. The error is an
// ErrNotConverged beside the result.
func WithoutVerdict() Option { return func(s *settings) { s.judging.Not = true } }

// Fit infers the posterior over the reward of a problem, and says whether to believe it. A variational posterior is
// judged by Markov chains that start from it, from the prior, and from points far away (package verdict); one that is
// not trusted is replaced by their samples, or by those of another run. One of more than tabular.LargestFull states is
// not judged, as without a verdict. The answer depends only on the problem, the options and the backend that GoMLX
// finds.
//
// The error is an ErrNotConverged if what is returned is not to be relied on: then there is a result, too. Other
// errors are one of those above, ctx's, or that of a computation that failed.
func Fit(ctx context.Context, problem *Problem, options ...Option) (*Result, error) {
	s := settings{options: Options{Seed: 1}, judging: Judging{Escalate: true, Seed: 1}}
	for _, o := range options {
		o(&s)
	}
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	if s.name == "" {
		s.name = DefaultMethod(problem)
	}
	m, err := NewMethod(s.name, s.options)
	if err != nil {
		return nil, err
	}
	defer irl.Close(m)
	result, err := FitBy(ctx, m, s.name, problem, s.judging, s.progress)
	if err != nil {
		return nil, err
	}
	return result, result.Err()
}

// Judging says how a variational posterior is judged.
type Judging struct {
	Not      bool   // at all
	Escalate bool   // replaces it by samples where it is not trusted
	Seed     uint64 // of the chains that judge
}

// FitBy fits a problem by a method, which is one of method.Fitters by its name, or is made of one. It judges what is no
// sampler's as Fit does, and returns no ErrNotConverged: see Result.Err.
func FitBy(ctx context.Context, m Method, name string, problem *Problem, judging Judging, progress Progress) (*Result,
	error) {
	entry, err := method.Lookup(name)
	if err != nil {
		return nil, err
	}
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	if err := reference.CheckResolution(problem); err != nil {
		return nil, err
	}
	if entry.Sampler {
		return verdict.Sample(ctx, m, problem, progress)
	}
	why := Unjudgeable(problem)
	if judging.Not {
		why = "as was asked"
	}
	if why != "" {
		return verdict.Unjudged(ctx, m, problem, why, progress)
	}
	return verdict.Fit(ctx, m, problem, judging.Escalate, verdict.Default(judging.Seed), progress)
}

// summaryDraws is the number of draws that a summary is made of where the posterior neither consists of samples nor has
// closed forms.
const summaryDraws = 5000

// Summarise asks a posterior for the means and standard deviations of rewards and optimal values, and for the expert's
// policy.
func Summarise(post Posterior) (*Summary, error) {
	return summary.Of(post, summaryDraws, 1)
}

// AnswerOptions say what numbers SaveResult writes.
type AnswerOptions = problemfile.AnswerOptions

// SaveResult writes a result as the command fit does, atomically: the posterior with its problem as Save does, the
// verdict, and numbers to look at (see problemfile.Answer), to an .npz. inferencedata.Write makes files for ArviZ.
func SaveResult(path string, r *Result, o AnswerOptions) error {
	if err := check.NotNil("qvirl: the result", r, "that of a fit without an error"); err != nil {
		return err
	}
	a, err := problemfile.NewAnswer(r.Posterior, o)
	if err != nil {
		return err
	}
	if p, ok := r.Posterior.(mcmc.Sampled); ok {
		d := p.Sampling()
		a.RHat, a.ESSBulk = d.Reward.RHat, d.Reward.BulkESS
	}
	a.BetaStd = mcmc.BetaStd(r.Posterior, a.BetaStd)
	a.Judgement = problemfile.Judgement{Verdict: string(r.Verdict), Returned: r.Returned, Reason: r.Reason,
		Converged: r.Converged}
	return a.Write(path)
}

// LoadResult reads a result that SaveResult or the command fit wrote, without its Diagnosis and Stages. A posterior
// that Save wrote is NotJudged.
func LoadResult(path string) (*Result, error) {
	post, j, err := problemfile.LoadJudged(path, restore)
	if err != nil {
		return nil, err
	}
	if j.Verdict == "" {
		j.Verdict, j.Reason = string(NotJudged), path+" holds no verdict"
	}
	return &Result{Posterior: post, Returned: j.Returned, Verdict: Verdict(j.Verdict), Converged: j.Converged,
		Reason: j.Reason}, nil
}
