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

// fitter returns what answers by the method of a name. Fit is what the command fit does: a method whose answer is
// judged, and left for samples where it is not trusted; the posteriors of the others say whether they converged.
func (c Config) fitter(name, backend string) (Fitter, error) {
	m, err := c.method(name, backend)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *irl.Problem, progress irl.Progress) (*summary.Summary, bool, string, error) {
		var r *verdict.Result
		var err error
		if name == Fit {
			r, err = verdict.Fit(ctx, m, p, true, c.Verdict, progress)
		} else {
			r, err = verdict.Sample(ctx, m, p, progress)
		}
		if err != nil {
			return nil, false, "", err
		}
		answer, err := summary.Of(r.Posterior, c.Draws, 1)
		return answer, r.Converged, r.Reason, err
	}, nil
}

// method returns a method by its name. backend is what QVIRL computes on, as backend.Get takes it.
func (c Config) method(name, backend string) (irl.Method, error) {
	switch name {
	case Fit, Matched:
		start, err := tabular.New(c.Start.On(backend))
		if err != nil {
			return nil, err
		}
		return matched.New(Matched, start, matched.WarpedRewards, c.Match)
	case Reference:
		return reference.New(c.Reference)
	case Paper:
		return tabular.New(c.Paper.On(backend))
	case ValueWalk:
		return valuewalk.New(c.ValueWalk)
	}
	return nil, fmt.Errorf("zoostudy: there is no method %q", name)
}
