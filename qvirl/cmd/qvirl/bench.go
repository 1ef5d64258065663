package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/process"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/cost"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/verdict"
	"github.com/go-birl/birl/qvirl/zoo"
	"github.com/go-birl/birl/widgets/report"
)

// benchSeed is of the problems of bench, which no reported results are of.
const benchSeed = 1000

// benchOptions say what bench measures.
type benchOptions struct {
	sizes, methods []string
	out, python    string
	limit          time.Duration // of one fit by the clock
}

// newBench is the command that measures what methods cost.
func newBench() *cobra.Command {
	var o benchOptions
	var cell string
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what methods cost: time, processor time, memory, evaluations",
		Long: `bench fits random gridworlds of the paper's kind (5 actions, 25 demonstrations, γ 0.9, β 2) of several
sizes by several methods, one problem each, in a process of its own, so that times include start-up and
compilation. A size is a number of states, which must be a square. Methods are those of fit; "fit" for
the recommended method with its verdict, as the command fit runs it; and the peers numpyro and blackjax,
No-U-Turn samplers of the same exact posterior, in the Python that --python names. A method that takes
longer than --limit is stopped, and not tried on larger sizes. On a busy machine compare methods by
processor time; wall-clock time needs an idle one.

"qvirl-low-rank" is qvirl with a covariance of low rank, which it uses by itself above 2,048 states.

--out names a folder for rows.csv (a row for each problem and method, as soon as it is measured), machine.json (what it
was measured on) and report/ (a table and a figure of how costs grow). Rows of other problems and methods already in
the folder stay. With --sizes "" only the report is made again, and nothing is measured.`,
		Example: `  qvirl bench
  qvirl bench --sizes 64,256,576,1024 --methods qvirl,qvirl-matched,reference --out results/bench
  qvirl bench --sizes 64 --methods reference,numpyro --python /path/of/python`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cell != "" {
				return benchCell(cmd.Context(), cell, cmd.OutOrStdout())
			}
			return bench(cmd, o)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.sizes, "sizes", []string{"64", "256"}, "numbers of states")
	f.StringSliceVar(&o.methods, "methods", []string{method.QVIRL, method.Matched, method.Reference, method.Fit},
		"methods")
	f.StringVar(&o.out, "out", "", "folder for rows.csv and machine.json")
	f.StringVar(&o.python, "python", "", "the Python that has the peers")
	f.DurationVar(&o.limit, "limit", 10*time.Minute, "time limit of one fit")
	f.StringVar(&cell, "cell", "", "")
	_ = f.MarkHidden("cell")
	c.AddCommand(newBenchSteps())
	return c
}

// bench measures all sizes and methods, and prints a table.
func bench(cmd *cobra.Command, o benchOptions) (err error) {
	if err := check.That(o.limit > 0, "--limit %v: want a positive time", o.limit); err != nil {
		return err
	}
	for _, size := range o.sizes {
		if _, err := benchProblem(size); err != nil {
			return err
		}
	}
	slices.SortStableFunc(o.sizes, func(a, b string) int { // what is stopped on a size would be on larger ones
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	gone := map[string]bool{} // methods that are not tried, or not any more
	for _, name := range o.methods {
		if _, err := benchMethod(name); err != nil && !slices.Contains(peers, name) {
			return fmt.Errorf("--methods %s: %w; bench also takes %s, and the peers %s", name, err,
				strings.Join([]string{method.Fit, lowRankName}, ", "), strings.Join(peers, ", "))
		}
		if err := missingPeer(cmd.Context(), o.python, name); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), err)
			gone[name] = true
		}
	}
	var kept []cost.Cost
	if o.out != "" {
		release, err := command.ClaimFolder(o.out)
		if err != nil {
			return err
		}
		defer release()
		if kept, err = cost.Read(o.out); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
	defer func() { err = errors.Join(err, w.Flush()) }() // what was measured before an error, too
	fmt.Fprintln(w, strings.Join(cost.Columns, "\t")+"\t")
	if len(o.sizes) == 0 {
		for i := range kept {
			fmt.Fprintln(w, strings.Join(kept[i].Cells(), "\t")+"\t")
		}
	}
	measured := 0
	for _, size := range o.sizes {
		for _, name := range o.methods {
			if gone[name] {
				continue
			}
			one, err := benchProcess(cmd.Context(), size, name, o)
			if errors.Is(err, context.DeadlineExceeded) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s states: more than %v; it is not tried any more\n", name, size,
					o.limit)
				gone[name] = true
				continue
			}
			if err != nil {
				return errors.Join(cmd.Context().Err(), fmt.Errorf("%s on %s states: %w", name, size, err))
			}
			measured++
			fmt.Fprintln(w, strings.Join(one.Cells(), "\t")+"\t")
			if kept = cost.Join(kept, *one); o.out != "" { // at once: what follows may take hours
				if err := cost.Write(o.out, kept, experiment.ThisMachine("")); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s states: %.2f s, %.2f s of processors\n", name, size, one.Seconds,
				one.Processor)
		}
	}
	if measured == 0 && len(o.sizes) > 0 {
		return errors.New("nothing was measured")
	}
	if o.out == "" {
		return nil
	}
	if len(kept) == 0 {
		return fmt.Errorf("--out %s: there are no rows to draw", o.out)
	}
	_, err = report.Write(cost.Growth(kept), filepath.Join(o.out, "report"))
	return err
}

