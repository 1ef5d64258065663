// Command demos collects demonstrations in Gymnasium environments, and shows and converts files of them.
package main

import (
	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
)

func main() { command.Main(newRoot()) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "demos",
		Short: "Collect, show and convert demonstrations",
		Long: `demos collects demonstrations in any Gymnasium environment with a Box observation and a Discrete action
space, shows what a file of demonstrations holds, and converts files that others have made.`,
		Example: `  demos collect CartPole-v1 --episodes 20 --out cartpole.npz
  demos show cartpole.npz
  demos convert recorded.csv --env Moonbase-v0 --out moonbase.npz`,
	}
	root.AddCommand(newCollect(), newShow(), newConvert())
	return root
}
