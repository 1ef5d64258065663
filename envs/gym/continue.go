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
	var envs []int
	var observations []Array
	for i := range episodes {
		if t := &episodes[i]; !t.Terminated && !t.Truncated {
			envs, which, observations = append(envs, i), append(which, first+i), append(observations, last[i])
		}
	}
	if len(which) == 0 {
		return nil, nil
	}
	actions, err := p.chosen(envs, observations, func(obs Array) ([]int, error) { return choose(which, obs) })
	if err != nil {
		return nil, err
	}
	b, err := p.Step(ctx, actions)
	if err != nil {
		return nil, err
	}
	for _, env := range envs {
		t := &episodes[env]
		last[env] = b.Obs.Row(env)
		t.Actions, t.Rewards = append(t.Actions, actions[env]), append(t.Rewards, b.Rewards[env])
		t.Observations = append(t.Observations, last[env].Float32()...)
		t.Terminated, t.Truncated = b.Terminated[env], b.Truncated[env]
	}
	return which, nil
}

// chosen returns an action for every environment: what a policy chooses in those given, by their observations, and
// Leave in the others. Actions that the environment has not are refused.
func (p *Pool) chosen(envs []int, observations []Array, policy func(Array) ([]int, error)) ([]int, error) {
	obs := Array{DType: p.spec.DType, Shape: append([]int{len(envs)}, p.spec.Shape...)}
	for _, o := range observations {
		obs.Bytes = append(obs.Bytes, o.Bytes...)
	}
	chosen, err := policy(obs)
	if err != nil {
		return nil, fmt.Errorf("gym: the policy: %w", err)
	}
	if len(chosen) != len(envs) {
		return nil, fmt.Errorf("gym: the policy chose %d actions for %d observations", len(chosen), len(envs))
	}
	actions := slices.Repeat([]int{Leave}, p.Len())
	for k, a := range chosen {
		if a < 0 || a >= p.spec.Actions {
			return nil, fmt.Errorf("gym: the policy chose the action %d at index %d, want 0 to %d", a, k,
				p.spec.Actions-1)
		}
		actions[envs[k]] = a
	}
	return actions, nil
}
