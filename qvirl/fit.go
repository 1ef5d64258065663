package qvirl

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
	"github.com/go-birl/birl/qvirl/verdict"
)

// The names of the methods.
const (
	Matched   = "qvirl-matched" // variational: skewed marginals, matched to a short chain; the default
	Paper     = "qvirl"         // variational, as in the paper; β must be known
	AVRIL     = "avril"         // a variational baseline; β must be known
	Reference = reference.Name  // Markov chain Monte Carlo: for any prior, discount and β
	ValueWalk = "valuewalk"     // Markov chain Monte Carlo as published; the prior must have a density
)

// Methods lists the names of the methods.
func Methods() []string { return []string{Matched, Paper, AVRIL, Reference, ValueWalk} }

// What a fit comes to.
type (
	// Result is a posterior with the verdict on it.
	Result = verdict.Result
	// Verdict says what a posterior is good for.
	Verdict = verdict.Verdict
	// Summary holds means, standard deviations and the policy of a posterior, with their Monte Carlo errors.
	Summary = summary.Summary
)

// The verdicts: the first three on a variational posterior, the last two on samples.
const (
	Trust        = verdict.Trust
	Refine       = verdict.Refine
	DoNotUse     = verdict.DoNotUse
	Converged    = verdict.Converged
	NotConverged = verdict.NotConverged
)

// Errors, for errors.Is.
var (
	// ErrNotConverged is that of a posterior that may not be relied on.
	ErrNotConverged = verdict.ErrNotConverged
	// ErrBadProblem is that of a problem that is not one.
	ErrBadProblem = irl.ErrBadProblem
	// ErrNoBackend is that of variational methods where GOMLX_BACKEND names what cannot be used.
	ErrNoBackend = backend.ErrNone
)

// settings are what options set.
type settings struct {
	method   string
	seed     uint64
	escalate bool
	progress Progress
}

// Option changes how Fit works.
type Option func(*settings)

// WithMethod chooses a method by its name; without it, that is Matched.
func WithMethod(name string) Option { return func(s *settings) { s.method = name } }

// WithSeed sets the seed of everything random; without it, that is 1.
func WithSeed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// WithProgress has f told how far the fit has come.
func WithProgress(f Progress) Option { return func(s *settings) { s.progress = f } }

// WithoutEscalation keeps a variational posterior that is not trusted.
func WithoutEscalation() Option { return func(s *settings) { s.escalate = false } }

// Fit infers the posterior over the reward of a problem, and says whether to believe it. A variational posterior is judged by Markov
// chains that start from it and from the prior (package verdict); one that is not trusted is replaced by their samples, or by those of
// a longer run. The answer depends on the problem, the options and the backend that GoMLX finds alone.
//
// The error is an ErrNotConverged if not even that may be relied on: then there is a result, too. It is an ErrBadProblem, an
// ErrNoBackend or ctx's otherwise.
func Fit(ctx context.Context, problem *Problem, options ...Option) (*Result, error) {
	s := settings{method: Matched, seed: 1, escalate: true}
	for _, o := range options {
		o(&s)
	}
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	method, err := s.newMethod()
	if err != nil {
		return nil, err
	}
	var result *Result
	if s.method == Reference || s.method == ValueWalk {
		result, err = verdict.Sample(ctx, method, problem, s.progress)
	} else {
		result, err = verdict.Fit(ctx, method, problem, s.escalate, verdict.Default(s.seed), s.progress)
	}
	if err != nil {
		return nil, err
	}
	return result, result.Err()
}

// newMethod returns the method in its default configuration.
func (s settings) newMethod() (Method, error) {
	if s.method == Matched || s.method == Paper {
		if _, err := backend.Get(""); err != nil {
			return nil, err
		}
	}
	switch s.method {
	case Matched:
		config, walk := tabular.StartConfig(), matched.Default()
		config.Seed, walk.Seed = s.seed, s.seed
		start, err := tabular.New(config)
		if err != nil {
			return nil, err
		}
		return matched.New(Matched, start, matched.WarpedRewards, walk)
	case Paper:
		config := tabular.DefaultConfig()
		config.Seed = s.seed
		return tabular.New(config)
	case AVRIL:
		config := avril.Default()
		config.Seed = s.seed
		return avril.New(config)
	case Reference:
		config := reference.Default()
		config.Seed = s.seed
		return reference.New(config)
	case ValueWalk:
		config := valuewalk.Default()
		config.Seed = s.seed
		return valuewalk.New(config)
	}
	return nil, fmt.Errorf("qvirl: there is no method %q; there are %s", s.method, strings.Join(Methods(), ", "))
}

// summaryDraws is the number of draws that a summary is made of where the posterior neither consists of samples nor has closed forms.
const summaryDraws = 5000

// Summarise asks a posterior for the means and standard deviations of rewards and optimal values, and for the expert's policy.
func Summarise(post Posterior) (*Summary, error) { return summary.Of(post, summaryDraws, 1) }
