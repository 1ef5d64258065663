package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/progress"
)

// driver is the Python program that executes a notebook through nbclient, as Jupyter itself does.
//
//go:embed driver.py
var driver string

// runOptions say how notebooks are executed.
type runOptions struct {
	out     string        // folder for results, one subfolder per notebook; .birl/runs if empty
	inplace bool          // write outputs back into a notebook that ran without error
	limit   time.Duration // per cell, none if zero
	backend string        // GoMLX backend, the best that is installed if empty
	env     []string      // KEY=VALUE for the notebooks
}

// runResult is where a notebook's results lie. It is filled as far as the run came.
type runResult struct {
	Notebook string   // the executed copy
	HTML     string   // its page
	Figures  []string // paths of the pictures
	Summary  []string // texts of the cells tagged "summary"
}

// cellError is a cell that failed.
type cellError struct {
	Notebook string
	Index    int // of all cells, from 1, as a reader counts them
	Cells    int
	Position int // of the code cells, from 1: the number in In[…]
	Source   string
	Problem  string // GoNB's own words
}

func (e *cellError) Error() string {
	return fmt.Sprintf("%s: cell %d of %d (In [%d]) failed\n  Its source:\n%s\n  Its error:\n%s",
		e.Notebook, e.Index, e.Cells, e.Position, indent(e.Source), indent(e.Problem))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

func newRunCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run NOTEBOOK...",
		Short: "Execute notebooks without a browser and save them with their HTML and figures",
		Long: `Execute notebooks without a browser. What is missing is installed first.

A NOTEBOOK is a path, or the bare name of one in the folder notebooks. The executed notebook, its HTML page and each of
its figures go to .birl/runs/NAME, or to DIR/NAME with --out DIR. The text of cells tagged "summary" is printed at the
end. A cell that fails (including by a failing shell line or an unknown % command) ends its notebook: the cell's number,
source and error are reported, and the exit status is 1.

Notebooks see BIRL_HEADLESS=1 and show static figures instead of widgets.`,
		Example: `  go run ./kernel-setup run posterior-quality
  go run ./kernel-setup run --env BIRL_SCALE=paper --cell-timeout 0 --inplace notebooks/posterior-quality.ipynb
  go run ./kernel-setup run --backend go --out elsewhere quickstart`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := currentLayout()
			if err != nil {
				return err
			}
			notebooks, err := findNotebooks(l, args)
			if err != nil {
				return err
			}
			if err := o.validate(); err != nil {
				return err
			}
			p := newTasks(os.Stderr)
			if _, err := (&installer{layout: l, progress: p}).ensure(cmd.Context()); err != nil {
				return err
			}
			return runAll(cmd.Context(), l, p, cmd.OutOrStdout(), notebooks, o)
		},
	}
	cmd.Flags().StringVar(&o.out, "out", "", "folder for the results (default .birl/runs)")
	cmd.Flags().BoolVar(&o.inplace, "inplace", false,
		"also write the outputs into the notebook itself, if all its cells succeed")
	cmd.Flags().DurationVar(&o.limit, "cell-timeout", 30*time.Minute, "time limit for a cell, 0 for none")
	cmd.Flags().StringVar(&o.backend, "backend", "",
		"backend to compute on: go, xla, xla:/path/of/plugin.so (default: the best installed)")
	cmd.Flags().StringArrayVar(&o.env, "env", nil, "set KEY=VALUE in the notebooks' environment (repeatable)")
	return cmd
}

// validate refuses what the driver would take for something else: it counts whole seconds, and 0 is no limit.
func (o *runOptions) validate() error {
	if o.limit != 0 && o.limit < time.Second {
		return fmt.Errorf("--cell-timeout %v: want at least 1s, or 0 for no limit", o.limit)
	}
	for _, e := range o.env {
		if key, _, ok := strings.Cut(e, "="); !ok || key == "" {
			return fmt.Errorf("--env %s: want KEY=VALUE", e)
		}
	}
	return nil
}

// findNotebooks turns arguments into paths of existing notebooks.
func findNotebooks(l layout, args []string) ([]string, error) {
	var found []string
	for _, arg := range args {
		candidates := []string{arg}
		if filepath.Ext(arg) != ".ipynb" {
			candidates = []string{arg + ".ipynb"}
		}
		if filepath.Base(arg) == arg {
			candidates = append(candidates, filepath.Join(l.notebooks(), candidates[0]))
		}
		at := slices.IndexFunc(candidates, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Mode().IsRegular()
		})
		if at < 0 {
			return nil, fmt.Errorf("notebook %q not found: looked for %s", arg, strings.Join(candidates, " and "))
		}
		absolute, err := filepath.Abs(candidates[at])
		if err != nil {
			return nil, err
		}
		same := func(other string) bool { return filepath.Base(other) == filepath.Base(absolute) }
		if i := slices.IndexFunc(found, same); i >= 0 {
			return nil, fmt.Errorf("the results of %s and %s would go to one folder; run them one by one, each "+
				"with an --out of its own", found[i], absolute)
		}
		found = append(found, absolute)
	}
	return found, nil
}

