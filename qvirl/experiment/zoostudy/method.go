package zoostudy

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/verdict"
)

// methodNames are the methods that there are, in the order of tables and figures.
var methodNames = []string{Fit, Reference, Matched, Paper, ValueWalk}

// Fitter answers a problem, and tells whether it says that its answer is right, and why if it does not.
type Fitter func(ctx context.Context, p *irl.Problem, progress irl.Progress) (answer *summary.Summary, claims bool,
	reason string, err error)

// fitter returns what answers by the method of a name, and the configs that its answers depend on. Fit is what the
// command fit does: a method whose answer is judged, and left for samples where it is not trusted; the posteriors of
// the others say whether they converged.
func (c Config) fitter(name, backend string) (fit Fitter, on any, err error) {
	m, on, err := c.method(name, backend)
	if err != nil {
		return nil, nil, err
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
		if err != nil {
			return nil, false, "", err
		}
		answer.BetaStd = mcmc.BetaStd(r.Posterior, answer.BetaStd)
		return answer, r.Converged, r.Reason, nil
	}, on, nil
}

// method returns a method by its name, and its configs. backend is what QVIRL computes on, as backend.Get takes it.
func (c Config) method(name, backend string) (m irl.Method, on any, err error) {
	switch name {
	case Fit, Matched:
		configs := []any{c.Start, c.Match}
		if name == Fit {
			configs = append(configs, c.Verdict)
		}
		m, err = worlds.NewMethod(Matched, worlds.WalkFrom{Start: c.Start, Walk: c.Match}, backend)
		return m, configs, err
	case Reference:
		on = c.Reference
	case Paper:
		on = c.Paper
	case ValueWalk:
		on = c.ValueWalk
	default:
		return nil, nil, fmt.Errorf("zoostudy: there is no method %q", name)
	}
	m, err = worlds.NewMethod(name, on, backend)
	return m, on, err
}
