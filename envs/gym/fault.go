package gym

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Error is a fault of a pool's environments or workers. It closes the pool.
type Error struct {
	ID string // the environment's id
	// First and Last are the indices of the environments that it concerns: one, or all of a worker.
	First, Last int
	// Seeds are those of the last seeded resets of these environments; −1 where there was none.
	Seeds []int64
	// Doing is what was being done, such as "step with action 2".
	Doing string
	// Err is the cause. It is the context's error where a context ended the request.
	Err error
	// Died says that a worker process died, or was ended because it exceeded its time limit: started again, it may do
	// better.
	Died bool
	// Traceback is Python's, if there is one.
	Traceback string
	// Stderr is the end of what the worker wrote.
	Stderr string
}

// Error implements the error interface; the text has several lines if there is a traceback.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gym: %s, ", e.ID)
	if e.First == e.Last {
		fmt.Fprintf(&b, "environment %d", e.First)
	} else {
		fmt.Fprintf(&b, "environments %d to %d", e.First, e.Last)
	}
	if seeds := seedText(e.Seeds); seeds != "" {
		fmt.Fprintf(&b, " (%s)", seeds)
	}
	fmt.Fprintf(&b, ", %s: %v", e.Doing, e.Err)
	for _, part := range []string{e.Traceback, e.Stderr} {
		if part = strings.TrimSpace(part); part != "" {
			b.WriteString("\n    " + strings.ReplaceAll(part, "\n", "\n    "))
		}
	}
	return b.String()
}

// ErrROM is in the chain of errors about the file of an Atari game that is not there, or is not the one that the
// emulator knows.
var ErrROM = errors.New("the game's ROM is missing")

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// seedText lists seeds, and no more than a reader wants.
func seedText(seeds []int64) string {
	const most = 8
	var words []string
	for i, s := range seeds {
		if i == most {
			words = append(words, "…")
			break
		}
		if s < 0 {
			words = append(words, "none")
		} else {
			words = append(words, fmt.Sprint(s))
		}
	}
	switch len(seeds) {
	case 0:
		return ""
	case 1:
		return "seed " + words[0]
	}
	return "seeds " + strings.Join(words, ", ")
}

// tail keeps the end of what is written to it.
type tail struct {
	mutex sync.Mutex
	text  []byte
}

// tailSize is how much of a worker's output an error repeats.
const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.text)
}
