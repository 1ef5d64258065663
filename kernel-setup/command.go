package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-birl/birl/envs/process"
)

// tailLines is how many of a failed command's last lines its error repeats.
const tailLines = 15

// command is a child process whose output is followed line by line.
type command struct {
	name  string
	args  []string
	dir   string
	env   []string
	stdin io.Reader
	// output receives every line of standard error and, unless stdout is set, of standard output. It may be nil.
	output func(line string)
	// stdout receives the lines of standard output apart, which then are no part of an error's tail.
	stdout func(line string)
	// grace is how long the process and its children may take to end after an interrupt; 5 seconds if zero.
	grace time.Duration
}

// commandError says which command failed and repeats its last lines.
type commandError struct {
	Command string
	Tail    []string
	Err     error
}

func (e *commandError) Error() string {
	text := fmt.Sprintf("%s: %v", e.Command, e.Err)
	if len(e.Tail) > 0 {
		text += "\n    " + strings.Join(e.Tail, "\n    ")
	}
	return text
}

func (e *commandError) Unwrap() error { return e.Err }

// run starts the command, waits for it, and returns a *commandError if it fails. When ctx ends, the whole process
// group is interrupted and, after the grace period, killed; the error is then ctx's own.
func (c command) run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.name, c.args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, c.stdin
	tail := &lineWriter{each: c.output, keep: tailLines}
	cmd.Stdout, cmd.Stderr = tail, tail
	if c.stdout != nil {
		out := &lineWriter{each: c.stdout}
		defer out.flush()
		cmd.Stdout = out
	}
	// so that no pip goes on writing into an environment that the next install repairs
	process.OwnGroup(cmd, syscall.SIGTERM)
	cmd.Cancel = func() error { return process.EndGroup(cmd.Process) }
	cmd.WaitDelay = cmp.Or(c.grace, 5*time.Second)
	if err := cmd.Start(); err != nil {
		return &commandError{Command: c.String(), Err: err}
	}
	err := cmd.Wait()
	last := tail.flush()
	if ctx.Err() != nil {
		process.KillGroup(cmd.Process)
		return ctx.Err()
	}
	if err != nil {
		return &commandError{Command: c.String(), Tail: last, Err: err}
	}
	return nil
}

// String is the command as a person would type it, without its folder and cut to a readable length.
func (c command) String() string {
	words := []string{filepath.Base(c.name)}
	for _, arg := range c.args {
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'") {
			arg = fmt.Sprintf("%q", arg)
		}
		words = append(words, arg)
	}
	return cut(strings.Join(words, " "), 160)
}

// lineWriter cuts what is written into lines, at carriage returns too, passes them on and keeps the last ones.
type lineWriter struct {
	each func(string)
	keep int

	mu      sync.Mutex
	partial []byte
	kept    []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		end := bytes.IndexAny(w.partial, "\r\n")
		if end < 0 {
			return len(p), nil
		}
		w.line(string(w.partial[:end]))
		w.partial = w.partial[end+1:]
	}
}

func (w *lineWriter) line(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if w.each != nil {
		w.each(text)
	}
	if w.keep == 0 {
		return
	}
	w.kept = append(w.kept, text)
	if len(w.kept) > w.keep {
		w.kept = w.kept[len(w.kept)-w.keep:]
	}
}

// flush takes what was written last for a whole line, and returns the lines that are kept.
func (w *lineWriter) flush() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line(string(w.partial))
	w.partial = nil
	return w.kept
}
