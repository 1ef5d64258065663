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

// BranchOptions say how branches of episodes are taken.
type BranchOptions struct {
	// Seed of the environment's random numbers in the branches.
	Seed uint64
	// Progress is told how many trajectories are done, if it is not nil.
	Progress func(done int)
}

// replayTolerance is how far an observation of a replayed episode may be from what the trajectory has there, in
// relation to 1 plus its magnitude: above what processors and libraries differ by, below the noise of environments.
const replayTolerance = 1e-4

// SampleSuccessors draws m − 1 further successors of each transition of trajectories (Run.Successors) in environment
// 0 of a pool, opened with autoreset Disabled. It replays each episode from its seed, and at every step lets copies of
// the environment take the action with random generators of their own (gym.Pool.Branch). It refuses trajectories
// without a seed, and those that the environment does not repeat.
func SampleSuccessors(ctx context.Context, p *gym.Pool, of []demo.Trajectory, m int, o BranchOptions) ([]Successors,
	error) {
	if m < 2 {
		return nil, fmt.Errorf("neural: %d successors of each transition, want at least 2, of which one is known", m)
	}
	out := make([]Successors, len(of))
	seeds := make([]int64, m-1)
	err := replay(ctx, p, of, o.Seed, o.Progress, func(i, k int, random *rand.Rand) error {
		for d := range seeds {
			seeds[d] = random.Int64()
		}
		drawn, err := p.Branch(ctx, 0, of[i].Actions[k], seeds)
		if err != nil {
			return err
		}
		out[i].Observations = append(out[i].Observations, drawn.Obs.Float32()...)
		out[i].Terminated = append(out[i].Terminated, drawn.Terminated...)
		return nil
	})
	return out, err
}

// SampleBranches returns what the demonstrator did not choose: a trajectory of one step for each state of the given
// trajectories in which an action was taken and each of the other actions there, in the order of the states and then of
// the actions. They serve as auxiliary transitions (see Run.Aux), and hold frames where the given trajectories do. It
// replays the episodes as SampleSuccessors does, and refuses the same.
func SampleBranches(ctx context.Context, p *gym.Pool, of []demo.Trajectory, o BranchOptions) ([]demo.Trajectory,
	error) {
	var out []demo.Trajectory
	err := replay(ctx, p, of, o.Seed, o.Progress, func(i, k int, random *rand.Rand) error {
		for a := range p.Spec().Actions {
			if a == of[i].Actions[k] {
				continue
			}
			b, err := p.Branch(ctx, 0, a, []int64{random.Int64()})
			if err != nil {
				return err
			}
			out = append(out, demo.Trajectory{
				Observations: slices.Concat(of[i].Observation(k), b.Obs.Float32()), Actions: []int{a},
				Rewards:    b.Rewards,
				Terminated: b.Terminated[0], Truncated: b.Truncated[0], Seed: demo.NoSeed,
			})
		}
		return nil
	})
	if len(out) > 0 && of[0].Frames != nil {
		demo.Film(out, p.Spec().Shape)
	}
	return out, err
}

// Snapshots returns snapshots of a trajectory's episode before each of the given steps, in their order. It replays the
// episode as SampleSuccessors does, and refuses the same.
func Snapshots(ctx context.Context, p *gym.Pool, t *demo.Trajectory, steps []int) ([]gym.Snapshot, error) {
	for _, k := range steps {
		if k < 0 || k >= t.Len() {
			return nil, fmt.Errorf("neural: a snapshot before step %d of a trajectory of %d steps", k, t.Len())
		}
	}
	out := make([]gym.Snapshot, len(steps))
	err := replay(ctx, p, []demo.Trajectory{*t}, 0, nil, func(_, k int, _ *rand.Rand) error {
		if !slices.Contains(steps, k) {
			return nil
		}
		snapshot, err := p.Snapshot(ctx, 0)
		for i := range steps {
			if steps[i] == k {
				out[i] = snapshot
			}
		}
		return err
	})
	return out, err
}

// replay replays trajectories in environment 0 of a pool from their seeds, and visits them before each step k of
// trajectory i, with a generator of the trajectory's own.
func replay(ctx context.Context, p *gym.Pool, of []demo.Trajectory, seed uint64, progress func(done int),
	visit func(i, k int, random *rand.Rand) error) error {
	for i := range of {
		if of[i].Seed == demo.NoSeed {
			return fmt.Errorf("neural: trajectory %d: its environment's seed is not known, without which it cannot be "+
				"replayed; the flat layout and CSV files hold it as seed", i)
		}
	}
	for i := range of {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		if err := replayOne(ctx, p, &of[i], func(k int) error { return visit(i, k, random) }); err != nil {
			return fmt.Errorf("neural: trajectory %d (seed %d): %w", i, of[i].Seed, err)
		}
		if progress != nil {
			progress(i + 1)
		}
	}
	return nil
}

// replayOne replays a trajectory, and visits it before each step k.
func replayOne(ctx context.Context, p *gym.Pool, t *demo.Trajectory, visit func(k int) error) error {
	obs, err := p.ResetEnvs(ctx, []int{0}, []int64{t.Seed})
	if err != nil {
		return err
	}
	if err := compare(t, 0, obs.Row(0)); err != nil {
		return err
	}
	actions := slices.Repeat([]int{gym.Leave}, p.Len())
	for k, a := range t.Actions {
		if err := visit(k); err != nil {
			return err
		}
		actions[0] = a
		b, err := p.Step(ctx, actions)
		if err != nil {
			return err
		}
		if err := compare(t, k+1, b.Obs.Row(0)); err != nil {
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
func compare(t *demo.Trajectory, k int, obs gym.Array) error {
	want, got := t.Observation(k), obs.Float32()
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
