package expert

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// Moment is a state of one of the episodes that Demonstrate collects.
type Moment struct {
	Snapshot gym.Snapshot
	Episode  int64 // the seed of its environment
	Step     int   // actions taken before
}

// GoOn returns what the expert's Boltzmann policy does from a moment on, for at most so many steps. The policy's random
// numbers are those that Demonstrate has there, one a step, with the same rationality and seed: the answer is bit for
// bit what the episode holds, where the environment is exact (see package gym).
func (e *Expert) GoOn(ctx context.Context, pool *gym.Pool, m Moment, o DemonstrateOptions, steps int) (*demo.Trajectory,
	error) {
	if m.Episode < 0 || m.Step < 0 {
		return nil, fmt.Errorf("expert: step %d of the episode of seed %d, want none below 0", m.Step, m.Episode)
	}
	random := rand.New(rand.NewPCG(o.Seed, uint64(m.Episode)))
	for range m.Step {
		random.Float64() // see draw
	}
	policy := e.Boltzmann(o.Beta)
	out, err := pool.Continue(ctx, []gym.Snapshot{m.Snapshot}, steps, func(_ []int, observations gym.Array) ([]int,
		error) {
		return policy(observations, []*rand.Rand{random})
	})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}
