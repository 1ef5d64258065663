// Command qvirl runs experiments, makes their tables and figures, and fits reward posteriors to problems from files.
package main

import (
	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/qvirl/cmd/qvirl/experts"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/posteriorquality"
	"github.com/go-birl/birl/qvirl/experiment/registry"
)

// definitions are the experiments that the command knows.
var definitions = append(registry.Definitions(), scaleDefinition(posteriorquality.Definition()))

func main() { command.Main(newRoot(definitions)) }

func newRoot(definitions []experiment.Definition) *cobra.Command {
	root := &cobra.Command{
		Use:   "qvirl",
		Short: "Infer rewards from demonstrations, with their uncertainty; run the experiments",
		Long: `qvirl fits reward posteriors to any finite Markov decision process, and learns from demonstrations in
environments with continuous observations. It also runs the experiments of the project, and draws their
tables and figures from stored rows.`,
		Example: `  qvirl list
  qvirl run posterior-quality --scale quick
  qvirl report posterior-quality --from .birl/runs/posterior-quality-quick
  qvirl fit --problem corridor.npz --out posterior.npz
  qvirl train --demos lander.npz --method qvirl --trajectories 3 --beta 3 --out model`,
	}
	root.AddCommand(newRun(definitions), newSubmit(definitions), newMerge(), newReport(definitions),
		newList(definitions), newFit(), newMethods(), newTrain(), newScore(), newExport(), newPlan(), newRollout(),
		experts.New(), newScaling(), newZoo(), newBench())
	return root
}
