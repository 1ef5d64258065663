// Command demos collects demonstrations in Gymnasium environments, and shows and converts files of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// interrupted is the exit status after Ctrl-C, as shells have it.
const interrupted = 130

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line and returns the exit status. Results go to stdout, progress and errors to stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "demos",
		Short: "Collect, show and convert demonstrations",
		Long: `demos collects demonstrations in any Gymnasium environment with a Box observation and a Discrete action space, shows
what a file of demonstrations holds, and converts files that others have made.`,
		Example: `  demos collect CartPole-v1 --episodes 20 --out cartpole.npz
  demos show cartpole.npz
  demos convert recorded.csv --env Moonbase-v0 --out moonbase.npz`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newCollect(), newShow(), newConvert())
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
