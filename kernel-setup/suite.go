package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/progress"
)

// suiteTag is the build tag of tests that need the installation. Plain `go test ./...` leaves them out, and passes on a
// machine with Go alone; `kernel-setup test` installs first and then gives the tag, so that there they are never
// skipped.
const suiteTag = "installed"

// pureGoPackages are tested a second time on the pure Go backend. A package belongs here if its tests compute on
// whatever backend the environment names and end within a minute on pure Go.
var pureGoPackages = []string{"./qvirl/irl", "./qvirl/graphs", "./qvirl/tabular", "./qvirl/matched", "./qvirl/backend"}

func newTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test",
		Short: "Run the whole test suite: gofmt, go vet, all tests on XLA, the core on pure Go, every notebook",
		Long: `Run the whole test suite. What is missing is installed first, the Gymnasium environments included. The
suite consists of formatting, go vet, the core's tests on the pure Go backend, and all tests on XLA (where
this machine has it). The latter execute every notebook at its default scale, check every saved figure in
a browser, run the quickstart there (its screenshots stay in .birl/runs/browser), and run an experiment on
a Slurm cluster on this machine. The browser is skipped where neither Chromium nor Chrome is on PATH, the
cluster without Slurm or root, and nothing else; the last lines count what was not run. The exit status is
that of go test.`,
		Example: `  go run ./kernel-setup test`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := prepared(cmd.Context(), installer{choose: withEnvs})
			if err != nil {
				return err
			}
			s, err := loadState(l.state())
			if err != nil {
				return err
			}
			xla := xlaObstacle(cmd.Context(), l) == "" && !s.Choices.NoXLA
			return runSuite(cmd.Context(), l, cmd.OutOrStdout(), xla)
		},
	}
}

// runSuite stops at the first part that fails, whose own output says why.
func runSuite(ctx context.Context, l layout, w io.Writer, xla bool) error {
	unformatted, err := gofmtList(ctx, l)
	if err != nil {
		return err
	}
	if len(unformatted) > 0 {
		return fmt.Errorf("not formatted: %s\n  What to do: gofmt -w %s", strings.Join(unformatted, ", "),
			strings.Join(unformatted, " "))
	}
	fmt.Fprintln(w, "✓ gofmt")
	full := backendVariable + "=go"
	if xla {
		full = backendVariable + "=xla"
	}
	parts := []struct {
		env  string
		args []string
	}{
		{full, []string{"vet", "-tags", suiteTag, "./..."}},
		{backendVariable + "=go", append([]string{"test", "-count=1", "-timeout=20m"}, pureGoPackages...)},
		{full, []string{"test", "-count=1", "-timeout=80m", "-tags", suiteTag, "./..."}},
	}
	for _, part := range parts {
		start := time.Now()
		fmt.Fprintf(w, "\n%s go %s\n", part.env, strings.Join(part.args, " "))
		show := func(line string) { fmt.Fprintln(w, line) }
		// Tests of child processes may take a while to end after an interrupt.
		run := command{name: "go", args: part.args, dir: l.root, env: l.environment(part.env), output: show,
			grace: 30 * time.Second}
		if err := run.run(ctx); err != nil {
			if ctx.Err() == nil {
				fmt.Fprintf(w, "✗ go %s failed after %s\n", part.args[0], progress.Brief(time.Since(start)))
				return errReported
			}
			return err
		}
		if part.args[0] == "vet" {
			fmt.Fprintf(w, "✓ go vet  %s\n", progress.Brief(time.Since(start)))
		}
	}
	notRun := leftOut()
	for _, what := range notRun {
		fmt.Fprintln(w, "– NOT RUN:", what)
	}
	fmt.Fprintf(w, "checks not run: %d\n", len(notRun))
	return nil
}

const noBrowser = "the looks at notebooks in a browser, for want of Chromium or Chrome on PATH (on Debian: apt " +
	"install chromium)"

// leftOut names the checks that this machine lacks something for, and what.
func leftOut() (checks []string) {
	if findBrowser() == "" {
		checks = append(checks, noBrowser)
	}
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(name); err != nil || os.Getuid() != 0 {
			return append(checks, "an experiment on a Slurm cluster of this machine, for want of Slurm and munge on "+
				"PATH (on Debian: apt install slurm-wlm munge), or of root, whom its daemons need")
		}
	}
	return checks
}

// findBrowser returns the path of a browser for the tests of what notebooks show, empty if there is none.
func findBrowser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// gofmtList names the Go files of the clone that are not formatted, relative to its root.
func gofmtList(ctx context.Context, l layout) ([]string, error) {
	entries, err := os.ReadDir(l.root)
	if err != nil {
		return nil, err
	}
	args := []string{"-l"}
	for _, e := range entries {
		name := e.Name()
		// What is hidden, .birl above all, is not ours to format.
		if strings.HasPrefix(name, ".") || !e.IsDir() && filepath.Ext(name) != ".go" {
			continue
		}
		args = append(args, name)
	}
	var found []string
	goroot, err := goEnv(ctx, l, "GOROOT")
	if err != nil {
		return nil, err
	}
	run := command{name: filepath.Join(goroot[0], "bin", "gofmt"), args: args, dir: l.root,
		stdout: func(line string) { found = append(found, line) }}
	return found, run.run(ctx)
}
