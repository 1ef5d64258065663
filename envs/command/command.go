// Package command runs the project's commands for scripts in the same way: where results, progress and errors go, what Ctrl-C
// does, and which exit statuses there are.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// interrupted is the exit status after Ctrl-C, as shells have it.
const interrupted = 130

// Main runs a command line with the program's arguments on what kernel-setup installed, and ends the program. The first
// of EndingSignals cancels the command's context, a second one ends the program at once.
func Main(root *cobra.Command) {
	if err := UseInstallation(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	ctx, stop := Signals()
	context.AfterFunc(ctx, stop)
	os.Exit(Execute(ctx, root, os.Args[1:], os.Stdout, os.Stderr))
}

// Execute runs a command line and returns the exit status: 0, 1 after an error, 130 after an interruption. Results go to
// stdout, progress and errors to stderr.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true // errors are written here, once
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "interrupted:", err)
		return interrupted
	default:
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
}
