package parallel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEveryJobRunsOnce(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		counts := make([]atomic.Int64, n)
		err := Each(t.Context(), n, func(_ context.Context, i int) error { counts[i].Add(1); return nil })
		if err != nil {
			t.Fatal(err)
		}
		for i := range counts {
			if got := counts[i].Load(); got != 1 {
				t.Errorf("job %d of %d ran %d times", i, n, got)
			}
		}
	}
}

// What a worker has is used by one job at a time, and the race detector would see if it were not.
func TestWorkersAreNotShared(t *testing.T) {
	var lock sync.Mutex
	var workers []*int
	err := With(t.Context(), 1000, func() (*int, error) {
		lock.Lock()
		defer lock.Unlock()
		workers = append(workers, new(int))
		return workers[len(workers)-1], nil
	}, func(_ context.Context, w *int, _ int) error { *w++; return nil })
	sum := 0
	for _, w := range workers {
		sum += *w
	}
	if err != nil || sum != 1000 {
		t.Errorf("%d jobs, error %v", sum, err)
	}
	broken := errors.New("broken")
	if err := With(t.Context(), 5, func() (int, error) { return 0, broken },
		func(context.Context, int, int) error { return nil }); err != broken {
		t.Errorf("a worker that cannot be made: %v", err)
	}
}

func TestErrorsAndContextsEndTheRest(t *testing.T) {
	broken := errors.New("broken")
	var ran atomic.Int64
	err := Each(t.Context(), 1e6, func(ctx context.Context, i int) error {
		if ran.Add(1); i == 3 {
			return broken
		}
		return nil
	})
	if err != broken || ran.Load() == 1e6 {
		t.Errorf("%v after %d jobs, want it after a few", err, ran.Load())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ran.Store(0)
	err = Each(ctx, 1e6, func(ctx context.Context, i int) error {
		if ran.Add(1); i == 3 {
			cancel(broken)
		}
		return nil
	})
	if err != broken || ran.Load() == 1e6 {
		t.Errorf("%v after %d jobs, want the cause after a few", err, ran.Load())
	}
	var seen []error
	Each(t.Context(), 1, func(ctx context.Context, _ int) error { seen = append(seen, ctx.Err()); return nil })
	if !slices.Equal(seen, []error{nil}) {
		t.Errorf("the job's context: %v", seen)
	}
}

func TestAheadKeepsTheOrder(t *testing.T) {
	var seen []int
	for v := range Ahead(1000, func(i int) int { return i * i }) {
		seen = append(seen, v)
	}
	for i, v := range seen {
		if v != i*i {
			t.Fatalf("result %d is %d, want %d", i, v, i*i)
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d results, want 1000", len(seen))
	}
	for v := range Ahead(0, func(int) int { return 1 }) {
		t.Errorf("a result %d of no job", v)
	}
}

// A loop that ends early waits for the jobs that run, which are few.
func TestAheadEndsWithTheLoop(t *testing.T) {
	var begun, ended atomic.Int64
	for v := range Ahead(1e6, func(i int) int { begun.Add(1); defer ended.Add(1); return i }) {
		if v == 10 {
			break
		}
	}
	if n := begun.Load(); n < 11 || n > 11+int64(runtime.GOMAXPROCS(0)) || ended.Load() != n {
		t.Errorf("%d jobs begun and %d ended after 11 results on %d processors", n, ended.Load(),
			runtime.GOMAXPROCS(0))
	}
}
