// Command experts trains demonstrators by QR-DQN, evaluates them, and lets them demonstrate.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
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
		Use:   "experts",
		Short: "Train experts, evaluate them, and let them demonstrate",
		Long: `experts trains demonstrators by QR-DQN in any Gymnasium environment with a Box observation and a Discrete action space, evaluates
them beside other policies, and collects demonstrations of their Boltzmann policies.`,
		Example: `  experts train lunarlander --out expert.npz
  experts evaluate expert.npz
  experts demonstrate expert.npz --out demos.npz`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newTrain(), newEvaluate(), newDemonstrate())
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

// poolFlags are the flags that say where environments run.
type poolFlags struct {
	workers int
	python  string
}

func (p *poolFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&p.workers, "workers", 2, "number of processes for the environments")
	c.Flags().StringVar(&p.python, "python", "", "Python interpreter (default: the one that kernel-setup installed, else python3)")
}

// open opens the pool that an expert's config asks for.
func (p *poolFlags) open(ctx context.Context, c expert.Config) (*gym.Pool, error) {
	g, err := c.Gym(p.workers)
	if err != nil {
		return nil, err
	}
	g.Python = p.python
	return gym.Open(ctx, g)
}

// every returns a function that says, at most so often, that it is time again.
func every(interval time.Duration) func() bool {
	var last time.Time
	return func() bool {
		now := time.Now()
		if now.Sub(last) < interval {
			return false
		}
		last = now
		return true
	}
}

// showEvaluation writes one line for a policy.
func showEvaluation(w io.Writer, v expert.Evaluation) {
	fmt.Fprintf(w, "  %-20s return %8.2f ± %.2f, from %.2f to %.2f, in %.1f steps\n", v.Policy, v.Returns.Mean, v.Returns.Std, v.Returns.Min,
		v.Returns.Max, v.Length)
}
