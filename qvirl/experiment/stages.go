package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
)

// Stages tell the progress of the parts of a unit, and take their times. They are not for concurrent use.
type Stages struct {
	progress irl.Progress
	times    Times
	method   string  // if not empty, all time but that of other work counts as its
	past     float64 // fraction of the unit that counts as done: each stage counts as half of what is left
}

// steps is the resolution of a unit's progress.
const steps = 10_000

// Times say how long each method took.
type Times struct {
	Seconds map[string]float64 // by the clock
	// Processor is the processor time of all threads together, in seconds, where the system tells it and no other unit
	// is computed meanwhile. Other work on the machine makes it longer by little, but the clock by much: methods are
	// compared by this.
	Processor map[string]float64
}

// NewStages returns stages apart from any run.
func NewStages(progress irl.Progress) *Stages { return newStages("", progress) }

func newStages(method string, progress irl.Progress) *Stages {
	return &Stages{progress: progress, times: Times{map[string]float64{}, map[string]float64{}}, method: method}
}

// Run runs a stage, which shows as label, and adds its duration to the time of key; if key is empty, to that of the
// unit's method. What stages within it add to other keys is not counted twice.
func (t *Stages) Run(key, label string, run func(irl.Progress) error) error {
	key = cmp.Or(key, t.method)
	start, processor := time.Now(), ProcessorSeconds()
	before := t.total()
	share := (1 - t.past) / 2
	at := func(fraction float64) int { return int(steps * (t.past + fraction*share)) }
	t.progress.Report(at(0), steps, label)
	err := run(func(done, total int, status string) {
		if status != "" {
			status = ": " + status
		}
		t.progress.Report(at(float64(done)/float64(max(total, 1))), steps, label+status)
	})
	t.past += share
	within := t.total()
	t.times.Seconds[key] += time.Since(start).Seconds() - (within.Seconds - before.Seconds)
	if used := ProcessorSeconds() - processor; !math.IsNaN(used) {
		t.times.Processor[key] += used - (within.Processor - before.Processor)
	}
	return err
}

// Stage runs a stage that computes something. Its error says of which stage it is.
func Stage[T any](t *Stages, key, label string, run func(irl.Progress) (T, error)) (out T, err error) {
	if err = t.Run(key, label, func(progress irl.Progress) (err error) {
		out, err = run(progress)
		return err
	}); err != nil {
		return out, fmt.Errorf("%s: %w", label, err)
	}
	return out, nil
}

// FitStage runs the stage that fits a method to problems.
func FitStage(ctx context.Context, t *Stages, key, label string, m irl.Method,
	problems []*irl.Problem) ([]irl.Posterior, error) {
	return Stage(t, key, label, func(progress irl.Progress) ([]irl.Posterior, error) {
		return m.Fit(ctx, problems, progress)
	})
}

// total returns the time of all keys together.
func (t *Stages) total() (sum struct{ Seconds, Processor float64 }) {
	for _, s := range t.times.Seconds {
		sum.Seconds += s
	}
	for _, s := range t.times.Processor {
		sum.Processor += s
	}
	return sum
}

// Seconds returns the time of a key so far, by the clock.
func (t *Stages) Seconds(key string) float64 { return t.times.Seconds[key] }

// Parallel is parallel.Each, with progress.
func Parallel(ctx context.Context, n int, progress irl.Progress, job func(i int) error) error {
	var lock sync.Mutex
	done := 0
	return parallel.Each(ctx, n, func(_ context.Context, i int) error {
		if err := job(i); err != nil {
			return err
		}
		lock.Lock()
		defer lock.Unlock()
		done++
		progress.Report(done, n, "")
		return nil
	})
}
