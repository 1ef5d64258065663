package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

// collectSteps are the steps that collecting demonstrations needs: neither the Go kernel nor XLA.
var collectSteps = []string{pythonStepName, envsStepName}

func newCollectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "collect ENVIRONMENT --out FILE.npz [OPTION...]",
		Short: "Collect demonstrations in a Gymnasium environment by a random policy",
		Long: `Install Python and the Gymnasium environments if they are missing, then run the command envs/cmd/demos with the same
arguments: it lets a random policy act in the environment, stores the episodes, and reads them back. All options are that command's;
"collect --help" shows them.`,
		Example: `  go run ./kernel-setup collect CartPole-v1 --episodes 20 --out cartpole.npz`,
		// The options are the command's own.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := currentLayout()
			if err != nil {
				return err
			}
			if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
				in := installer{layout: l, progress: newProgress(os.Stderr), choose: withEnvs, only: collectSteps}
				if _, err := in.ensure(cmd.Context()); err != nil {
					return err
				}
			}
			return runDemos(cmd, l, append([]string{"collect"}, args...))
		},
	}
}

// runDemos builds the command demos and runs it in the folder that the user is in, so that its relative paths are hers.
func runDemos(cmd *cobra.Command, l layout, args []string) error {
	program := filepath.Join(l.bin(), "demos")
	build := command{name: "go", args: []string{"build", "-o", program, "./envs/cmd/demos"}, dir: l.root, env: l.environment()}
	if err := build.run(cmd.Context()); err != nil {
		return err
	}
	// Its own output is the answer, and it ends its workers by itself when Ctrl-C reaches it.
	run := exec.Command(program, args...)
	run.Env = l.environment()
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, cmd.OutOrStdout(), os.Stderr
	err := run.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return errReported
	}
	return err
}
