package experts

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
)

func newEvaluate() *cobra.Command {
	var pool poolFlags
	var episodes int
	var beta float64
	c := &cobra.Command{
		Use:   "evaluate FILE.npz",
		Short: "Evaluate an expert beside other policies",
		Long: `evaluate lets an expert play greedily and by its Boltzmann policy, and beside it a uniformly random
policy and, for each action, one that always takes it. All play the same episodes.`,
		Example: "  qvirl expert evaluate results/expert-lunarlander/expert.npz --beta 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := expert.Open(args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("beta") {
				beta = e.Config.Beta
			}
			if err := checkPlay(episodes, beta); err != nil {
				return err
			}
			return evaluate(cmd, e, &pool, episodes, beta)
		},
	}
	c.Flags().IntVar(&episodes, "episodes", 100, "number of episodes of each policy")
	c.Flags().Float64Var(&beta, "beta", 0, "rationality coefficient of the Boltzmann policy (default: the expert's)")
	pool.add(c)
	return c
}

func evaluate(cmd *cobra.Command, e *expert.Expert, flags *poolFlags, episodes int, beta float64) error {
	players := append(e.Players(beta), expert.Player{Name: "uniformly random", Policy: gym.RandomPolicy(e.Actions)})
	for a := range e.Actions {
		players = append(players, expert.Player{Name: fmt.Sprintf("always action %d", a), Policy: expert.Always(a)})
	}
	pool, err := flags.open(cmd.Context(), e.Config)
	if err != nil {
		return err
	}
	defer pool.Close()
	fmt.Fprintf(cmd.OutOrStdout(), "%s, %s of each policy\n", e.Config.Environment, progress.Count(episodes,
		"episode", "episodes"))
	for _, p := range players {
		v, err := expert.Evaluate(cmd.Context(), pool, p, episodes)
		if err != nil {
			return err
		}
		showEvaluation(cmd.OutOrStdout(), v)
	}
	return nil
}
