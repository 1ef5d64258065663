package gym

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/go-birl/birl/envs/demo"
)

// Chooser chooses an action for each of the observations [k, …], of which the i-th belongs to the episode which[i].
type Chooser func(which []int, observations Array) (actions []int, err error)

// Continue lets episodes go on from snapshots, for at most so many steps each, and returns what followed, in the order
// of the snapshots. The pool has to be opened with autoreset Disabled; as many episodes as it has environments take
// place at a time, side by side. An episode is known to choose by the number of its snapshot.
//
// Episodes go on in copies of the worker processes, where the system has fork, so that the environments stay at the
// snapshots: to continue them again, nothing has to be restored, which by replay takes as many steps as an episode had.
func (p *Pool) Continue(ctx context.Context, snapshots []Snapshot, steps int, choose Chooser) ([]demo.Trajectory,
	error) {
	switch {
	case p.config.Autoreset != Disabled:
		return nil, fmt.Errorf("gym: going on from snapshots wants a pool with Config.Autoreset %q, this one has %q",
			Disabled, p.config.Autoreset)
	case steps < 1:
		return nil, fmt.Errorf("gym: going on from snapshots for %d steps, want at least 1", steps)
	}
	p.continuing.Lock()
	defer p.continuing.Unlock()
	out := make([]demo.Trajectory, len(snapshots))
	for first := 0; first < len(snapshots); first += p.Len() {
		r, err := p.bring(ctx, snapshots[first:min(first+p.Len(), len(snapshots))])
		if err != nil {
			return nil, err
		}
		for i := range r.which {
			r.which[i] += first
		}
		if err := p.inCopies(ctx, func() error { return p.follow(ctx, r, steps, choose, out) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// round is what goes on at the same time: the episode of number which[i] in environment envs[i], with the observation
// last[i] to act on.
type round struct {
	envs, which []int
	last        []Array
}

// bring sees to it that environments stand at the snapshots, of which there are not more, and restores those at which
// none stands yet.
func (p *Pool) bring(ctx context.Context, snapshots []Snapshot) (r round, err error) {
	p.mutex.Lock()
	standing := slices.Clone(p.standing)
	p.mutex.Unlock()
	r = round{envs: make([]int, len(snapshots)), which: firstEnvs(len(snapshots)), last: make([]Array, len(snapshots))}
	taken := make([]bool, len(standing))
	var missing, left []int // snapshots, and environments for them
	for k, s := range snapshots {
		env := 0
		for env < len(standing) && (taken[env] || standing[env].snapshot != string(s)) {
			env++
		}
		if env == len(standing) {
			missing = append(missing, k)
			continue
		}
		taken[env], r.envs[k], r.last[k] = true, env, standing[env].obs
	}
	for _, nowhere := range []bool{true, false} { // those that stand nowhere first
		for env, s := range standing {
			if !taken[env] && (s.snapshot == "") == nowhere {
				left = append(left, env)
			}
		}
	}
	var of []Snapshot
	for i, k := range missing {
		r.envs[k], of = left[i], append(of, snapshots[k])
	}
	if len(missing) > 0 {
		obs, err := p.RestoreEnvs(ctx, left[:len(missing)], of)
		if err != nil {
			return r, err
		}
		for i, k := range missing {
			r.last[k] = obs.Row(i)
		}
	}
	return r, nil
}

// follow takes at most so many steps in each of the episodes of a round, which become those of their numbers in out.
func (p *Pool) follow(ctx context.Context, r round, steps int, choose Chooser, out []demo.Trajectory) error {
	for i, k := range r.which {
		out[k] = demo.Trajectory{Observations: r.last[i].Float32(), Seed: demo.NoSeed}
	}
	for range steps {
		var next round
		for i, k := range r.which {
			if t := &out[k]; !t.Terminated && !t.Truncated {
				next.envs, next.which = append(next.envs, r.envs[i]), append(next.which, k)
				next.last = append(next.last, r.last[i])
			}
		}
		if r = next; len(r.which) == 0 {
			break
		}
		actions, err := p.chosen(r.envs, r.last, func(obs Array) ([]int, error) { return choose(r.which, obs) })
		if err != nil {
			return err
		}
		b, err := p.Step(ctx, actions)
		if err != nil {
			return err
		}
		for i, env := range r.envs {
			t := &out[r.which[i]]
			r.last[i] = b.Obs.Row(env)
			t.Actions, t.Rewards = append(t.Actions, actions[env]), append(t.Rewards, b.Rewards[env])
			t.Observations = append(t.Observations, r.last[i].Float32()...)
			t.Terminated, t.Truncated = b.Terminated[env], b.Truncated[env]
		}
	}
	return nil
}

// inCopies lets copies of the worker processes answer while do runs, and ends them: the environments stay where they
// are. A system without fork, Windows, runs it in the environments themselves.
func (p *Pool) inCopies(ctx context.Context, do func() error) error {
	if runtime.GOOS == "windows" {
		return do()
	}
	tell := func(ask byte, copies bool) error {
		return p.each(ctx, "a copy", ask, askCopy, firstEnvs(p.Len()), func(_, _ []int) any { return nil },
			func(*worker, []byte, []int) error {
				p.copies = copies
				return nil
			})
	}
	if err := tell(askCopy, true); err != nil {
		return err
	}
	if err := do(); err != nil {
		_ = tell(askEndCopy, false) // err is what the user has to know
		return err
	}
	return tell(askEndCopy, false)
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
