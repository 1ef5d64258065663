package active

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Course is one course of active learning: what is learnt from first, and whom to ask.
type Course struct {
	Task        neural.Task     // with the one run that it begins with
	First, More *neural.Learner // of that, and of training on after an answer
	Candidates  []Candidate
	Acquisition Acquisition
	Simulator   Simulator
	// Ask returns the segment that the demonstrator shows from a candidate. The same one gets the same answer.
	Ask  func(ctx context.Context, c Candidate) (*demo.Trajectory, error)
	Seed uint64 // of what the acquisition draws
}

// State is how far a course has come.
type State struct {
	Model *neural.Fitted
	Asked []int             // candidates, in order
	Demos []demo.Trajectory // the first ones, and the answers
}

// Choice is what a course asks about next, and why.
type Choice struct {
	Left      []int          // candidates that were not asked about
	Scores    []active.Score // of each of them
	Candidate int            // that of the highest score, the first of several equal ones
}

// Score returns that of the candidate that was chosen.
func (c *Choice) Score() active.Score { return c.Scores[slices.Index(c.Left, c.Candidate)] }

// refitSeeds lies between the seeds of one training and the next.
const refitSeeds = 0x9E3779B97F4A7C15

// Begin learns from what there is at first.
func (c *Course) Begin(ctx context.Context) (*State, error) {
	switch {
	case len(c.Task.Runs) != 1:
		return nil, fmt.Errorf("active: Course.Task has %d runs, want 1", len(c.Task.Runs))
	case c.First == nil || c.More == nil || c.Acquisition == nil || c.Simulator == nil || c.Ask == nil:
		return nil, errors.New("active: a Course needs First, More, Acquisition, Simulator and Ask")
	}
	m, err := fit(ctx, c.First, &c.Task)
	if err != nil {
		return nil, err
	}
	return &State{Model: m, Demos: c.Task.Runs[0].Demos}, nil
}

// Resume returns the state after the questions about the given candidates, whose model is known.
func (c *Course) Resume(ctx context.Context, asked []int, m *neural.Fitted) (*State, error) {
	s := &State{Model: m, Asked: asked, Demos: slices.Clone(c.Task.Runs[0].Demos)}
	for _, i := range asked {
		answer, err := c.answer(ctx, i)
		if err != nil {
			return nil, err
		}
		s.Demos = append(s.Demos, *answer)
	}
	return s, nil
}

// answer asks about a candidate.
func (c *Course) answer(ctx context.Context, candidate int) (*demo.Trajectory, error) {
	if candidate < 0 || candidate >= len(c.Candidates) {
		return nil, fmt.Errorf("active: candidate %d, want 0 to %d", candidate, len(c.Candidates)-1)
	}
	return c.Ask(ctx, c.Candidates[candidate])
}

// Choose scores the candidates that were not asked about.
func (c *Course) Choose(ctx context.Context, s *State) (*Choice, error) {
	out := &Choice{}
	posterior, err := variational.NewPosterior(s.Model)
	if err != nil {
		return nil, err
	}
	q := Question{Posterior: posterior, Beta: c.Task.Beta, Discount: c.Task.Discount, Simulator: c.Simulator}
	for i, candidate := range c.Candidates {
		if !slices.Contains(s.Asked, i) {
			out.Left, q.Candidates = append(out.Left, i), append(q.Candidates, candidate)
		}
	}
	if len(out.Left) == 0 {
		return nil, fmt.Errorf("active: all %d candidates were asked about", len(c.Candidates))
	}
	random := active.Stream(c.Seed, c.Acquisition.Name(), len(s.Asked))
	if out.Scores, err = c.Acquisition.Score(ctx, &q, random); err != nil {
		return nil, err
	}
	out.Candidate = out.Left[active.Best(out.Scores)]
	return out, nil
}

// Learn asks about a candidate and trains on with the answer, which becomes the last of the state's demonstrations.
func (c *Course) Learn(ctx context.Context, s *State, candidate int) (*State, error) {
	answer, err := c.answer(ctx, candidate)
	if err != nil {
		return nil, err
	}
	next := &State{Asked: append(slices.Clone(s.Asked), candidate), Demos: append(slices.Clone(s.Demos), *answer)}
	task := c.Task
	run := c.Task.Runs[0]
	run.Demos, run.From, run.Seed = next.Demos, s.Model, run.Seed+uint64(len(next.Asked))*refitSeeds
	task.Runs = []neural.Run{run}
	if next.Model, err = fit(ctx, c.More, &task); err != nil {
		return nil, err
	}
	return next, nil
}

// fit returns the model of a task's one run.
func fit(ctx context.Context, l *neural.Learner, t *neural.Task) (*neural.Fitted, error) {
	models, err := l.Fit(ctx, t, nil)
	if err != nil {
		return nil, fmt.Errorf("active: %w", err)
	}
	return models[0].(*neural.Fitted), nil
}
