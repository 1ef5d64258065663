package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestWorkThatHearsNothingEndsSoon: within two seconds, and not at all if it ends by itself.
func TestWorkThatHearsNothingEndsSoon(t *testing.T) {
	statuses := make(chan int, 2)
	cancelled, cancel := context.WithCancel(context.WithValue(context.Background(), exitKey{},
		func(status int) { statuses <- status }))
	var stderr strings.Builder
	explain := func(err error) error { return fmt.Errorf("%w; nothing is lost", err) }
	out := filepath.Join(t.TempDir(), "model")
	unclaim, err := ClaimFolder(out)
	if err != nil {
		t.Fatal(err)
	}
	defer unclaim()
	nothing := func() {}
	EndSoon(cancelled, io.Discard, nothing, explain)() // ended by itself
	release := EndSoon(cancelled, &stderr, unclaim, explain)
	began := time.Now()
	cancel()
	select {
	case status := <-statuses:
		if took := time.Since(began); status != 130 || took > 2*time.Second {
			t.Errorf("status %d after %v, want 130 within two seconds", status, took)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the work goes on")
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was claimed for nothing is left (error %v)", err)
	}
	release()
	if len(statuses) > 0 || !strings.Contains(stderr.String(), "interrupted: context canceled; nothing is lost") {
		t.Errorf("says %q; the work that had ended was ended again: %v", stderr.String(), len(statuses) > 0)
	}
	release = EndSoon(cancelled, &stderr, nothing, explain) // of a command that the signal finds at its end
	release()
	time.Sleep(grace + 100*time.Millisecond)
	if len(statuses) > 0 {
		t.Error("work that ended by itself was ended")
	}
	EndSoon(context.Background(), &stderr, nothing, explain)() // without Main
}

func TestExecute(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	signalled, end := context.WithCancelCause(context.Background())
	end(received{syscall.SIGTERM})
	for name, c := range map[string]struct {
		ctx    context.Context
		run    func(ctx context.Context) error
		status int
		says   string
	}{
		"success": {context.Background(), func(context.Context) error { return nil }, 0, ""},
		"failure": {context.Background(), func(context.Context) error { return errors.New("the disk is full") }, 1,
			"error: the disk is full\n"},
		"a pipe that broke, of another process": {context.Background(), func(context.Context) error {
			return fmt.Errorf("the worker: %w", syscall.EPIPE)
		}, 1, "error: the worker: broken pipe\n"},
		"interruption": {cancelled, func(ctx context.Context) error { return fmt.Errorf("world 3: %w", ctx.Err()) },
			130, "interrupted: world 3: context canceled\n"},
		"signal": {signalled, func(ctx context.Context) error { return fmt.Errorf("world 3: %w", ctx.Err()) },
			143, "interrupted: world 3: terminated signal received\n"},
	} {
		root := &cobra.Command{Use: "try", RunE: func(cmd *cobra.Command, args []string) error {
			fmt.Fprint(cmd.OutOrStdout(), args)
			return c.run(cmd.Context())
		}}
		var stdout, stderr strings.Builder
		if status := Execute(c.ctx, root, []string{"a", "b"}, &stdout, &stderr); status != c.status {
			t.Errorf("%s: exit status %d, want %d", name, status, c.status)
		}
		if stdout.String() != "[a b]" || stderr.String() != c.says {
			t.Errorf("%s: wrote %q and %q, want %q and %q", name, stdout.String(), stderr.String(), "[a b]", c.says)
		}
	}
}

// TestVersion: a program says its version, that of its build or its own.
func TestVersion(t *testing.T) {
	for own, want := range map[string]string{"": "x version " + version() + "\n", "2.1": "x version 2.1\n"} {
		var out, errs strings.Builder
		root := &cobra.Command{Use: "x", Version: own}
		status := Execute(t.Context(), root, []string{"--version"}, &out, &errs)
		if status != 0 || out.String() != want || version() == "" {
			t.Errorf("status %d, %q, %s; want %q", status, out.String(), errs.String(), want)
		}
	}
}

func TestArgumentsAreNamed(t *testing.T) {
	root := &cobra.Command{Use: "try"}
	fit := func(*cobra.Command, []string) { t.Error("fit was run") }
	root.AddCommand(&cobra.Command{Use: "fit --problem FILE", Args: cobra.NoArgs, Run: fit})
	var stderr strings.Builder
	status := Execute(context.Background(), root, []string{"fit", "x.npz"}, io.Discard, &stderr)
	want := "error: got 1 arguments, [\"x.npz\"], want: try fit --problem FILE [flags]\n"
	if got := stderr.String(); status != 1 || got != want {
		t.Errorf("exit status %d, wrote %q, want %q", status, got, want)
	}
}

// TestUnknownCommandsFail at each level; a command of commands alone shows its help.
func TestUnknownCommandsFail(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"fti"}, 1, `unknown command "fti" for "try"`},
		{[]string{"zoo", "foo"}, 1, `unknown command "foo" for "try zoo"`},
		{[]string{"zoo"}, 0, "answers"},
		{[]string{"zoo", "answers"}, 0, "answered"},
	} {
		root, zoo := &cobra.Command{Use: "try"}, &cobra.Command{Use: "zoo"}
		root.AddCommand(zoo)
		zoo.AddCommand(&cobra.Command{Use: "answers", Run: func(c *cobra.Command, _ []string) {
			fmt.Fprint(c.OutOrStdout(), "answered")
		}})
		var out strings.Builder
		if status := Execute(t.Context(), root, c.args, &out, &out); status != c.status ||
			!strings.Contains(out.String(), c.says) {
			t.Errorf("%q: status %d, %q, want %d and %q", c.args, status, out.String(), c.status, c.says)
		}
	}
}

