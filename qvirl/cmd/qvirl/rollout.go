package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// rolloutOptions are the flags of rollout.
type rolloutOptions struct {
	model, env, out, backend string
	episodes                 int
	seed                     int64
	sample, asJSON           bool
	imports, options         []string
}

// rolledOut is what rollout writes as JSON.
type rolledOut struct {
	Method      string    `json:"method"`
	Environment string    `json:"environment"`
	Mean        float64   `json:"mean"`
	Std         float64   `json:"std"` // of the sample
	Returns     []float64 `json:"returns"`
	Lengths     []int     `json:"lengths"`
}

func newRollout() *cobra.Command {
	var o rolloutOptions
	c := &cobra.Command{
		Use:   "rollout --model DIR --env ID --episodes N",
		Short: "Let an apprentice act in its environment, and tell its returns",
		Long: `rollout lets the apprentice of a model that "qvirl train" made act in a Gymnasium environment: it takes the action of the
greatest value, or with --sample draws from the demonstrator's probabilities. Episode i is reset with the seed --seed + i, so that
all models meet the same episodes.`,
		Example: `  qvirl rollout --model bc --env LunarLander-v3 --episodes 30 --seed 0
  qvirl rollout --model bc --env highway-fast-v0 --episodes 30 --json | jq .mean`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return rollout(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "folder with the model (required)")
	f.StringVar(&o.env, "env", "", "id of the Gymnasium environment (required)")
	f.IntVar(&o.episodes, "episodes", 30, "number of episodes")
	f.Int64Var(&o.seed, "seed", 0, "seed of the first episode")
	f.BoolVar(&o.sample, "sample", false, "draw actions from the demonstrator's probabilities instead of taking the best")
	f.StringVar(&o.out, "out", "", "file for the episodes, ending in .npz (default: they are not kept)")
	f.StringSliceVar(&o.imports, "import", nil, "Python modules that register the environment")
	f.StringArrayVar(&o.options, "option", nil, "an option NAME=VALUE of the environment's constructor, the value in JSON")
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
	if o.episodes < 1 || o.seed < 0 {
		return fmt.Errorf("--episodes %d --seed %d: want at least one episode, and a seed of at least 0", o.episodes, o.seed)
	}
	if _, err := describeBackend(o.backend, cmd.ErrOrStderr()); err != nil {
		return err
	}
	config, err := gymConfig(o.env, o.imports, o.options, o.episodes)
	if err != nil {
		return err
	}
	pool, err := gym.Open(cmd.Context(), config)
	if err != nil {
		return err
	}
	defer pool.Close()
	listener, clock := newProgress(cmd.ErrOrStderr()), newStopwatch()
	trajectories, err := neural.Rollout(cmd.Context(), pool, m, neural.RolloutOptions{
		Episodes: o.episodes, Seed: o.seed, Sample: o.sample, Progress: func(done int) {
			e := experiment.Event{Kind: experiment.Progressed, Unit: o.env, Done: done, Total: o.episodes, Fraction: float64(done) / float64(o.episodes)}
			e.Elapsed, e.Left = clock.estimate(e.Fraction)
			listener(e)
		},
	})
	if err != nil {
		return err
	}
	set := demo.Set{Description: pool.Describe(), Trajectories: trajectories}
	if o.out != "" {
		set.Expert = "apprentice of " + m.Name()
		if err := set.Write(o.out); err != nil {
			return err
		}
	}
	r := set.Returns()
	result := rolledOut{Method: m.Name(), Environment: o.env, Mean: r.Mean, Std: r.Std}
	for i := range trajectories {
		result.Returns, result.Lengths = append(result.Returns, trajectories[i].Return()), append(result.Lengths, trajectories[i].Len())
	}
	out := cmd.OutOrStdout()
	if o.asJSON {
		return json.NewEncoder(out).Encode(result)
	}
	fmt.Fprintf(out, "%s in %s, %d episodes: return %.2f ± %.2f (standard deviation)\n", m.Name(), o.env, o.episodes, r.Mean, r.Std)
	for i, x := range result.Returns {
		fmt.Fprintf(out, "  seed %d: %.2f in %d steps\n", o.seed+int64(i), x, result.Lengths[i])
	}
	return nil
}

// poolSize is the most environments that act at a time.
const poolSize = 16

// gymConfig returns the config of a pool for a number of episodes.
func gymConfig(id string, imports, options []string, episodes int) (gym.Config, error) {
	c := gym.Config{ID: id, Imports: imports, Autoreset: gym.Disabled, Options: map[string]any{}}
	if strings.HasPrefix(id, "highway-") {
		c.Imports = append(c.Imports, "highway_env")
	}
	for _, text := range options {
		name, value, ok := strings.Cut(text, "=")
		var v any
		if !ok || json.Unmarshal([]byte(value), &v) != nil {
			return c, fmt.Errorf("--option %s: want NAME=VALUE, the value in JSON", text)
		}
		c.Options[name] = v
	}
	c.Workers = min(runtime.GOMAXPROCS(0), episodes)
	c.EnvsPerWorker = max(1, min(poolSize, episodes)/c.Workers)
	return c, nil
}
