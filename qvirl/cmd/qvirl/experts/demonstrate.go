package experts

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
)

func newDemonstrate() *cobra.Command {
	var pool poolFlags
	var out string
	var force, replay bool
	var o expert.DemonstrateOptions
	c := &cobra.Command{
		Use:   "demonstrate FILE.npz --out DEMOS.npz",
		Short: "Collect demonstrations of an expert's Boltzmann policy",
		Long: `demonstrate lets an expert play by the Boltzmann policy on its values, and stores the episodes in
DEMOS.npz with a description in JSON beside it: the distribution of returns, the policy's action entropy,
and the log-likelihood of its own actions. After an interruption, the episodes that had ended are still
stored; where they would replace a file, in DEMOS.partial.npz, or DEMOS.partial-2.npz and so on.

With --replay, seeds and actions are stored in place of observations, with these observations' SHA-256. It is for
environments in which an episode follows from its seed and actions: whatever needs the observations plays the episode
again, and checks them. For an expert that sees an Atari console's memory, the observations are then those of the
screen. With --replay, nothing is stored after an interruption.`,
		Example: `  qvirl expert demonstrate results/expert-lunarlander/expert.npz --beta 3 --episodes 1000 --out demos.npz
  qvirl expert demonstrate results/expert-pong/expert.npz --episodes 65 --replay --out demos.npz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := expert.Open(args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("beta") {
				o.Beta = e.Config.Beta
			}
			if err := checkPlay(o.Episodes, o.Beta); err != nil {
				return err
			}
			release, err := command.ClaimFile(out, force, demo.Files(out), demo.Files(args[0])...)
			if err != nil {
				return err
			}
			defer release()
			return demonstrate(cmd, e, &pool, o, out, replay)
		},
	}
	f := c.Flags()
	f.StringVar(&out, "out", "", "file for the demonstrations, ending in .npz (required)")
	f.IntVar(&o.Episodes, "episodes", 1000, "number of episodes")
	f.Float64Var(&o.Beta, "beta", 0, "rationality coefficient (default: the expert's)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the policy")
	f.BoolVar(&replay, "replay", false, "store seeds and actions, from which a replay regenerates the observations")
	f.BoolVar(&force, "force", false, command.ForceHelp)
	pool.add(c)
	c.MarkFlagRequired("out")
	return c
}

func demonstrate(cmd *cobra.Command, e *expert.Expert, flags *poolFlags, o expert.DemonstrateOptions,
	out string, replay bool) error {
	pool, err := flags.open(cmd.Context(), e.Config)
	if err != nil {
		return err
	}
	defer pool.Close()
	now := progress.Every(5 * time.Second)
	o.Progress = func(done int) {
		if now() {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d episodes\n", done, o.Episodes)
		}
	}
	set, failed := expert.Demonstrate(cmd.Context(), pool, e, o)
	if set == nil {
		return failed
	}
	if replay && failed != nil {
		return failed
	}
	if failed != nil {
		out = demo.PartialPath(out)
	}
	if replay {
		set, err = gym.Show(cmd.Context(), set, e.Config.Shown(), gym.ReplayOptions{Python: flags.python,
			PythonPath: flags.pythonPath, Workers: flags.workers, EnvsPerWorker: e.Config.Environments / flags.workers})
		if err != nil {
			return err
		}
	}
	if err := set.Write(out); err != nil {
		return err
	}
	w, r := cmd.OutOrStdout(), set.Returns()
	fmt.Fprintf(w, "%s: %s of %s, %s, β = %g\n", out, progress.Count(len(set.Trajectories), "trajectory",
		"trajectories"), set.Environment, progress.Count(set.Transitions(), "transition", "transitions"), o.Beta)
	fmt.Fprintf(w, "  return %.2f ± %.2f, from %.2f to %.2f\n", r.Mean, r.Std, r.Min, r.Max)
	tellStatistics(w, set.Statistics)
	if failed != nil {
		return fmt.Errorf("%s holds what was collected before: %w", out, failed)
	}
	return nil
}

// tellStatistics writes the statistics of demonstrations in words.
func tellStatistics(w io.Writer, statistics map[string]float64) {
	var quantiles []string
	for _, q := range []int{5, 25, 50, 75, 95} {
		quantiles = append(quantiles, fmt.Sprintf("%.2f (%d %%)", statistics[fmt.Sprintf("return_q%02d", q)], q))
	}
	fmt.Fprintf(w, "  quantiles of the return %s\n", strings.Join(quantiles, ", "))
	fmt.Fprintf(w, "  log-likelihood of its own actions %.4f, entropy of its policy %.4f\n",
		statistics[expert.LogLikelihood], statistics[expert.ActionEntropy])
	alike := ""
	if part, ok := statistics[expert.GreedyAlike]; ok {
		alike = fmt.Sprintf(", and %.1f %% do what the best ones do", 100*part)
	}
	fmt.Fprintf(w, "  %.1f %% of the actions were the best ones%s\n", 100*statistics[expert.GreedyActions], alike)
}