// TestFlagsOfOneValueAreGivenOnce: the last one does not win in silence.
func TestFlagsOfOneValueAreGivenOnce(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--demos", "a", "--with", "x", "--with", "y", "--quick", "--quick"},
			"a [x y] true []\n"},
		{[]string{"--beta", "3,5"}, " [] false [3 5]\n"},
		{[]string{"--beta", "3", "--beta", "5"}, `error: invalid argument "5" for "--beta" flag: given twice, first as "3"` +
			"\n"},
		{[]string{"--demos", "a", "--demos", "b"}, `error: invalid argument "b" for "--demos" flag: given twice, first as "a"` +
			"\n"},
	} {
		var demos string
		var with []string
		var quick bool
		var betas []float64
		root := &cobra.Command{Use: "root", RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), demos, with, quick, betas)
			return nil
		}}
		root.Flags().StringVar(&demos, "demos", "", "")
		root.Flags().StringArrayVar(&with, "with", nil, "")
		root.Flags().Float64SliceVar(&betas, "beta", nil, "")
		root.Flags().BoolVar(&quick, "quick", false, "")
		var out strings.Builder
		if Execute(t.Context(), root, c.args, &out, &out); out.String() != c.says {
			t.Errorf("%q says %q, want %q", c.args, out.String(), c.says)
		}
	}
}

// TestFlagsSayWhatTheyWant: of one of a list too, and not in terms of the parser.
func TestFlagsSayWhatTheyWant(t *testing.T) {
	for given, want := range map[string]string{
		"--beta=1,x":       `want a number, not "x"`,
		"--beta=":          `want a number, not ""`,
		"--discount=half":  `want a number, not "half"`,
		"--discount=1e999": `"1e999" is too large a number`,
		"--steps=1.5":      `want a whole number, not "1.5"`,
		"--seed=-1":        `want a whole number that is not negative, not "-1"`,
		"--force=perhaps":  `want true or false, not "perhaps"`,
	} {
		root := &cobra.Command{Use: "root", Run: func(*cobra.Command, []string) {}}
		f := root.Flags()
		f.Float64Slice("beta", nil, "")
		f.Float64("discount", 0, "")
		f.Int("steps", 0, "")
		f.Uint64("seed", 0, "")
		f.Bool("force", false, "")
		name, value, _ := strings.Cut(given, "=")
		want = fmt.Sprintf("error: invalid argument %q for %q flag: %s\n", value, name, want)
		var out strings.Builder
		if status := Execute(t.Context(), root, []string{given}, &out, &out); status != 1 || out.String() != want {
			t.Errorf("%s: status %d, %q, want %q", given, status, out.String(), want)
		}
	}
}

// TestHelpShowsNoEmptyDefault: of a list that is empty unless the flag is given.
func TestHelpShowsNoEmptyDefault(t *testing.T) {
	root := &cobra.Command{Use: "root", Run: func(*cobra.Command, []string) {}}
	root.Flags().Float64Slice("beta", nil, "of several `numbers`, the best")
	root.Flags().StringArray("path", nil, "a folder")
	root.Flags().StringSlice("names", nil, "some names")
	root.Flags().Float64Slice("sizes", []float64{3, 5}, "how large")
	var out strings.Builder
	status := Execute(t.Context(), root, []string{"--help"}, &out, &out)
	text := out.String()
	for _, want := range []string{"--beta numbers", "the best\n", "a folder\n", "some names\n",
		"how large (default [3.000000,5.000000])\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if status != 0 || strings.Contains(text, "default )") {
		t.Errorf("status %d, %s", status, text)
	}
}

func TestQuote(t *testing.T) {
	const want = `rm -r ./a-1.npz 'it'\''s here' '' '~' 'é'`
	if got := Quote("rm", "-r", "./a-1.npz", "it's here", "", "~", "é"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestInterrupted: only where there is a checkpoint the same command goes on.
func TestInterrupted(t *testing.T) {
	dir, canceled := t.TempDir(), fmt.Errorf("training: %w", context.Canceled)
	for path, want := range map[string]string{dir: "goes on from there",
		filepath.Join(dir, "none"): "nothing was stored"} {
		err := Interrupted(canceled, path)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if err := Interrupted(io.EOF, dir); err != io.EOF {
		t.Errorf("another error becomes %v", err)
	}
}

// full is a writer to a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestResultsThatCannotBeWritten: a command that prints, as most do, without a look at the error has failed.
func TestResultsThatCannotBeWritten(t *testing.T) {
	root := &cobra.Command{Use: "x", Run: func(c *cobra.Command, _ []string) {
		fmt.Fprintln(c.OutOrStdout(), "a result")
	}}
	var stderr strings.Builder
	if status := Execute(t.Context(), root, nil, full{}, &stderr); status != 1 ||
		!strings.Contains(stderr.String(), "error: no space left") {
		t.Errorf("status %d, says %q", status, stderr.String())
	}
}
