package training

import (
	"errors"
	"strings"
	"testing"
)

// program says when it is freed.
type program struct {
	key   int
	freed *int
	err   error
}

func (p *program) Free() error { *p.freed++; return p.err }

func TestPool(t *testing.T) {
	var pool Pool[int, *program]
	freed, made := 0, 0
	acquire := func(key int) *program {
		p, err := pool.Acquire(key, func() (*program, error) {
			pool.Counts() // comes back: others do not wait while a program is made
			made++
			return &program{key, &freed, nil}, nil
		})
		if err != nil || p.key != key {
			t.Fatalf("a program for %d when asked for %d (error %v)", p.key, key, err)
		}
		return p
	}
	a, b := acquire(1), acquire(1)
	if a == b || made != 2 {
		t.Error("a program was given to two")
	}
	pool.Release(1, a)
	pool.Release(1, b)
	if acquire(1) != b || acquire(2) == a || made != 3 {
		t.Errorf("%d programs were made, want 3", made)
	}
	for key := range maxIdle {
		pool.Release(key+10, &program{key + 10, &freed, nil})
	}
	if compiled, idle := pool.Counts(); idle != maxIdle || freed != 1 || compiled != 3 {
		t.Errorf("%d programs are idle and %d freed, %d compiled", idle, freed, compiled)
	}
	broken := errors.New("the device is gone")
	last := &program{7, &freed, broken}
	pool.Release(7, last)
	if err := pool.Close(); !errors.Is(err, broken) || freed != maxIdle+2 || !pool.Closed() {
		t.Errorf("closing: error %v, %d freed", err, freed)
	}
	pool.Release(1, b) // was in use
	if _, idle := pool.Counts(); idle != 0 || freed != maxIdle+3 {
		t.Errorf("after closing %d programs are idle, %d were freed", idle, freed)
	}
	if _, err := pool.Acquire(9, func() (*program, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of making", err)
	}
}

func TestGuard(t *testing.T) {
	cause := errors.New("shapes differ")
	err := Guard("tabular", "a training step", func() { panic(cause) })
	if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "tabular: a training step: ") {
		t.Errorf("error %v", err)
	}
	if err := Guard("tabular", "nothing", func() {}); err != nil {
		t.Error(err)
	}
}