// runAll executes notebooks one after the other and reports on each; a failure does not keep the others from running.
func runAll(ctx context.Context, l layout, p *tasks, stdout io.Writer, notebooks []string, o runOptions) error {
	failed := 0
	for _, notebook := range notebooks {
		start := time.Now()
		result, err := runNotebook(ctx, l, p, notebook, o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			fmt.Fprintf(p.w, "\n✗ %v\n", err)
		}
		for _, text := range result.Summary {
			fmt.Fprintf(stdout, "\n%s\n", text)
		}
		if result.HTML != "" {
			fmt.Fprintf(stdout, "\nHTML      %s\nnotebook  %s\nfigures   %d in %s\n", result.HTML, result.Notebook,
				len(result.Figures), filepath.Join(filepath.Dir(result.HTML), "figures"))
		}
		if err == nil {
			fmt.Fprintf(p.w, "%s ran in %s\n", filepath.Base(notebook), progress.Brief(time.Since(start)))
		}
	}
	if failed > 0 {
		fmt.Fprintf(p.w, "%d of %d notebooks failed\n", failed, len(notebooks))
		return errReported
	}
	return nil
}

// runNotebook executes one notebook. The error is a *cellError if a cell failed; the results are saved even then.
func runNotebook(ctx context.Context, l layout, p *tasks, notebook string, o runOptions) (runResult, error) {
	name := strings.TrimSuffix(filepath.Base(notebook), ".ipynb")
	out, err := filepath.Abs(filepath.Join(cmp.Or(o.out, l.runs()), name))
	if err != nil {
		return runResult{}, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return runResult{}, err
	}
	env, err := backendEnv(l, o.backend)
	if err != nil {
		return runResult{}, err
	}
	env = append(env, headlessVariable+"=1")
	follow := follower{ctx: ctx, progress: p, notebook: filepath.Base(notebook)}
	inplace := "0"
	if o.inplace {
		inplace = "1"
	}
	run := command{
		name: l.python(),
		args: []string{"-I", "-", notebook, out, inplace, strconv.Itoa(int(o.limit.Round(time.Second) / time.Second))},
		dir:  l.root, env: l.environment(append(env, o.env...)...), stdin: strings.NewReader(driver),
		stdout: follow.event,
		grace:  20 * time.Second, // the kernel itself gets ten
	}
	err = run.run(ctx)
	if err != nil {
		follow.fail()
	}
	follow.close()
	if follow.failure != nil {
		return follow.result, follow.failure
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", filepath.Base(notebook), err)
	}
	return follow.result, errors.Join(err, follow.problem)
}

// follower turns the driver's events into progress lines and a result.
type follower struct {
	ctx      context.Context // tells an interrupted cell from a failed one
	progress *tasks
	notebook string

	cells   int
	current *task
	source  string // the first line of the current cell
	result  runResult
	failure *cellError
	problem error // an event that could not be understood
}

// event takes one line of the driver's standard output.
func (f *follower) event(line string) {
	var e struct {
		Event    string   `json:"event"`
		Cells    int      `json:"cells"`
		Index    int      `json:"index"`
		Position int      `json:"position"`
		Source   string   `json:"source"`
		Error    string   `json:"error"`
		Text     string   `json:"text"`
		Notebook string   `json:"notebook"`
		HTML     string   `json:"html"`
		Figures  []string `json:"figures"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		f.problem = fmt.Errorf("%s: the driver said %q: %w", f.notebook, cut(line, 200), err)
		return
	}
	switch e.Event {
	case "start":
		f.cells = e.Cells
		f.current = f.progress.begin(f.notebook + ": starting the kernel")
	case "cell":
		f.close()
		f.current = f.progress.begin(fmt.Sprintf("%s: cell %d of %d", f.notebook, e.Index, f.cells))
		f.source = firstLine(e.Source)
		f.current.say(f.source)
	case "output":
		if f.current != nil {
			f.current.say(e.Text)
		}
	case "done":
		f.close()
	case "failed":
		f.fail()
		f.failure = &cellError{Notebook: f.notebook, Index: e.Index, Cells: f.cells, Position: e.Position,
			Source: e.Source, Problem: e.Error}
	case "saved":
		f.result.Notebook, f.result.HTML = e.Notebook, e.HTML
		for _, figure := range e.Figures {
			f.result.Figures = append(f.result.Figures, filepath.Join(filepath.Dir(e.HTML), "figures", figure))
		}
	case "summary":
		f.result.Summary = append(f.result.Summary, e.Text)
	}
}

func (f *follower) close() {
	if f.current != nil {
		f.current.done(f.source)
		f.current = nil
	}
}

func (f *follower) fail() {
	if f.current != nil {
		f.current.failed(f.ctx)
		f.current = nil
	}
}

// firstLine is the first line of a cell that says something, which "%%" does not.
func firstLine(source string) string {
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && line != "%%" {
			return line
		}
	}
	return ""
}
