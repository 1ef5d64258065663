package activelearning

import (
	"context"
	"slices"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
)

// Snapshot is what one run looks like after a number of queries.
type Snapshot struct {
	Queries   int
	Demos     []mdp.Trajectory // all so far
	Mean, Std []float64        // of the posterior of each reward, [S]
	Return    float64          // ReturnTrue, of this course alone
	Scores    []active.Score   // of the states, [S]; nil after the last query
	Query     int              // the state that is asked for next; −1 after the last query
	Answer    mdp.Trajectory
}

// Course takes a method through all queries in the world of one seed, in its first course, with a snapshot of each
// number of queries. backendName is what QVIRL computes on, as backend.Get takes it.
func (c Config) Course(ctx context.Context, method, backendName string, seed uint64,
	progress irl.Progress) (*worlds.World, []Snapshot, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	w, err := c.NewWorld(seed)
	if err != nil {
		return nil, nil, err
	}
	scale, err := w.Scale(w.Return)
	if err != nil {
		return nil, nil, err
	}
	fit, err := c.Fitter(method, backendName)
	if err != nil {
		return nil, nil, err
	}
	var out []Snapshot
	demos := w.Demos
	err = c.Follow(ctx, method, fit, []*worlds.World{w}, func(k int, steps []active.Step) error {
		step := steps[0]
		found, err := evaluate(w, scale, step)
		if err != nil {
			return err
		}
		s := Snapshot{Queries: k, Demos: slices.Clone(demos), Return: found[ReturnTrue], Scores: step.Scores,
			Query: step.Query, Answer: step.Answer}
		s.Mean, s.Std = irl.Moments(len(w.Grid.Reward), step.Posterior.Reward)
		if step.Answer != nil {
			demos = append(demos, step.Answer)
		}
		out = append(out, s)
		return nil
	}, progress)
	return w, out, err
}
