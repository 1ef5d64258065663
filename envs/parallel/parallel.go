// Package parallel runs independent jobs on all processors.
package parallel

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each runs the jobs 0 … n−1, as many at a time as GOMAXPROCS allows. It starts no more of them after the first error,
// which it returns and ends the jobs' context with, or after ctx's end, whose cause it returns.
func Each(ctx context.Context, n int, job func(ctx context.Context, i int) error) error {
	none := func() (struct{}, error) { return struct{}{}, nil }
	return With(ctx, n, none, func(ctx context.Context, _ struct{}, i int) error { return job(ctx, i) })
}

// With is Each for jobs that need something which only one of them may use at a time, such as a solver: each worker
// makes its own.
func With[W any](ctx context.Context, n int, worker func() (W, error),
	job func(ctx context.Context, w W, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() error {
			w, err := worker()
			for i := int(next.Add(1)) - 1; err == nil && i < n && inner.Err() == nil; i = int(next.Add(1)) - 1 {
				err = job(inner, w, i)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Ahead goes through the results of the jobs 0 … n−1 in their order, while the jobs after them run already, as many at
// a time as GOMAXPROCS allows. Where the loop ends early no job begins any more, and those that run are waited for:
// what the loop sees does not depend on the number of processors.
func Ahead[T any](n int, job func(i int) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		var running []chan T
		begin := func(i int) {
			result := make(chan T, 1)
			running = append(running, result)
			go func() { result <- job(i) }()
		}
		for next := 0; next < n || len(running) > 0; {
			for ; next < n && len(running) < runtime.GOMAXPROCS(0); next++ {
				begin(next)
			}
			first := <-running[0]
			running = running[1:]
			if !yield(first) {
				for _, result := range running {
					<-result
				}
				return
			}
		}
	}
}
