package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/go-birl/birl/envs/progress"
)

// tasks writes what is being done: on a terminal a line that is rewritten, elsewhere plain lines.
type tasks struct {
	w        io.Writer
	terminal bool
	width    func() int
	patience time.Duration // before a task gets a plain line of its own while it is still running
	beat     time.Duration // between further plain lines about it
}

func newTasks(f *os.File) *tasks {
	fd := int(f.Fd())
	return &tasks{w: f, terminal: term.IsTerminal(fd), patience: time.Second, beat: 30 * time.Second,
		width: func() int {
			if width, _, err := term.GetSize(fd); err == nil && width > 20 {
				return width
			}
			return 140
		}}
}

// task is one thing being done, with its time.
type task struct {
	p     *tasks
	title string
	start time.Time

	mu     sync.Mutex
	detail string
	closed chan struct{}
	idle   sync.WaitGroup
}

// begin announces a task. Exactly one of done and failed must follow.
func (p *tasks) begin(title string) *task {
	t := &task{p: p, title: title, start: time.Now(), closed: make(chan struct{})}
	first, every := p.patience, p.beat
	if p.terminal {
		first, every = 0, 200*time.Millisecond
	}
	t.idle.Go(func() {
		for wait := first; ; wait = every {
			select {
			case <-t.closed:
				return
			case <-time.After(wait):
				t.redraw()
			}
		}
	})
	return t
}

// say sets the detail shown behind the task, for instance the last line of a command.
func (t *task) say(detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.detail = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, detail))
}

func (t *task) redraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := fmt.Sprintf("… %s  %s", t.title, progress.Brief(time.Since(t.start)))
	if t.detail != "" {
		line += "  " + t.detail
	}
	line = cut(line, t.p.width()-1)
	if t.p.terminal {
		progress.Rewrite(t.p.w, line)
	} else {
		fmt.Fprintln(t.p.w, line)
	}
}

// done ends the task; note, if not empty, says what came of it.
func (t *task) done(note string) { t.end("✓", note) }

// failed ends the task; the explanation is the caller's to give. What was interrupted is shown as such.
func (t *task) failed(ctx context.Context) {
	if ctx.Err() != nil {
		t.end("✗", "interrupted")
	} else {
		t.end("✗", "failed")
	}
}

func (t *task) end(mark, note string) {
	close(t.closed)
	t.idle.Wait()
	if t.p.terminal {
		progress.Rewrite(t.p.w, "")
	}
	line := fmt.Sprintf("%s %s  %s", mark, t.title, progress.Brief(time.Since(t.start)))
	if note != "" {
		line += "  " + note
	}
	fmt.Fprintln(t.p.w, cut(line, t.p.width()))
}

// cut shortens text to at most n characters.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:max(n-1, 0)]) + "…"
}
