// Package submit spreads the units of some work over the tasks of a batch system, and follows them to their end.
//
// Task i of n computes the shard i/n of the units into the folder that all tasks share. Units are kept as they end, so
// that what a task has done is never done again: a task that ended before its share was complete is submitted again,
// and a job without units left is not submitted at all. Nothing else is remembered: what is done is read from the
// folder, and what still runs is asked of the engine by the job's name.
package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-birl/birl/envs/command"
)

// Job is what is submitted: a command for each task.
type Job struct {
	Name    string   // of the job in the engine, which nothing else may have: small letters, digits and -
	Command []string // computes the shard that "--shard i/n", which is appended, names
	Dir     string   // that the command runs in, but for a container, which has a working folder of its own
	Out     string   // folder of the results, absolute; task i writes its log to Out/logs/task-i.log
	Tasks   int      // n ≥ 1
	CPUs    int      // of a task
}

// LogsDir is where the tasks' logs lie in the folder of the results.
const LogsDir = "logs"

// LogPath is the file of a task's log.
func (j Job) LogPath(task int) string {
	return filepath.Join(j.Out, LogsDir, fmt.Sprintf("task-%d.log", task))
}

// command is that of a task, of 1 to j.Tasks.
func (j Job) command(task int) []string {
	return append(slices.Clone(j.Command), "--shard", fmt.Sprintf("%d/%d", task, j.Tasks))
}

// shell is the command in a script, of the task that an expression of the shell names.
func (j Job) shell(task string) string {
	return command.Quote(append(slices.Clone(j.Command), "--shard")...) + fmt.Sprintf(" %s/%d", task, j.Tasks)
}

// Engine is a batch system.
type Engine interface {
	// Script returns what is submitted for all tasks, as the engine's own command reads it.
	Script(j Job) (string, error)
	// Submit starts tasks of a job, of which none is live.
	Submit(ctx context.Context, j Job, tasks []int) error
	// Tasks returns the state of each task that the engine remembers.
	Tasks(ctx context.Context, j Job) (map[int]State, error)
	// Leave is called when the tasks are no longer followed. It says what goes on without, and how to look at it and
	// end it.
	Leave(j Job) string
}

// Phase is how far a task has come.
type Phase int

// The phases.
const (
	Ended     Phase = iota // by itself, or the engine has forgotten it
	Cancelled              // by a person
	Held                   // until the others have ended: it cannot be submitted beside them
	Waiting
	Running
)

// Live reports whether the task has yet to end.
func (p Phase) Live() bool { return p == Waiting || p == Running }

// State is what the engine says of a task.
type State struct {
	Phase  Phase
	Reason string // in the engine's words
}

// Progress says how far a job has come.
type Progress struct {
	Done, Total      int     // units
	Fraction         float64 // of all units
	Running, Waiting int     // tasks
	Task             int     // that the note is about, if there is one
	Note             string
}

// Options say how a job is followed.
type Options struct {
	Every   time.Duration  // how often the engine is asked
	Retries int            // how often a task is submitted again without having finished a unit
	Events  func(Progress) // may be nil
}

// patience is how long the engine may fail to answer.
const patience = 10 * time.Minute

// Shares tells how many units each task's shard has, and how many of them the folder of the results holds.
type Shares func() (finished, units []int, err error)

// Run submits the tasks of a job whose shares are not finished, unless they are on their way already, and follows them
// until all units are there. If ctx ends before, the error wraps ctx's and says what goes on.
func Run(ctx context.Context, shares Shares, j Job, e Engine, o Options) error {
	if err := os.MkdirAll(filepath.Join(j.Out, LogsDir), 0o755); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	f := follower{shares: shares, job: j, engine: e, options: o, tries: map[int]int{}, had: map[int]int{},
		doubt: map[int]int{}, given: map[int]State{}, answered: time.Now()}
	for {
		over, err := f.step(ctx)
		if err == nil && over {
			return f.verdict()
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(o.Every):
				continue
			}
		}
		if errors.Is(err, errCancelled) || errors.Is(err, errNotSubmitted) {
			return fmt.Errorf("submit: %w", err)
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("submit: %w\n%s", err, e.Leave(j))
	}
}

// follower follows a job.
type follower struct {
	shares   Shares
	job      Job
	engine   Engine
	options  Options
	tries    map[int]int   // submissions of a task in a row in which it finished no unit
	had      map[int]int   // units of a task that were there when it was submitted
	doubt    map[int]int   // how often in a row a task was seen cancelled
	given    map[int]State // tasks that were given up, and what the engine said of them
	answered time.Time     // when the engine last answered
}

