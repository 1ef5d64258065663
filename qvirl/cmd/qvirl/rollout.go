package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// environmentOptions are the flags that say how an environment is made.
type environmentOptions struct {
	env              string
	imports, options []string
	python           gym.ReplayOptions
	atari            bool
	maxSteps         int
	stepTimeout      time.Duration
}

// add adds the flags; use says what the environment is for.
func (o *environmentOptions) add(c *cobra.Command, use string) {
	f := c.Flags()
	f.StringVar(&o.env, "env", "", use)
	f.StringSliceVar(&o.imports, "import", nil, "Python modules that register the environment of --env")
	f.StringArrayVar(&o.options, "option", nil, "an option NAME=VALUE of that environment's constructor, the value in "+
		"JSON")
	f.BoolVar(&o.atari, "atari", true, gym.AtariHelp)
	command.AddPython(c, &o.python.Python, &o.python.PythonPath)
	f.IntVar(&o.maxSteps, "max-steps", 0, "end episodes of that environment after so many steps, if it has no "+
		"shorter limit (default: its own limit)")
	f.DurationVar(&o.stepTimeout, "step-timeout", time.Minute, gym.StepLimitHelp)
}

// rolloutOptions are the flags of rollout.
type rolloutOptions struct {
	environmentOptions
	model, out, backend   string
	episodes, maxRestarts int
	seed                  int64
	sample, asJSON, force bool
}

// rolledOut is what rollout writes as JSON.
type rolledOut struct {
	Method      string    `json:"method"`
	Environment string    `json:"environment"`
	Mean        float64   `json:"mean"`
	Std         *float64  `json:"std,omitempty"` // of the sample; nil of a single episode
	Returns     []float64 `json:"returns"`
	Lengths     []int     `json:"lengths"`
	Seeds       []int64   `json:"seeds"`    // of the episodes
	Restarts    int       `json:"restarts"` // of the worker processes
}

