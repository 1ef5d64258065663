package experts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/overlay"
)

// presets are the configs that have a name.
var presets = map[string]func() expert.Config{"lunarlander": expert.LunarLander, "highway": expert.Highway,
	"pong": expert.Pong, "spaceinvaders": expert.SpaceInvaders}

func newTrain() *cobra.Command {
	var pool poolFlags
	var out, config, on string
	var imports, options []string
	var seed uint64
	var steps int
	var force bool
	c := &cobra.Command{
		Use:   "train lunarlander|highway|pong|spaceinvaders|ENVIRONMENT --out FILE.npz",
		Short: "Train an expert",
		Long: `train makes an expert by QR-DQN and stores it in FILE.npz, with its config, learning curve and evaluation
in FILE.json. lunarlander and highway are the paper's two; those of the Atari games pong and
spaceinvaders see the console's memory, and demonstrate on the screen (demonstrate --replay). For another
environment, give its Gymnasium id; of another Atari game, too, the expert sees the memory.

While it trains, the run is stored in FILE.run.npz. After an interruption the same command goes on from there, and
ends with the same expert. The file is removed at the end.

A config is a JSON file with fields of envs/expert's Config, such as {"steps": 400000, "hidden": [256, 256]}; what it
leaves out is the environment's default. Episodes begin anew after each segment_steps, counted over all environments,
where a point is added to the learning curve; in a config, steps is a multiple of them. --steps takes any number and
fits the config to it: a short training has fewer points, so that episodes last as long. Observations that are not of
order one need {"center": […], "scale": […]}: what is subtracted from each, and by what it is divided, such as their
means and standard deviations.`,
		Example: `  qvirl expert train lunarlander --out expert.npz
  qvirl expert train CartPole-v1 --config config.json --out cartpole.npz   # {"reward_scale": 0.05, "steps": 120000}`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := expert.Default(args[0])
			if preset := presets[strings.ToLower(args[0])]; preset != nil {
				c = preset()
			}
			if err := overlay.File(&c, config); err != nil {
				return err
			}
			c.Imports = append(c.Imports, imports...)
			g := gym.Config{Options: c.Options}
			if err := g.SetOptions(options); err != nil {
				return err
			}
			c.Options = g.Options
			if cmd.Flags().Changed("seed") {
				c.Seed = seed
			}
			if cmd.Flags().Changed("steps") {
				if err := check.First(check.AtLeast(1, "--steps", steps), c.SetSteps(steps)); err != nil {
					return err
				}
			}
			return train(cmd, c, &pool, on, out, force)
		},
	}
	f := c.Flags()
	f.StringVar(&out, "out", "", "file for the expert, ending in .npz (required)")
	f.StringVar(&config, "config", "", "JSON file with fields of the config")
	f.Uint64Var(&seed, "seed", 1, "seed of everything random")
	f.IntVar(&steps, "steps", 0, "about how many steps of the environments (default: the config's)")
	f.StringSliceVar(&imports, "import", nil, "Python modules that register the environment")
	f.StringArrayVar(&options, "option", nil, "an option NAME=VALUE of the environment's constructor, the value in "+
		"JSON; stored with the expert, for evaluate and demonstrate")
	f.StringVar(&on, "backend", "", "xla or go (default: GOMLX_BACKEND, else the best there is)")
	f.BoolVar(&force, "force", false, command.ForceHelp)
	pool.add(c)
	c.MarkFlagRequired("out")
	return c
}

