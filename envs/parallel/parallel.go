// Package parallel runs independent jobs on all processors.
package parallel

import (
	"context"
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