// benchProcess lets a process of its own fit the problem of a size by a method, within the limit.
func benchProcess(ctx context.Context, size, name string, o benchOptions) (*cost.Cost, error) {
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	problem, err := benchProblem(size)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(limited, self, "bench", "--cell", size+" "+name)
	if slices.Contains(peers, name) {
		peer, remove, err := peerCommand(limited, o.python, name, problem)
		if err != nil {
			return nil, err
		}
		defer remove()
		child = peer
	}
	var text, complaint bytes.Buffer
	child.Stdout, child.Stderr = &text, &complaint
	process.EndWithParent(child, syscall.SIGKILL) // its measurements have no reader then
	began, one := time.Now(), &cost.Cost{}
	if err := child.Run(); err != nil {
		return nil, errors.Join(limited.Err(), err, errors.New(strings.TrimSpace(complaint.String())))
	}
	elapsed := time.Since(began).Seconds()
	if err := json.Unmarshal(text.Bytes(), one); err != nil {
		return nil, err
	}
	one.States, one.Method, one.Seconds = problem.MDP.States(), name, elapsed
	one.Processor = (child.ProcessState.UserTime() + child.ProcessState.SystemTime()).Seconds()
	return one, nil
}

// benchProblem returns the problem of a number of states.
func benchProblem(size string) (*irl.Problem, error) {
	states, err := strconv.Atoi(size)
	width := int(math.Sqrt(float64(states)))
	if err != nil || width < 2 || width*width != states {
		return nil, fmt.Errorf("--sizes %s: want a square number of states, such as 64", size)
	}
	return zoo.Gridworld(width, benchSeed, 5)
}

// lowRankName is the name of qvirl with a covariance of low rank.
const lowRankName = method.QVIRL + "-low-rank"

// benchMethod returns the method of a name; "fit" is the recommended one.
func benchMethod(name string) (irl.Method, error) {
	o := qvirl.Options{Seed: 1}
	switch name {
	case method.Fit:
		name = method.Matched
	case lowRankName:
		name, o.Config = method.QVIRL, withField(nil, "Covariance", tabular.LowRankCovariance)
	}
	return qvirl.NewMethod(name, o)
}

// benchCell fits the problem of a size by a method and writes what it can tell of the cost.
func benchCell(ctx context.Context, cell string, out io.Writer) error {
	size, name, _ := strings.Cut(cell, " ")
	problem, err := benchProblem(size)
	if err != nil {
		return err
	}
	m, err := benchMethod(name)
	if err != nil {
		return err
	}
	var fitted *verdict.Result
	if name == method.Fit {
		fitted, err = verdict.Fit(ctx, m, problem, true, verdict.Default(1), nil)
	} else {
		fitted, err = verdict.Sample(ctx, m, problem, nil)
	}
	if err != nil {
		return err
	}
	c := cost.Cost{Converged: fitted.Converged}
	if g, ok := fitted.Posterior.(*tabular.Gaussian); ok {
		c.Evaluations = g.Info().Evaluations
	}
	if s, ok := fitted.Posterior.(mcmc.Sampled); ok {
		c.Evaluations = s.Sampling().Iterations
		c.RHat, c.ESS = s.Sampling().Worst()
	}
	c.PeakMiB = experiment.PeakMiB()
	return json.NewEncoder(out).Encode(c)
}