func newRollout() *cobra.Command {
	var o rolloutOptions
	c := &cobra.Command{
		Use:   "rollout --model DIR --env ID --episodes N",
		Short: "Let an apprentice act in its environment, and report its returns",
		Long: `rollout lets the apprentice of a model from "qvirl train" or "qvirl plan" act in a Gymnasium environment.
It takes the action of the greatest value, or with --sample draws one from the predicted action
probabilities of the expert. Episode i is reset with the seed --seed + i, so that all models meet the same episodes.

Workers that die or exceed --step-timeout are started again, and their unfinished episodes begin anew. After a fault
that restarts do not fix, or an interruption, the episodes that have ended are still reported and kept; where --out
would replace a file, in FILE.partial.npz, or FILE.partial-2.npz and so on.`,
		Example: `  qvirl rollout --model bc --env LunarLander-v3 --episodes 30
  qvirl rollout --model bc --env highway-fast-v0 --episodes 30 --json | jq .mean`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return rollout(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "folder with the model (required)")
	o.add(c, "id of the Gymnasium environment (required)")
	f.IntVar(&o.episodes, "episodes", 30, "number of episodes")
	f.Int64Var(&o.seed, "seed", 1_000_000, "seed of the first episode; demonstrations begin at low ones")
	f.BoolVar(&o.sample, "sample", false, "draw actions from the expert's predicted probabilities instead of "+
		"taking the best")
	f.StringVar(&o.out, "out", "", "file for the episodes, ending in .npz (default: they are not kept)")
	f.IntVar(&o.maxRestarts, "max-restarts", 3, "how often the worker processes are started again after one died")
	f.BoolVar(&o.force, "force", false, command.ForceHelp)
	f.StringVar(&o.backend, "backend", "", backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write the result as JSON")
	c.MarkFlagRequired("model")
	c.MarkFlagRequired("env")
	return c
}

// rollout does what the command says.
func rollout(cmd *cobra.Command, o *rolloutOptions) error {
	m, err := catalogue.Load(o.model, o.backend)
	if err != nil {
		return err
	}
	if err := check.First(check.AtLeast(1, "--episodes", o.episodes), check.AtLeast(0, "--seed --max-restarts",
		int(o.seed), o.maxRestarts)); err != nil {
		return err
	}
	if o.out != "" {
		release, err := command.ClaimFile(o.out, o.force, demo.Files(o.out))
		if err != nil {
			return err
		}
		defer release()
	}
	noteEnvironments(cmd.ErrOrStderr(), o.model, m.Spec().Environment, "--env", o.env)
	if _, err := describeBackend(o.backend, cmd.ErrOrStderr()); err != nil {
		return err
	}
	pool, err := o.open(cmd.Context(), o.episodes)
	if err != nil {
		return err
	}
	defer pool.Close()
	meter := progress.NewMeter(progress.Terminal(cmd.ErrOrStderr()), o.env)
	restarts := 0
	trajectories, failed := neural.Rollout(cmd.Context(), pool, m, neural.RolloutOptions{
		Episodes: o.episodes, Seed: o.seed, Sample: o.sample, Progress: func(done int) {
			meter.Report(done, o.episodes, fmt.Sprintf("%d of %d episodes", done, o.episodes))
		},
		MaxRestarts: o.maxRestarts, Restarted: func(cause error) {
			restarts++
			fmt.Fprintf(cmd.ErrOrStderr(), "note: restart %d of at most %d: %v\n", restarts, o.maxRestarts, cause)
		},
	})
	set := demo.Set{Description: pool.Describe()}
	set.Expert = "apprentice of " + m.Name()
	if o.sample {
		set.Expert += ", actions drawn from the demonstrator's probabilities"
	}
	for _, t := range trajectories {
		if t.Terminated || t.Truncated {
			set.Trajectories = append(set.Trajectories, t)
		}
	}
	if len(set.Trajectories) == 0 {
		return failed
	}
	path := o.out
	if failed != nil {
		failed = fmt.Errorf("%d of %d episodes were done before: %w", len(set.Trajectories), o.episodes, failed)
		path = demo.PartialPath(path)
	}
	if o.out != "" { // before a reader of the output may go away
		failed = errors.Join(failed, set.Write(path))
	}
	return errors.Join(failed, o.tell(cmd.OutOrStdout(), &set, m.Name(), restarts))
}

// tell writes the returns of the episodes of a method's apprentice.
func (o *rolloutOptions) tell(w io.Writer, set *demo.Set, method string, restarts int) error {
	r := set.Returns()
	result := rolledOut{Method: method, Environment: o.env, Mean: r.Mean, Restarts: restarts}
	spread := ""
	if len(set.Trajectories) > 1 {
		result.Std, spread = &r.Std, fmt.Sprintf(" ± %.2f (standard deviation)", r.Std)
	}
	for i := range set.Trajectories {
		t := &set.Trajectories[i]
		result.Returns, result.Lengths, result.Seeds = append(result.Returns, t.Return()),
			append(result.Lengths, t.Len()), append(result.Seeds, t.Seed)
	}
	if o.asJSON {
		return json.NewEncoder(w).Encode(result)
	}
	again := ""
	if restarts > 0 {
		again = fmt.Sprintf(", after %s of the workers", progress.Count(restarts, "restart", "restarts"))
	}
	fmt.Fprintf(w, "%s in %s, %s: return %.2f%s%s\n", method, o.env, progress.Count(len(result.Returns), "episode",
		"episodes"), r.Mean, spread, again)
	for i, x := range result.Returns {
		fmt.Fprintf(w, "  seed %d: %.2f in %s\n", result.Seeds[i], x,
			progress.Count(result.Lengths[i], "step", "steps"))
	}
	return nil
}

// poolSize is the most environments that act at a time.
const poolSize = 16

// config returns the config of a pool for a number of episodes.
func (o *environmentOptions) config(episodes int) (gym.Config, error) {
	c := gym.ByID(o.env, o.atari)
	c.Imports, c.Autoreset = append(c.Imports, o.imports...), gym.Disabled
	c.Python, c.PythonPath = o.python.Python, o.python.PythonPath
	c.Workers = min(runtime.GOMAXPROCS(0), episodes)
	c.EnvsPerWorker = max(1, min(poolSize, episodes)/c.Workers)
	err := check.First(c.LimitTime(o.stepTimeout), c.SetOptions(o.options), c.LimitSteps(o.maxSteps))
	return c, err
}

// open opens a pool for a number of episodes.
func (o *environmentOptions) open(ctx context.Context, episodes int) (*gym.Pool, error) {
	c, err := o.config(episodes)
	if err != nil {
		return nil, err
	}
	return gym.Open(ctx, c)
}

// made returns what the environment depends on beside its id and modules; an interrupted run goes on with the same.
func (o *environmentOptions) made() []string {
	if o.maxSteps == 0 {
		return o.options
	}
	return append(slices.Clone(o.options), fmt.Sprintf("--max-steps %d", o.maxSteps))
}
