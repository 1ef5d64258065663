// Kernel-setup prepares a clone of this repository for work and drives its notebooks: it installs JupyterLab, the GoNB
// kernel and the XLA plugin into the clone's own folder .birl, says what is missing, opens the lab, runs notebooks
// without a browser, and runs the whole test suite. It needs Go, a python3 and no rights beyond the clone.
//
//	go run ./kernel-setup install
//	go run ./kernel-setup run posterior-quality
//	go run ./kernel-setup test
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	commands "github.com/go-birl/birl/envs/command"
)

func main() {
	ctx, stop := commands.Signals()
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted; run the same command again")
		os.Exit(commands.StatusInterrupted(ctx))
	case errors.Is(err, errReported):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "kernel-setup: "+err.Error())
		os.Exit(1)
	}
}

// errReported ends the program with a failure whose explanation the user has already been given.
var errReported = errors.New("failed as reported above")

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kernel-setup",
		Short: "Set up Jupyter with Go, run the notebooks, run the tests",
		Long: `kernel-setup sets up this clone, and runs its notebooks and tests.

Everything goes into the git-ignored folder .birl of the clone: a Python virtual environment with JupyterLab, the GoNB
kernel built at the version of go.mod, and the XLA plugin. Nothing needs root, and nothing outside the clone
changes, unless install is asked for a --kernelspec. To undo it all, delete .birl.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newInstallCommand(), newDoctorCommand(), newLabCommand(), newRunCommand(), newTestCommand(),
		newCollectCommand(), newSoakCommand())
	commands.WrapHelp(root)
	return root
}
