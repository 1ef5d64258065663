package continuous

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// RolloutOptions say how a model acts.
type RolloutOptions struct {
	Episodes int
	// Seed of the first episode's environment; those that follow have the next ones.
	Seed int64
	// Sample lets the apprentice draw its actions from the demonstrator's probabilities, as the model sees them; otherwise it
	// takes the best one.
	Sample bool
	// Progress is told how many episodes have ended, if it is not nil.
	Progress func(done int)
}

// Rollout lets the apprentice act in a pool of environments, opened with autoreset Disabled, and returns the episodes in the
// order of their seeds. The same seeds give every model the same episodes to begin with, in a pool of any size.
func Rollout(ctx context.Context, p *gym.Pool, m Model, o RolloutOptions) ([]demo.Trajectory, error) {
	spec, env := m.Spec(), p.Spec()
	if env.Size() != spec.Observation || env.Actions != spec.Actions {
		return nil, fmt.Errorf("continuous: %s has observations of %d numbers and %d actions, the model was learnt for %d and %d",
			env.ID, env.Size(), env.Actions, spec.Observation, spec.Actions)
	}
	return gym.Collect(ctx, p, Policy(m, o.Sample), gym.CollectOptions{
		Episodes: o.Episodes, FirstSeed: o.Seed, PolicySeed: uint64(o.Seed), Progress: o.Progress,
	})
}

// Policy returns the apprentice's policy: the action of the greatest value or, with sample, one drawn from the demonstrator's
// probabilities as the model sees them.
func Policy(m Model, sample bool) gym.Policy {
	return func(observations gym.Array, random []*rand.Rand) ([]int, error) {
		p, err := m.Predict(observations.Float32())
		if err != nil {
			return nil, err
		}
		count := m.Spec().Actions
		actions := make([]int, len(random))
		for i := range actions {
			if sample {
				actions[i] = draw(p.LogProbs[i*count:(i+1)*count], random[i])
				continue
			}
			row := p.Values[i*count : (i+1)*count]
			for a := range row {
				if row[a] > row[actions[i]] {
					actions[i] = a
				}
			}
		}
		return actions, nil
	}
}

// draw returns an index drawn with the given log-probabilities.
func draw(logProbs []float32, random *rand.Rand) int {
	u := random.Float64()
	for a, logProb := range logProbs {
		if u -= math.Exp(float64(logProb)); u < 0 {
			return a
		}
	}
	return len(logProbs) - 1
}
