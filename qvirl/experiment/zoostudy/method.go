package zoostudy

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/valuewalk"
	"github.com/go-birl/birl/qvirl/zoo"
)

// methodNames are the methods that there are, in the order of tables and figures.
var methodNames = []string{Matched, Paper, ValueWalk}

// Fitter answers a problem, and tells whether it says that its answer is right, and why if it does not.
type Fitter func(ctx context.Context, p *qvirl.Problem, progress qvirl.Progress) (answer *zoo.Summary, claims bool,
	reason string, err error)

// configOf returns the configs that a method's answers depend on.
func (c Config) configOf(method string) any {
	switch method {
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
	case Matched:
		config := c.Start
		config.Backend = backend
		start, err := qvirl.New(config)
		if err != nil {
			return nil, err
		}
		m, err := valuewalk.NewMatched(name, start, valuewalk.WarpedRewards, c.Match)
		return c.posteriorOf(m), err
	case Paper:
		config := c.Paper
		config.Backend = backend
		m, err := qvirl.New(config)
		return c.posteriorOf(m), err
	case ValueWalk:
		m, err := valuewalk.New(c.ValueWalk)
		return c.posteriorOf(m), err
	}
	return nil, fmt.Errorf("zoostudy: there is no method %q", name)
}

// posteriorOf is the Fitter of a method whose posteriors say whether they converged.
func (c Config) posteriorOf(m qvirl.Method) Fitter {
	return func(ctx context.Context, p *qvirl.Problem, progress qvirl.Progress) (*zoo.Summary, bool, string, error) {
		posts, err := m.Fit(ctx, []*qvirl.Problem{p}, progress)
		if err != nil {
			return nil, false, "", err
		}
		answer, err := zoo.Summarise(posts[0], c.Draws, 1)
		if err != nil {
			return nil, false, "", err
		}
		claims, reason := converged(posts[0])
		return answer, claims, reason, nil
	}
}

// converged is what the command fit says of a posterior.
func converged(post qvirl.Posterior) (bool, string) {
	switch p := post.(type) {
	case *valuewalk.Posterior:
		if err := p.Convergence().Clean(); err != nil {
			return false, err.Error()
		}
	case interface{ Converged() bool }:
		if !p.Converged() {
			return false, "it did not converge"
		}
	}
	return true, ""
}
