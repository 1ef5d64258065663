package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/neural"
)

// task reads the demonstrations and makes the task, which has one run.
func (o *trainOptions) task(ctx context.Context) (*neural.Task, *usedEpisodes, error) {
	set, err := demo.Open(o.demos)
	if err != nil {
		return nil, nil, err
	}
	o.ignored, o.remarks = set.Ignored, set.Remarks()
	if o.actions != 0 && o.actions < set.Actions {
		return nil, nil, fmt.Errorf("--actions %d: %s has the action %d", o.actions, o.demos, set.Actions-1)
	}
	if max(o.actions, set.Actions) < 2 {
		return nil, nil, fmt.Errorf("%s has no action but 0: --actions says how many there are to choose from", o.demos)
	}
	if len(o.betas) == 0 && set.Beta != nil {
		o.betas = []float64{*set.Beta}
	}
	if len(o.betas) == 0 {
		return nil, nil, fmt.Errorf("--beta is missing, and %s does not say how rational its demonstrator was; of "+
			"several, such as --beta 1,5,20, train chooses", o.demos)
	}
	first, end, err := parseEpisodes("episodes", o.episodes, len(set.Trajectories))
	if err != nil {
		return nil, nil, err
	}
	available := end - first
	n := cmp.Or(o.trajectories, available)
	if n < 0 || n > available {
		return nil, nil, fmt.Errorf("--trajectories %d: %s has %d to choose from", n, o.demos, available)
	}
	if own := uint64(available / n); n < available && o.seed >= own {
		o.remarks = append(o.remarks, fmt.Sprintf("--seed %d wraps around at the end of the %d episodes to choose "+
			"from: smaller seeds learn from these too; those up to %d have %d each of their own", o.seed, available,
			own-1, n))
	}
	used, err := newUsedEpisodes(o.demos)
	if err != nil {
		return nil, nil, err
	}
	var chosen []demo.Trajectory
	for i := range n {
		at := first + int((o.seed%uint64(available)*uint64(n)+uint64(i))%uint64(available))
		chosen = append(chosen, set.Trajectories[at])
		used.add(at, &set.Trajectories[at])
	}
	if o.heldOut != "" {
		from, to, err := parseEpisodes("held-out", o.heldOut, len(set.Trajectories))
		if err != nil {
			return nil, nil, err
		}
		if both := used.among(from, to); len(both) > 0 {
			return nil, nil, fmt.Errorf("--held-out %s: episode %d is among those to learn from; choose others, or "+
				"fewer of those by --trajectories", o.heldOut, both[0])
		}
		chosen = append(chosen, set.Trajectories[from:to]...)
	}
	if set, err = observe(ctx, o.demos, set, chosen, o.python); err != nil {
		return nil, nil, err
	}
	t := &neural.Task{
		Environment: cmp.Or(set.Environment, o.env), Observation: set.ObservationSize(), Image: neural.ImageOf(set),
		Actions:  max(set.Actions, o.actions),
		Discount: o.discount, Beta: o.betas[0], Checkpoint: filepath.Join(o.out, neural.CheckpointDir),
		HeldOut: set.Trajectories[n:],
	}
	run := neural.Run{Seed: o.seed, Demos: set.Trajectories[:n:n]}
	if o.aux != "" {
		if o.auxiliary, err = readAux(ctx, o.aux, t, o.python); err != nil {
			return nil, nil, err
		}
		run.Aux = o.auxiliary.Trajectories
	}
	t.Runs = []neural.Run{run}
	return t, used, nil
}

