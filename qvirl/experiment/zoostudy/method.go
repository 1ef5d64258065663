package zoostudy

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
	"github.com/go-birl/birl/qvirl/verdict"
)

// methodNames are the methods that there are, in the order of tables and figures.
var methodNames = []string{Fit, Reference, Matched, Paper, ValueWalk}

// Fitter answers a problem, and tells whether it says that its answer is right, and why if it does not.
type Fitter func(ctx context.Context, p *irl.Problem, progress irl.Progress) (answer *summary.Summary, claims bool,
	reason string, err error)

// configOf returns the configs that a method's answers depend on.
func (c Config) configOf(method string) any {
	switch method {
	case Fit:
		return []any{c.Start, c.Match, c.Verdict}
	case Reference:
		return c.Reference
	case Matched:
		return []any{c.Start, c.Match}
	case Paper:
		return c.Paper
	default:
		return c.ValueWalk
	}
}

// fitter returns a method by its name. backend is what QVIRL computes on, as backend.Get takes it.
func (c Config) fitter(name, backend string) (Fitter, error) {
	switch name {
	case Fit, Matched:
		start, err := tabular.New(c.Start.On(backend))
		if err != nil {
			return nil, err
		}
		m, err := matched.New(Matched, start, matched.WarpedRewards, c.Match)
		if name == Fit {
			return c.judged(m), err
		}
		return c.posteriorOf(m), err
	case Reference:
		m, err := reference.New(c.Reference)
		return c.posteriorOf(m), err
	case Paper:
		m, err := tabular.New(c.Paper.On(backend))
		return c.posteriorOf(m), err
	case ValueWalk:
		m, err := valuewalk.New(c.ValueWalk)
		return c.posteriorOf(m), err
	}
	return nil, fmt.Errorf("zoostudy: there is no method %q", name)
}

// posteriorOf is the Fitter of a method whose posteriors say whether they converged.
func (c Config) posteriorOf(m irl.Method) Fitter {
	return func(ctx context.Context, p *irl.Problem, progress irl.Progress) (*summary.Summary, bool, string, error) {
		posts, err := m.Fit(ctx, []*irl.Problem{p}, progress)
		if err != nil {
			return nil, false, "", err
		}
		answer, err := summary.Of(posts[0], c.Draws, 1)
		if err != nil {
			return nil, false, "", err
		}
		claims, reason := irl.Converged(posts[0])
		return answer, claims, reason, nil
	}
}

// judged is the Fitter of what the command fit does: a method whose answer is judged, and left for samples where it is
// not trusted.
func (c Config) judged(m irl.Method) Fitter {
	return func(ctx context.Context, p *irl.Problem, progress irl.Progress) (*summary.Summary, bool, string, error) {
		r, err := verdict.Fit(ctx, m, p, true, c.Verdict, progress)
		if err != nil {
			return nil, false, "", err
		}
		answer, err := summary.Of(r.Posterior, c.Draws, 1)
		return answer, r.Converged, r.Reason, err
	}
}
