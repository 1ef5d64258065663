package gym

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/demo"
)

// Chooser chooses an action for each of the observations [k, …], of which the i-th belongs to the episode which[i].
type Chooser func(which []int, observations Array) (actions []int, err error)

// Continue lets episodes go on from snapshots, for at most so many steps each, and returns what followed, in the order
// of the snapshots. The pool has to be opened with autoreset Disabled; as many episodes as it has environments take
// place at a time, side by side. An episode is known to choose by the number of its snapshot.
func (p *Pool) Continue(ctx context.Context, snapshots []Snapshot, steps int, choose Chooser) ([]demo.Trajectory,
	error) {
	switch {
	case p.config.Autoreset != Disabled:
		return nil, fmt.Errorf("gym: going on from snapshots wants a pool with Config.Autoreset %q, this one has %q",
			Disabled, p.config.Autoreset)
	case steps < 1:
		return nil, fmt.Errorf("gym: going on from snapshots for %d steps, want at least 1", steps)
	}
	out := make([]demo.Trajectory, len(snapshots))
	for first := 0; first < len(snapshots); first += p.Len() {
		end := min(first+p.Len(), len(snapshots))
		envs := firstEnvs(end - first)
		obs, err := p.RestoreEnvs(ctx, envs, snapshots[first:end])
		if err != nil {
			return nil, err
		}
		last := make([]Array, len(envs)) // observations to act on
		for i := range last {
			last[i] = obs.Row(i)
			out[first+i] = demo.Trajectory{Observations: last[i].Float32(), Seed: demo.NoSeed}
		}
		for range steps {
			which, err := p.goOn(ctx, out[first:end], last, first, choose)
			if err != nil {
				return nil, err
			}
			if len(which) == 0 {
				break
			}
		}
	}
	return out, nil
}

// goOn takes a step in each of the episodes that have not ended, of which the first has the number first, and returns
// their numbers.
func (p *Pool) goOn(ctx context.Context, episodes []demo.Trajectory, last []Array, first int, choose Chooser) (
	which []int, err error) {
	obs := Array{DType: p.spec.DType}
	for i := range episodes {
		if t := &episodes[i]; !t.Terminated && !t.Truncated {
			which = append(which, first+i)
			obs.Bytes = append(obs.Bytes, last[i].Bytes...)
		}
	}
	if len(which) == 0 {
		return nil, nil
	}
	obs.Shape = append([]int{len(which)}, p.spec.Shape...)
	chosen, err := choose(which, obs)
	if err = p.checkChosen(chosen, len(which), err); err != nil {
		return nil, err
	}
	actions := slices.Repeat([]int{Leave}, p.Len())
	for k, i := range which {
		actions[i-first] = chosen[k]
	}
	b, err := p.Step(ctx, actions)
	if err != nil {
		return nil, err
	}
	for k, i := range which {
		env := i - first
		t := &episodes[env]
		last[env] = b.Obs.Row(env)
		t.Actions, t.Rewards = append(t.Actions, chosen[k]), append(t.Rewards, b.Rewards[env])
		t.Observations = append(t.Observations, last[env].Float32()...)
		t.Terminated, t.Truncated = b.Terminated[env], b.Truncated[env]
	}
	return which, nil
}

// checkChosen passes a policy's error on, and refuses actions that are not n of the environment's.
func (p *Pool) checkChosen(chosen []int, n int, err error) error {
	if err != nil {
		return fmt.Errorf("gym: the policy: %w", err)
	}
	if len(chosen) != n {
		return fmt.Errorf("gym: the policy chose %d actions for %d observations", len(chosen), n)
	}
	for k, a := range chosen {
		if a < 0 || a >= p.spec.Actions {
			return fmt.Errorf("gym: the policy chose the action %d at index %d, want 0 to %d", a, k, p.spec.Actions-1)
		}
	}
	return nil
}