// observe returns some trajectories of a file's set with their observations.
func observe(ctx context.Context, path string, set *demo.Set, some []demo.Trajectory, r gym.ReplayOptions) (*demo.Set,
	error) {
	out, err := gym.Observe(ctx, set, some, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// The rounds of rollouts of --env.
const (
	exploreEpisodes = 4
	exploreKeep     = 40
	exploreSeed     = 500_000 // far from those of "qvirl rollout"
)

// checkEnvironment refuses an environment of other shapes than the demonstrations. To draw successors alone, it may
// have actions that these do not know.
func (o *trainOptions) checkEnvironment(env gym.Spec, t *neural.Task) error {
	if env.Size() != t.Observation {
		return fmt.Errorf("--env %s has observations of %d numbers, %s of %d", o.env, env.Size(), o.demos,
			t.Observation)
	}
	if o.successors > 1 && t.Image != (neural.Image{}) {
		return fmt.Errorf("--successors %d: %s holds images, whose successors are not drawn; leave it out",
			o.successors, o.demos)
	}
	switch more := env.Actions - t.Actions; {
	case more < 0:
		return fmt.Errorf("--env %s has %d actions, %s has %d", o.env, env.Actions, o.demos, t.Actions)
	case more > 0 && (o.explore || o.branches):
		return fmt.Errorf("--env %s has %d actions, %s has %d; if the others never occur there, say --actions %d",
			o.env, env.Actions, o.demos, t.Actions, env.Actions)
	}
	return nil
}

// simulate has the task make use of the environment: the apprentice explores it, and it draws successors.
func (o *trainOptions) simulate(ctx context.Context, pool *gym.Pool, t *neural.Task,
	listener func(progress.Event)) (err error) {
	if o.branches {
		run, meter := &t.Runs[0], progress.NewMeter(listener, "branches")
		run.Aux, err = neural.SampleBranches(ctx, pool, run.Demos, neural.BranchOptions{Seed: o.seed,
			Progress: func(done int) { meter.Report(done, len(run.Demos), "taken in "+o.env) }})
		if err != nil {
			return fmt.Errorf("--branches: %w", err)
		}
		return nil
	}
	if o.explore {
		t.Explore = neural.NewExplore(pool, neural.ExploreOptions{
			Every: o.exploreEvery, Keep: exploreKeep, Episodes: exploreEpisodes, Successors: o.successors,
			Seed: exploreSeed + int64(o.seed%1000)*exploreEpisodes*1000,
		})
		t.Explore.Source += fmt.Sprintf(" %q", o.made()) // with others it is another environment
	}
	if o.successors == 1 {
		return nil
	}
	run, meter := &t.Runs[0], progress.NewMeter(listener, "successors")
	run.Successors, err = neural.SampleSuccessors(ctx, pool, run.Demos, o.successors, neural.BranchOptions{
		Seed: o.seed, Progress: func(done int) { meter.Report(done, len(run.Demos), "drawn in "+o.env) }})
	if err != nil {
		return fmt.Errorf("--successors: %w", err)
	}
	return nil
}

// readAux reads auxiliary trajectories for a task.
func readAux(ctx context.Context, path string, t *neural.Task, r gym.ReplayOptions) (*demo.Set, error) {
	set, err := gym.OpenDemos(ctx, path, r)
	if err != nil {
		return nil, err
	}
	if set.ObservationSize() != t.Observation || set.Actions > t.Actions {
		return nil, fmt.Errorf("--aux: %s has observations of %d numbers and %d actions, the demonstrations have %d "+
			"and %d", path, set.ObservationSize(), set.Actions, t.Observation, t.Actions)
	}
	return set, nil
}

// parseEpisodes reads "A:B", with 0 ≤ A < B ≤ n; either may be left out, and all of it too.
func parseEpisodes(flag, text string, n int) (first, end int, err error) {
	end = n
	if text == "" {
		return first, end, nil
	}
	a, b, ok := strings.Cut(text, ":")
	if a != "" && ok {
		first, err = strconv.Atoi(a)
	}
	if b != "" && err == nil {
		end, err = strconv.Atoi(b)
	}
	if err != nil || !ok || first < 0 {
		return 0, 0, fmt.Errorf("--%s %s: want A:B for the episodes A, …, B−1, counted from 0", flag, text)
	}
	if first >= end || end > n {
		return 0, 0, fmt.Errorf("--%s %s: the file has %s, want 0 ≤ A < B ≤ %d", flag, text,
			progress.Count(n, "episode", "episodes"), n)
	}
	return first, end, nil
}
