package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newSoakCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "soak [OPTION...]",
		Short: "Fit, predict and step for a long time, and look for leaks",
		Long: `Install what is missing, then run the program kernel-setup/soak with the same options: it fits and
predicts in one process, steps environments whose worker processes it kills at random, and fails if
memory grew, or if file handles or processes are left. "soak --help" shows the options. The program runs
with MALLOC_ARENA_MAX=1: without it the C library keeps, for each thread, what XLA has freed after
compiling, which looks like a leak. The setting suits any process that runs for days.`,
		Example: `  go run ./kernel-setup soak          # some minutes
  go run ./kernel-setup soak --full   # hours`,
		// The options are the program's own.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInstalled(cmd, nil, "soak", "./kernel-setup/soak", args, "MALLOC_ARENA_MAX=1")
		},
	}
}

// runInstalled builds a program of the clone once the given steps of the installation are done, or all if there are
// none, and runs it in the folder that the user is in, so that its relative paths are hers. Its own output is the
// answer. Help needs no step. env is set besides the clone's environment.
func runInstalled(cmd *cobra.Command, steps []string, name, folder string, args []string, env ...string) error {
	var l layout
	var err error
	help := slices.Contains(args, "--help") || slices.Contains(args, "-h")
	if help {
		l, err = currentLayout()
	} else {
		l, err = prepared(cmd.Context(), installer{choose: withEnvs, only: steps})
	}
	if err != nil {
		return err
	}
	if err := buildTool(cmd.Context(), l, name, folder, nil); err != nil {
		return err
	}
	run := exec.Command(l.tool(name), args...)
	run.Env = l.environment(env...)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, cmd.OutOrStdout(), os.Stderr
	if help { // in which the program calls itself by its own name
		var text strings.Builder
		run.Stdout = &text
		err := runPassing(run)
		fmt.Fprint(cmd.OutOrStdout(), asCalled(text.String(), name, cmd))
		return err
	}
	return runPassing(run)
}

// asCalled returns the help of a program with the command that it was called by for its own.
func asCalled(help, name string, cmd *cobra.Command) string {
	return strings.ReplaceAll(help, name+" "+cmd.Name(), "go run ./"+cmd.CommandPath())
}

// buildTool builds a program of the clone.
func buildTool(ctx context.Context, l layout, name, folder string, say func(string)) error {
	return command{name: "go", args: []string{"build", "-o", l.tool(name), folder}, dir: l.root, env: l.environment(),
		output: say}.run(ctx)
}
