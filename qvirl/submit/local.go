package submit

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/process"
)

// Local runs the tasks as processes of this machine, which end with this one.
type Local struct {
	Parallel int // processes at the same time

	mutex   sync.Mutex
	states  map[int]State
	waiting []int
	running map[int]*exec.Cmd
	left    bool
	ended   sync.WaitGroup
}

// ending is how long processes may take to end when they are asked to.
const ending = 10 * time.Second

// Script implements Engine: a line for each task.
func (l *Local) Script(j Job) (string, error) {
	var text strings.Builder
	for task := 1; task <= j.Tasks; task++ {
		fmt.Fprintf(&text, "GOMAXPROCS=%d %s\n", j.CPUs, command.Quote(j.command(task)...))
	}
	return text.String(), nil
}

// Submit implements Engine.
func (l *Local) Submit(_ context.Context, j Job, tasks []int) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.states == nil {
		l.states, l.running = map[int]State{}, map[int]*exec.Cmd{}
	}
	for _, task := range tasks {
		l.states[task] = State{Phase: Waiting}
		l.waiting = append(l.waiting, task)
	}
	l.start(j)
	return nil
}

// start starts as many of the waiting tasks as may run; the mutex is held.
func (l *Local) start(j Job) {
	for len(l.waiting) > 0 && len(l.running) < max(l.Parallel, 1) && !l.left {
		task := l.waiting[0]
		l.waiting = l.waiting[1:]
		c, err := launch(j, task)
		if err != nil {
			l.states[task] = State{Phase: Ended, Reason: err.Error()}
			continue
		}
		l.running[task], l.states[task] = c, State{Phase: Running}
		l.ended.Go(func() {
			state := State{Phase: Ended}
			if err := c.Wait(); err != nil {
				state.Reason = err.Error()
			}
			l.mutex.Lock()
			defer l.mutex.Unlock()
			delete(l.running, task)
			l.states[task] = state
			l.start(j)
		})
	}
}

// launch starts the process of a task.
func launch(j Job, task int) (*exec.Cmd, error) {
	log, err := os.OpenFile(j.LogPath(task), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	words := j.command(task)
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Stdout, c.Stderr = j.Dir, log, log
	c.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", j.CPUs))
	process.EndWithParent(c, syscall.SIGTERM)
	return c, c.Start()
}

// Tasks implements Engine.
func (l *Local) Tasks(context.Context, Job) (map[int]State, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return maps.Clone(l.states), nil
}

// Leave implements Engine: it asks the processes to end, and waits for them.
func (l *Local) Leave(Job) string {
	signal := func(s os.Signal) {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.left = true
		for _, c := range l.running {
			_ = c.Process.Signal(s) // fails only if it has ended by itself
		}
	}
	signal(syscall.SIGTERM)
	late := time.AfterFunc(ending, func() { signal(os.Kill) })
	l.ended.Wait()
	late.Stop()
	return "Its processes have ended; the finished units are kept, and the same command goes on."
}
