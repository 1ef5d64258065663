// Package experts is the verb of command qvirl that trains experts by QR-DQN, evaluates them, and lets them
// demonstrate.
package experts

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
)

// New returns the verb.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "expert",
		Short: "Train experts, evaluate them, and let them demonstrate",
		Long: `expert trains experts by QR-DQN in any Gymnasium environment with a Box observation and a Discrete action
space, evaluates them beside other policies, and collects demonstrations of their Boltzmann policies.`,
		Example: `  qvirl expert train lunarlander --out expert.npz
  qvirl expert evaluate expert.npz
  qvirl expert demonstrate expert.npz --out demos.npz`,
	}
	c.AddCommand(newTrain(), newEvaluate(), newDemonstrate())
	return c
}

// poolFlags are the flags that say where environments run.
type poolFlags struct {
	workers     int
	maxSteps    int
	python      string
	pythonPath  []string
	stepTimeout time.Duration
}

func (p *poolFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&p.workers, "workers", 2, "number of processes for the environments")
	c.Flags().IntVar(&p.maxSteps, "max-steps", 0, "end episodes after so many steps, if the environment has no "+
		"shorter limit (default: its own limit)")
	c.Flags().DurationVar(&p.stepTimeout, "step-timeout", time.Minute, gym.StepLimitHelp)
	command.AddPython(c, &p.python, &p.pythonPath)
}

// source says how long episodes last, where the environment does not: an interrupted run goes on with the same.
func (p *poolFlags) source() string {
	if p.maxSteps == 0 {
		return ""
	}
	return fmt.Sprintf("--max-steps %d", p.maxSteps)
}

// open opens the pool that an expert's config asks for.
func (p *poolFlags) open(ctx context.Context, c expert.Config) (*gym.Pool, error) {
	g, err := c.Gym(p.workers)
	if err != nil {
		return nil, fmt.Errorf("--workers: %w", err)
	}
	g.Python, g.PythonPath = p.python, p.pythonPath
	if err := check.First(g.LimitTime(p.stepTimeout), g.LimitSteps(p.maxSteps)); err != nil {
		return nil, err
	}
	return gym.Open(ctx, g)
}

// checkPlay refuses what no episodes can be played with.
func checkPlay(episodes int, beta float64) error {
	return check.First(check.AtLeast(1, "--episodes", episodes), check.NotNegative("--beta", beta))
}

// showEvaluation writes one line for a policy.
func showEvaluation(w io.Writer, v expert.Evaluation) {
	fmt.Fprintf(w, "  %-20s return %8.2f ± %.2f, from %.2f to %.2f, in %.1f steps\n", v.Policy, v.Returns.Mean,
		v.Returns.Std, v.Returns.Min, v.Returns.Max, v.Length)
}
