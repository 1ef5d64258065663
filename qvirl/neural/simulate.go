package neural

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// SuccessorOptions say how successors are drawn.
type SuccessorOptions struct {
	// Successors is the number m of each transition, of which one is known and m − 1 are drawn.
	Successors int
	// Seed of the draws.
	Seed uint64
	// Progress is told how many trajectories are done, if it is not nil.
	Progress func(done int)
}

// replayTolerance is how far an observation of a replayed episode may be from what the trajectory has there, in
// relation to 1 plus its magnitude: above what processors and libraries differ by, below the noise of environments.
const replayTolerance = 1e-4

// SampleSuccessors draws further successors of the transitions of trajectories (see Run.Successors) in environment 0 of
// a pool, opened with autoreset Disabled. It replays each episode from its seed, and at every step lets copies of the
// environment take the action with random generators of their own (gym.Pool.Branch). It refuses trajectories without a
// seed, and those that the environment does not repeat.
func SampleSuccessors(ctx context.Context, p *gym.Pool, of []demo.Trajectory, o SuccessorOptions) ([]Successors,
	error) {
	if o.Successors < 2 {
		return nil, fmt.Errorf("neural: %d successors of each transition, want at least 2, of which one is known",
			o.Successors)
	}
	for i := range of {
		if of[i].Seed == demo.NoSeed {
			return nil, fmt.Errorf("neural: trajectory %d: its environment's seed is not known, without which it "+
				"cannot be replayed to draw successors", i)
		}
	}
	out := make([]Successors, len(of))
	for i := range of {
		s := simulator{pool: p, trajectory: &of[i], seeds: rand.New(rand.NewPCG(o.Seed, uint64(i))),
			draws: o.Successors - 1}
		if err := s.run(ctx, &out[i]); err != nil {
			return nil, fmt.Errorf("neural: trajectory %d (seed %d): %w", i, of[i].Seed, err)
		}
		if o.Progress != nil {
			o.Progress(i + 1)
		}
	}
	return out, nil
}

// simulator draws successors along a trajectory.
type simulator struct {
	pool       *gym.Pool
	trajectory *demo.Trajectory
	seeds      *rand.Rand
	draws      int // for each transition
}

func (s *simulator) run(ctx context.Context, out *Successors) error {
	t := s.trajectory
	obs, err := s.pool.ResetEnvs(ctx, []int{0}, []int64{t.Seed})
	if err != nil {
		return err
	}
	if err := s.compare(0, obs.Row(0)); err != nil {
		return err
	}
	actions := slices.Repeat([]int{gym.Leave}, s.pool.Len())
	seeds := make([]int64, s.draws)
	for k, a := range t.Actions {
		for i := range seeds {
			seeds[i] = s.seeds.Int64()
		}
		drawn, err := s.pool.Branch(ctx, 0, a, seeds)
		if err != nil {
			return err
		}
		out.Observations = append(out.Observations, drawn.Obs.Float32()...)
		out.Terminated = append(out.Terminated, drawn.Terminated...)
		actions[0] = a
		b, err := s.pool.Step(ctx, actions)
		if err != nil {
			return err
		}
		if err := s.compare(k+1, b.Obs.Row(0)); err != nil {
			return err
		}
		if b.Done(0) && k+1 < t.Len() {
			return fmt.Errorf("replayed, the episode ends after %d of %d steps: %s", k+1, t.Len(), otherEnvironment)
		}
	}
	return nil
}

const otherEnvironment = "the environment is not the one of the trajectory, or has other options or another version"

// compare refuses an observation that is not the trajectory's observation k.
func (s *simulator) compare(k int, obs gym.Array) error {
	want, got := s.trajectory.Observation(k), obs.Float32()
	if len(got) != len(want) {
		return fmt.Errorf("the environment's observations have %d numbers, the trajectory's %d", len(got), len(want))
	}
	for f := range got {
		if !(math.Abs(float64(got[f]-want[f])) <= replayTolerance*(1+math.Abs(float64(want[f])))) {
			return fmt.Errorf("replayed, observation[%d][%d] is %g, and %g in the trajectory: %s", k, f, got[f],
				want[f], otherEnvironment)
		}
	}
	return nil
}
