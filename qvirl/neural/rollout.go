package neural

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/mdp"
)

// RolloutOptions say how a model acts.
type RolloutOptions struct {
	Episodes int
	// Seed of the first episode's environment; those that follow have the next ones.
	Seed int64
	// Sample lets the apprentice draw its actions from the demonstrator's probabilities, as the model sees them;
	// otherwise it takes the best one.
	Sample bool
	// MaxSteps ends an episode after so many steps, if it is not 0.
	MaxSteps int
	// Progress is told how many episodes have ended, if it is not nil.
	Progress func(done int)
	// MaxRestarts and Restarted are those of gym.CollectOptions.
	MaxRestarts int
	Restarted   func(cause error)
}

// Rollout lets the apprentice act in a pool of environments, opened with autoreset Disabled, and returns the episodes
// in the order of their seeds. The same seeds give every model the same episodes to begin with, in a pool of any size.
// With an error comes what was done until then, as gym.Collect has it.
func Rollout(ctx context.Context, p *gym.Pool, m Model, o RolloutOptions) ([]demo.Trajectory, error) {
	if err := check.First(checkModel(m), gym.CheckPool(ctx, p)); err != nil {
		return nil, err
	}
	spec, env := m.Spec(), p.Spec()
	if env.Size() != spec.Observation || env.Actions != spec.Actions {
		return nil, fmt.Errorf("neural: %s has observations of %d numbers and %d actions, the model was learnt for "+
			"%d and %d", env.ID, env.Size(), env.Actions, spec.Observation, spec.Actions)
	}
	out, err := gym.Collect(ctx, p, Policy(m, o.Sample), gym.CollectOptions{
		Episodes: o.Episodes, FirstSeed: o.Seed, PolicySeed: uint64(o.Seed), MaxSteps: o.MaxSteps, Progress: o.Progress,
		MaxRestarts: o.MaxRestarts, Restarted: o.Restarted,
	})
	if spec.Image != (Image{}) && len(out) > 0 && out[0].Frames == nil { // of an environment that stacks them itself
		demo.Film(out, env.Shape)
	}
	return out, err
}

// checkModel refuses a model that is nil.
func checkModel(m Model) error {
	return check.NotNil("neural: the model", m, "that of a training, or of a folder, without an error")
}

// Policy returns the apprentice's policy: the action of the greatest value or, with sample, one drawn from the
// demonstrator's probabilities as the model sees them. Those are the model's own: its calibration says how little it
// knows of what the demonstrator does where nothing was shown, which is no reason to act at random there.
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
				actions[i] = draw(p.Own[i*count:(i+1)*count], random[i])
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
	probs := make([]float64, len(logProbs))
	for a, logProb := range logProbs {
		probs[a] = math.Exp(float64(logProb))
	}
	return mdp.Draw(random, probs)
}

// ExploreOptions say how apprentices explore an environment.
type ExploreOptions struct {
	Every, Keep int // of the Explore
	// Episodes of a run in a round, each of at most MaxSteps steps if that is not 0.
	Episodes, MaxSteps int
	// Seed of the environments.
	Seed int64
	// Successors is the number m of successors of each transition (see Run.Successors); 0 or 1 for that which it led
	// to.
	Successors int `json:",omitempty"`
}

// exploreRestarts is how often new workers take the place of ones that died, in a round.
const exploreRestarts = 3

// runSeeds keeps the seeds of the environments of a task's runs apart.
const runSeeds = 1_000_000

// NewExplore lets apprentices explore in a pool of environments, opened with autoreset Disabled, which must stay open
// while they learn. They draw their actions from the demonstrator's probabilities as they see them, which leads to more
// places than the best action does. Runs take turns.
func NewExplore(pool *gym.Pool, o ExploreOptions) *Explore {
	var turn sync.Mutex
	seed := func(run, round int) int64 { return o.Seed + int64(run)*runSeeds + int64(round*o.Episodes) }
	e := &Explore{Every: o.Every, Keep: o.Keep, Source: fmt.Sprintf("%s %+v", pool.Spec().ID, o),
		Rollout: func(ctx context.Context, run, round int, m Model) ([]demo.Trajectory, error) {
			turn.Lock()
			defer turn.Unlock()
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return Rollout(ctx, pool, m, RolloutOptions{Episodes: o.Episodes, MaxSteps: o.MaxSteps, Sample: true,
				Seed: seed(run, round), MaxRestarts: exploreRestarts})
		}}
	if o.Successors > 1 {
		e.Successors = func(ctx context.Context, run, round int, of []demo.Trajectory) ([]Successors, error) {
			turn.Lock()
			defer turn.Unlock()
			return SampleSuccessors(ctx, pool, of, o.Successors, BranchOptions{Seed: uint64(seed(run, round))})
		}
	}
	return e
}
