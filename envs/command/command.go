// Package command runs the project's commands for scripts in the same way: where results, progress and errors go, what
// Ctrl-C does, and which exit statuses there are.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sameMoment is how long signals count as one: a batch system sends its own to all processes of a job, some of which
// pass it on.
const sameMoment = time.Second

// Main runs a command line with the program's arguments on what kernel-setup installed, and ends the program. The first
// of EndingSignals cancels the command's context; another one, not at the same moment, ends the program at once. Work
// goes on where nobody reads its progress any more.
func Main(root *cobra.Command) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writes fail in its place
	if err := UseInstallation(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	ctx, stop := Signals()
	context.AfterFunc(ctx, func() { time.AfterFunc(sameMoment, stop) })
	ctx = context.WithValue(ctx, exitKey{}, os.Exit)
	os.Exit(Execute(ctx, root, os.Args[1:], os.Stdout, os.Stderr))
}

// grace is how long work that EndSoon watches goes on after the command's context has ended.
const grace = 1500 * time.Millisecond

// Interrupted adds to the error of an interrupted run whether the same command goes on with it: where there is a
// checkpoint.
func Interrupted(err error, checkpoint string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if _, missing := os.Stat(checkpoint); missing != nil {
		return fmt.Errorf("%w; nothing was stored yet", err)
	}
	return fmt.Errorf("%w; the same command goes on from there", err)
}

// plain matches words that mean themselves to a shell.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote writes words so that a shell reads them.
func Quote(words ...string) string {
	out := slices.Clone(words)
	for i, w := range words {
		if !plain.MatchString(w) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// exitKey is the key of what ends the program, in the context of Main's commands.
type exitKey struct{}

// EndSoon has the program end soon after the command's context does, whatever it is in the middle of, until the
// release. It is for work that cannot be interrupted, such as a compilation or the factorisation of a large matrix, and
// that leaves nothing to store. explain adds to the error what that is of, and unclaim releases what the command has
// claimed; both are called right before the end. Only Main has a program to end.
func EndSoon(ctx context.Context, stderr io.Writer, unclaim func(), explain func(error) error) (release func()) {
	exit, ok := ctx.Value(exitKey{}).(func(int))
	if !ok {
		return func() {}
	}
	released := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			tellInterrupted(ctx, stderr, explain(context.Canceled))
			unclaim()
			exit(StatusInterrupted(ctx))
		case <-released:
		}
	})
	return func() { stop(); close(released) }
}

// Execute runs a command line and returns the exit status: 0, 1 after an error, that of StatusInterrupted after an
// interruption, and that of SIGPIPE where results went to a pipe whose reader closed it, of which nobody need be told.
// Results go to stdout, progress and errors to stderr.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true // errors are written here, once
	checkArguments(root)
	WrapHelp(root)
	root.Version = cmp.Or(root.Version, version())
	root.SetArgs(args)
	results := &watched{Writer: stdout}
	root.SetOut(results)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = results.err
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(results.err, syscall.EPIPE) && errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE)
	case errors.Is(err, context.Canceled):
		tellInterrupted(ctx, stderr, err)
		return StatusInterrupted(ctx)
	default:
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
}

// Unwatched returns where a command's results go, for what need not be read, such as how far it has come: if that
// cannot be written, the command has not failed.
func Unwatched(c *cobra.Command) io.Writer {
	if w, ok := c.OutOrStdout().(*watched); ok {
		return w.Writer
	}
	return c.OutOrStdout()
}

// watched remembers the first error of a writer, which those who print results do not look at.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// Columns is how wide help may be.
const Columns = 120

// WrapHelp has the help of a command, and of its own commands, break the lines about flags that are wider than Columns.
func WrapHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ",
		Columns)))
}

// version returns that of the program's module, or the commit that it was built of where it has none.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text, state := info.Main.Version, ""
	if text != "" && text != "(devel)" {
		return text
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			state = ", changed since"
		}
	}
	return cmp.Or(text, "(devel)") + state
}

// tellInterrupted writes the error of an interrupted command with the name of the signal, which not every error has.
func tellInterrupted(ctx context.Context, stderr io.Writer, err error) {
	text := err.Error()
	if cause := context.Cause(ctx); cause != nil {
		text = strings.ReplaceAll(text, context.Canceled.Error(), cause.Error())
	}
	fmt.Fprintln(stderr, "interrupted:", text)
}

// checkArguments makes the errors of commands that were given other arguments than they take say how they are called,
// commands of commands refuse one that they do not have, and flags that take one value, or one list of numbers, refuse
// a second one.
func checkArguments(c *cobra.Command) {
	for _, sub := range c.Commands() {
		checkArguments(sub)
	}
	if c.HasParent() && c.HasSubCommands() && !c.Runnable() {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
			}
			return c.Help()
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, many := f.Value.(pflag.SliceValue); !many || f.Value.Type() == "float64Slice" {
			f.Value = &single{Value: f.Value}
			if f.DefValue == "[]" || f.DefValue == "-1" { // nothing is asked for, which help would show
				f.DefValue = ""
			}
		}
	})
	check := c.Args
	if check == nil || !c.Runnable() {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return fmt.Errorf("got %d arguments, %q, want: %s", len(args), args, c.UseLine())
		}
		return nil
	}
}

// single is the value of a flag that is given once, or with the same text again.
type single struct {
	pflag.Value
	given *string
}

func (s *single) Set(text string) error {
	if s.given != nil && *s.given != text {
		return fmt.Errorf("given twice, first as %q", *s.given)
	}
	s.given = &text
	err := s.Value.Set(text)
	if bad, ok := errors.AsType[*strconv.NumError](err); ok {
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%q is too large a number", bad.Num)
		}
		return fmt.Errorf("want %s, not %q", kinds[bad.Func], bad.Num)
	}
	return err
}

// kinds are what functions of strconv read.
var kinds = map[string]string{"ParseFloat": "a number", "ParseInt": "a whole number",
	"ParseUint": "a whole number that is not negative", "ParseBool": "true or false"}