func train(cmd *cobra.Command, c expert.Config, flags *poolFlags, backendName, out string, force bool) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	run := strings.TrimSuffix(out, ".npz") + ".run.npz"
	_, err := os.Stat(run)
	resumes := err == nil
	release, err := command.ClaimFile(out, force || resumes, demo.Files(out))
	if err != nil {
		return err
	}
	defer release()
	choice, err := backend.Get(backendName)
	if err != nil {
		return err
	}
	if choice.Notice != "" {
		fmt.Fprintln(stderr, choice.Notice)
	}
	on, releaseClient, err := choice.Client()
	if err != nil {
		return err
	}
	defer releaseClient()
	pool, err := flags.open(ctx, c)
	if err != nil {
		return err
	}
	defer pool.Close()
	if !resumes && len(c.Center) == 0 && c.Memory == nil {
		few, err := gym.Collect(ctx, pool, gym.RandomPolicy(pool.Spec().Actions), gym.CollectOptions{
			Episodes: pool.Len(), MaxSteps: 100})
		if err != nil {
			return err
		}
		if note := unscaled(few, pool.Spec().Size()); note != "" {
			fmt.Fprintln(stderr, "note:", note)
		}
	}
	if note := c.CutsOff(pool.Spec()); note != "" {
		fmt.Fprintln(stderr, "note:", note)
	}
	now := progress.Every(5 * time.Second)
	options := expert.Options{
		Checkpoint: run, Source: flags.source(),
		Resumed: func() { fmt.Fprintln(stderr, "going on from", run) },
		Prelude: func(what string, done, total int) {
			if now() || done == total {
				fmt.Fprintf(stderr, "%d of %d %s\n", done, total, what)
			}
		},
		Progress: func(p expert.Progress) {
			if now() || p.Steps == p.Total {
				fmt.Fprintln(stderr, p)
			}
		},
	}
	e, err := command.Anew(stderr, force, run, expert.ErrCheckpoint, func() (*expert.Expert, error) {
		return expert.Train(ctx, on, pool, c, options)
	})
	if errors.Is(err, expert.ErrCheckpoint) {
		return fmt.Errorf("%w, as with --force", err)
	}
	if err != nil {
		return command.Interrupted(err, run)
	}
	if err := e.Write(out); err != nil {
		return err
	}
	if err := os.Remove(run); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	stdout := cmd.OutOrStdout()
	fmt.Fprintf(stdout, "%s: an expert of %s, trained in %.0f s\n", out, c.Environment, e.Seconds)
	for _, v := range e.Evaluations {
		showEvaluation(stdout, v)
	}
	if note := fallen(e); note != "" {
		fmt.Fprintln(stderr, "note:", note)
	}
	return nil
}

// unscaled says which numbers of the observations in some episodes are far above the size of one, which the network
// sees as they are.
func unscaled(episodes []demo.Trajectory, size int) string {
	const far = 10
	squares, n := make([]float64, size), 0
	for _, t := range episodes {
		for i, x := range t.Observations {
			squares[i%size] += float64(x) * float64(x)
		}
		n += len(t.Observations) / size
	}
	var names []string
	for i, s := range squares {
		if s > far*far*float64(n) {
			names = append(names, strconv.Itoa(i))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	return fmt.Sprintf("numbers of the observations whose root mean square exceeds %d, which the network sees as they "+
		"are: %s; --config with {\"center\": […], \"scale\": […]}, such as their means and standard deviations, "+
		"brings them to the size of one", far, strings.Join(names, ", "))
}

// fallen says so where the learning curve of an expert, who is the last network, ends clearly below its highest point:
// by more than a tenth of the way from the lowest.
func fallen(e *expert.Expert) string {
	if e.Config.Best || len(e.Curve) == 0 {
		return ""
	}
	byReturn := func(a, b expert.Point) int { return cmp.Compare(a.Return, b.Return) }
	low, high, last := slices.MinFunc(e.Curve, byReturn), slices.MaxFunc(e.Curve, byReturn), e.Curve[len(e.Curve)-1]
	if high.Return-last.Return <= (high.Return-low.Return)/10 {
		return ""
	}
	return fmt.Sprintf("the learning curve reached %.2f after %d steps and ended at %.2f; {\"best\": true} "+
		"in --config keeps the best network; another reward_scale, --seed or number of --steps may train a better one",
		high.Return, high.Steps, last.Return)
}
