package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
)

// collectOptions are the flags of collect.
type collectOptions struct {
	out           string
	episodes      int
	maxSteps      int
	seed          int64
	imports       []string
	options       []string
	pythonPath    []string
	python        string
	atari, replay bool
	workers, envs int
	force         bool
	stepTimeout   time.Duration
	maxRestarts   int
}

func newCollect() *cobra.Command {
	var o collectOptions
	c := &cobra.Command{
		Use:   "collect ENVIRONMENT --out FILE.npz",
		Short: "Collect episodes by a random policy, store them, and read them back",
		Long: `collect makes an environment by its Gymnasium id, lets a uniformly random policy act in it, stores the
episodes in FILE.npz with a description in FILE.json, and reads the file back. Episode k is reset with the
seed --seed + k. After an interruption or a fault, what was collected until then is still stored, including
the episodes that were cut off, and FILE.json says how many these are and why. Where that would replace a
file, it goes to FILE.partial.npz, or FILE.partial-2.npz and so on.

With --replay, seeds and actions are stored in place of observations, with these observations' SHA-256. It is for
environments in which an episode follows from its seed and actions.`,
		Example: `  demos collect CartPole-v1 --episodes 20 --out cartpole.npz
  demos collect highway-fast-v0 --option 'config={"vehicles_count": 10}' --workers 2 --out highway.npz
  demos collect ALE/Pong-v5 --replay --episodes 1 --out pong.npz
  demos collect Moonbase-v0 --import moonbase --python-path ~/moonbase --out moonbase.npz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return collect(cmd, args[0], &o) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "file for the episodes, ending in .npz (required)")
	f.IntVar(&o.episodes, "episodes", 20, "number of episodes")
	f.IntVar(&o.maxSteps, "max-steps", 0, "end an episode after so many steps, and store it as neither terminated "+
		"nor truncated (default: where the environment ends it)")
	f.Int64Var(&o.seed, "seed", 1, "seed of the first episode, and of the policy")
	f.StringSliceVar(&o.imports, "import", nil, "Python modules that register the environment")
	f.StringArrayVar(&o.options, "option", nil, "an option NAME=VALUE of the environment's constructor, the value in "+
		"JSON")
	command.AddPython(c, &o.python, &o.pythonPath)
	f.BoolVar(&o.atari, "atari", true, gym.AtariHelp)
	f.BoolVar(&o.replay, "replay", false, "store seeds and actions, from which a replay regenerates the observations")
	f.IntVar(&o.workers, "workers", 1, "number of processes")
	f.IntVar(&o.envs, "envs", 4, "environments in each process")
	f.DurationVar(&o.stepTimeout, "step-timeout", time.Minute, gym.StepLimitHelp)
	f.IntVar(&o.maxRestarts, "max-restarts", 3, "how often the processes are started again after one died or exceeded "+
		"--step-timeout")
	f.BoolVar(&o.force, "force", false, command.ForceHelp)
	c.MarkFlagRequired("out")
	return c
}

// config returns the pool's config that the flags ask for.
func (o *collectOptions) config(id string) (gym.Config, error) {
	c := gym.ByID(id, o.atari)
	c.Imports = append(c.Imports, o.imports...)
	c.Workers, c.EnvsPerWorker = o.workers, o.envs
	c.Python, c.PythonPath, c.Autoreset = o.python, o.pythonPath, gym.Disabled
	err := check.First(check.AtLeast(1, "--episodes --workers --envs", o.episodes, o.workers, o.envs),
		check.AtLeast(0, "--seed --max-steps --max-restarts", int(o.seed), o.maxSteps, o.maxRestarts),
		c.LimitTime(o.stepTimeout), c.SetOptions(o.options))
	return c, err
}

func collect(cmd *cobra.Command, id string, o *collectOptions) error {
	c, err := o.config(id)
	if err != nil {
		return err
	}
	release, err := command.ClaimFile(o.out, o.force, demo.Files(o.out))
	if err != nil {
		return err
	}
	defer release()
	pool, err := gym.Open(cmd.Context(), c)
	if err != nil {
		return err
	}
	defer pool.Close()
	set := &demo.Set{Description: pool.Describe()}
	set.Expert, set.Seed = "uniformly random policy", uint64(max(0, o.seed))
	if o.replay {
		set.Replay, set.Made = c.Recipe(), nil
	}
	now := progress.Every(time.Second)
	now() // the first line comes after a second
	var failed error
	set.Trajectories, failed = gym.Collect(cmd.Context(), pool, gym.RandomPolicy(set.Actions), gym.CollectOptions{
		Episodes: o.episodes, FirstSeed: o.seed, PolicySeed: set.Seed, MaxSteps: o.maxSteps,
		MaxRestarts: o.maxRestarts, Restarted: func(cause error) {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: the processes are started again: %v\n", cause)
		},
		Progress: func(done int) {
			if now() {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d episodes\n", done, o.episodes)
			}
		},
	})
	if failed != nil && len(set.Trajectories) == 0 {
		return failed
	}
	out := o.out
	if failed != nil {
		set.Incomplete = o.incomplete(cmd.Context(), set.Trajectories, failed)
		out = demo.PartialPath(out)
	}
	if err := set.Write(out); err != nil {
		return err
	}
	back, err := demo.Read(out)
	if err != nil {
		return err
	}
	show(cmd.OutOrStdout(), out, back)
	if failed != nil {
		return fmt.Errorf("%s holds what was collected before: %w", out, failed)
	}
	return nil
}

// incomplete says how much of a collection that failed there is, and why there is no more.
func (o *collectOptions) incomplete(ctx context.Context, collected []demo.Trajectory, failed error) string {
	cutOff := 0
	for i := range collected {
		if t := &collected[i]; !t.Terminated && !t.Truncated && (o.maxSteps == 0 || t.Len() < o.maxSteps) {
			cutOff++
		}
	}
	cause, _, _ := strings.Cut(failed.Error(), "\n") // without Python's traceback
	if why := context.Cause(ctx); why != nil {       // names the signal
		cause = strings.ReplaceAll(cause, context.Canceled.Error(), why.Error())
	}
	return fmt.Sprintf("of %d episodes that were to be collected, there are %d whole and %d cut off: %s", o.episodes,
		len(collected)-cutOff, cutOff, cause)
}
