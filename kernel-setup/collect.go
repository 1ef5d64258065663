package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	commands "github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/process"
)

// collectSteps are the steps that collecting demonstrations needs: neither the Go kernel nor XLA.
var collectSteps = []string{pythonStepName, envsStepName}

func newCollectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "collect ENVIRONMENT --out FILE.npz [OPTION...]",
		Short: "Collect demonstrations in a Gymnasium environment by a random policy",
		Long: `Install Python and the Gymnasium environments if they are missing, then run the command envs/cmd/demos
with the same arguments: it lets a random policy act in the environment, stores the episodes, and reads
them back. The options are that command's; "collect --help" lists them.`,
		Example: `  go run ./kernel-setup collect CartPole-v1 --episodes 20 --out cartpole.npz`,
		// The options are the command's own.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInstalled(cmd, collectSteps, "demos", "./envs/cmd/demos", append([]string{"collect"}, args...))
		},
	}
}

// runPassing runs a command, in a process group of its own, and passes the signals on to it that ask this program to
// end. It waits for the command, which ends in its own order, and dies with this program where the system knows how.
func runPassing(run *exec.Cmd) error {
	process.OwnGroup(run, syscall.SIGTERM)
	return wait(run, commands.EndingSignals(), func(s os.Signal) os.Signal { return s })
}

// wait runs a command, and passes each of the signals that this program gets on to it, as another if need be. The
// command has said itself why it failed.
func wait(run *exec.Cmd, passed []os.Signal, as func(os.Signal) os.Signal) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, passed...)
	defer signal.Stop(signals)
	if err := run.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = run.Process.Signal(as(s)) // fails only if it has ended by itself
			case <-ended:
				return
			}
		}
	}()
	err := run.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return errReported
	}
	return err
}
