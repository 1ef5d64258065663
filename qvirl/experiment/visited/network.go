package visited

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// models trains QVIRL's network in all worlds at once. It sees states one-hot, so that by the prior their rewards are
// as good as independent, as in the tables. With branches it is also shown one step of each other action from each
// demonstrated state.
func (c Config) models(ctx context.Context, learner *neural.Learner, grids []*worlds.World, branches bool,
	progress irl.Progress) ([]neural.Model, error) {
	m := grids[0].Grid.MDP
	task := &neural.Task{Environment: c.Posteriors.World.Name(), Observation: m.States(), Actions: m.Actions(),
		Discount: c.Posteriors.Discount, Beta: c.Posteriors.Beta}
	for _, w := range grids {
		rng := worlds.Stream(w.Seed, Name)
		run := neural.Run{Seed: w.Seed}
		for _, steps := range w.Demos {
			run.Demos = append(run.Demos, trajectory(w.Grid.MDP, rng, steps))
		}
		if branches {
			for _, step := range w.Problem.Demos {
				for a := range m.Actions() {
					if a != step.Action {
						other := mdp.Trajectory{{State: step.State, Action: a}}
						run.Aux = append(run.Aux, trajectory(w.Grid.MDP, rng, other))
					}
				}
			}
		}
		task.Runs = append(task.Runs, run)
	}
	return learner.Fit(ctx, task, progress)
}

// network returns the gains of networks (see models).
func (c Config) network(ctx context.Context, learner *neural.Learner, grids []*worlds.World, branches bool,
	progress irl.Progress) (gains, error) {
	models, err := c.models(ctx, learner, grids, branches, progress)
	if err != nil {
		return nil, err
	}
	return func(i int, at []mdp.Step) ([]float64, error) {
		p, err := variational.NewPosterior(models[i].(*neural.Fitted))
		if err != nil {
			return nil, err
		}
		out, prior := make([]float64, len(at)), p.Prior()
		for k, step := range at {
			of, prob := transitions(grids[i].Grid.MDP, step)
			rewards, err := p.Rewards(of)
			if err != nil {
				return nil, err
			}
			out[k] = (floats.Dot(prob, rewards.Mean) - prior.Mean) / prior.Std
		}
		return out, nil
	}, nil
}

// trajectory returns steps as the network sees them. The last one, if it does not end the episode, leads to a state
// that is drawn.
func trajectory(m *mdp.MDP, rng *rand.Rand, steps mdp.Trajectory) demo.Trajectory {
	last := steps[len(steps)-1]
	t := demo.Trajectory{Seed: demo.NoSeed, Terminated: m.Ends(last.State, last.Action)}
	for _, step := range steps {
		t.Observations = append(t.Observations, oneHot(m, step.State)...)
		t.Actions = append(t.Actions, step.Action)
	}
	end := last.State
	if next, prob := m.Row(last.State, last.Action); !t.Terminated {
		end = int(next[mdp.Draw(rng, prob)])
	}
	t.Observations = append(t.Observations, oneHot(m, end)...)
	return t
}

// transitions returns a step to each of its successors, with their probabilities.
func transitions(m *mdp.MDP, step mdp.Step) (out variational.Transitions, prob []float64) {
	next, prob := m.Row(step.State, step.Action)
	for _, to := range next {
		out.Observations = append(out.Observations, oneHot(m, step.State)...)
		out.Next = append(out.Next, oneHot(m, int(to))...)
		out.Actions = append(out.Actions, step.Action)
	}
	return out, prob
}

// oneHot returns a state's observation: 1 at its number, and 0 elsewhere.
func oneHot(m *mdp.MDP, state int) []float32 {
	out := make([]float32, m.States())
	out[state] = 1
	return out
}
