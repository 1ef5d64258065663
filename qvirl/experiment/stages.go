package experiment

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/go-birl/birl/qvirl"
)

// Stages adds up the progress of the parts of a unit, and the seconds of its methods. It is not for concurrent use.
type Stages struct {
	total, past float64 // cost of all stages, and of those that are over
	progress    qvirl.Progress
	seconds     map[string]float64
	key         string // if not empty, all seconds count as its
}

// steps is the resolution of a unit's progress.
const steps = 10_000

// NewStages returns stages whose costs add up to total, in any unit. If key is not empty, all seconds count as its.
func NewStages(total float64, key string, progress qvirl.Progress) *Stages {
	return &Stages{total: total, progress: progress, seconds: map[string]float64{}, key: key}
}

// Run runs a stage, which counts as cost and shows as label, and adds its duration to the seconds of key.
func (t *Stages) Run(key, label string, cost float64, run func(qvirl.Progress) error) error {
	start := time.Now()
	at := func(fraction float64) int { return int(steps * min((t.past+fraction*cost)/t.total, 1)) }
	t.progress.Report(at(0), steps, label)
	err := run(func(done, total int, status string) {
		if status != "" {
			status = ": " + status
		}
		t.progress.Report(at(float64(done)/float64(max(total, 1))), steps, label+status)
	})
	t.past += cost
	if t.key != "" {
		key = t.key
	}
	t.seconds[key] += time.Since(start).Seconds()
	return err
}

// Seconds returns the wall-clock seconds of each key.
func (t *Stages) Seconds() map[string]float64 { return t.seconds }

// Parallel runs n jobs on all processors, and stops at the first error or when ctx ends.
func Parallel(ctx context.Context, n int, progress qvirl.Progress, job func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	var mutex sync.Mutex
	next, done := 0, 0
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for {
				mutex.Lock()
				i := next
				next++
				mutex.Unlock()
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := job(i); err != nil {
					cancel(err)
					return
				}
				mutex.Lock()
				done++
				progress.Report(done, n, "")
				mutex.Unlock()
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}