// errCancelled says that all that was left of a job was cancelled.
var errCancelled = errors.New("the tasks were cancelled; the finished units are kept, and the same command goes on")

// errNotSubmitted says that the engine refused all that was left of a job.
var errNotSubmitted = errors.New("no task is submitted")

// step looks at everything once, and submits what has to be.
func (f *follower) step(ctx context.Context) (over bool, err error) {
	// the engine is asked first: a task that has ended by then has stored all that it ever will
	states, err := f.engine.Tasks(ctx, f.job)
	if err != nil {
		if time.Since(f.answered) < patience && ctx.Err() == nil && len(f.had) > 0 {
			f.report(Progress{Note: err.Error()})
			return false, nil
		}
		return false, err
	}
	f.answered = time.Now()
	finished, units, err := f.shares()
	if err != nil {
		return false, err
	}
	var now Progress
	for i, n := range units {
		now.Done, now.Total = now.Done+finished[i], now.Total+n
	}
	now.Fraction = float64(now.Done) / float64(now.Total)
	var again, cancelled []int
	for task := 1; task <= f.job.Tasks; task++ {
		have := finished[task-1]
		state, known := states[task]
		switch _, given := f.given[task]; {
		case state.Phase == Running:
			now.Running++
		case state.Phase == Waiting:
			now.Waiting++
		case have == units[task-1], given:
		case state.Phase == Held:
			now.Waiting++
		case known && state.Phase == Cancelled && f.wasSubmitted(task):
			cancelled = append(cancelled, task)
		default:
			if f.may(task, have, state) {
				again = append(again, task)
			}
		}
		if state.Phase != Cancelled {
			f.doubt[task] = 0
		}
	}
	f.report(now)
	if now.Running+now.Waiting+len(again) == 0 && len(cancelled) > 0 {
		return false, errCancelled
	}
	for _, task := range cancelled { // a task alone, if others are still there when it is looked at again
		if f.doubt[task]++; f.doubt[task] > 1 && f.may(task, f.had[task], states[task]) {
			f.doubt[task] = 0
			again = append(again, task)
		}
	}
	if len(again) > 0 {
		err := f.engine.Submit(ctx, f.job, again)
		if err != nil && now.Running+now.Waiting == 0 && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w; %s keeps what tasks read and the finished units, and the same command tries "+
				"again", errNotSubmitted, err, f.job.Out)
		}
		if err != nil {
			return false, err
		}
	}
	return now.Running+now.Waiting+len(again)+len(cancelled) == 0, nil
}

// wasSubmitted reports whether a task was submitted since the job is followed.
func (f *follower) wasSubmitted(task int) bool { _, ok := f.had[task]; return ok }

// may reports whether a task may be submitted, which has so many of its units, and counts it.
func (f *follower) may(task, have int, state State) bool {
	if f.wasSubmitted(task) {
		f.tries[task]++
		if have > f.had[task] {
			f.tries[task] = 0
		}
		if f.tries[task] > f.options.Retries {
			f.given[task] = state
			f.report(Progress{Task: task, Note: fmt.Sprintf("%s; attempt %d without a further unit: given up",
				state.text(), f.tries[task])})
			return false
		}
		f.report(Progress{Task: task, Note: state.text() + ": submitted again"})
	}
	f.had[task] = have
	return true
}

func (s State) text() string {
	if s.Reason == "" {
		return "ended before its units were finished"
	}
	return "ended before its units were finished (" + s.Reason + ")"
}

func (f *follower) report(p Progress) {
	if f.options.Events != nil {
		f.options.Events(p)
	}
}

// verdict says which tasks were given up, with the ends of their logs.
func (f *follower) verdict() error {
	if len(f.given) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "submit: %d of %d tasks failed; the finished units are kept, and the same command goes on:",
		len(f.given), f.job.Tasks)
	for task := 1; task <= f.job.Tasks; task++ {
		if state, ok := f.given[task]; ok {
			path := f.job.LogPath(task)
			fmt.Fprintf(&text, "\n  task %d %s; %s\n%s", task, state.text(), path, tail(path, 3))
		}
	}
	return errors.New(text.String())
}

// tail returns the last lines of a file, or why it cannot be read.
func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "    " + err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(data)), "\n")
	return "    " + strings.Join(all[max(len(all)-lines, 0):], "\n    ")
}
