package experiment

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
)

// Stages adds up the progress of the parts of a unit, and the time of its methods. It is not for concurrent use.
type Stages struct {
	total, past float64 // cost of all stages, and of those that are over
	progress    irl.Progress
	times       Times
	key         string // if not empty, all time counts as its
}

// steps is the resolution of a unit's progress.
const steps = 10_000

// Times say how long each method took.
type Times struct {
	Seconds map[string]float64 // by the clock
	// Processor is the processor time of all threads together, in seconds, where the system tells it. Other work on the
	// machine makes it longer by little, but the clock by much: methods are compared by this.
	Processor map[string]float64
}

// add adds the time since the clock and the program's processor time were as given.
func (t Times) add(key string, clock time.Time, processor float64) {
	t.Seconds[key] += time.Since(clock).Seconds()
	if used := processorSeconds() - processor; !math.IsNaN(used) {
		t.Processor[key] += used
	}
}

// Move takes the time of one key, which counts as another's too, off the other's.
func (t Times) Move(key, from string) {
	for _, m := range []map[string]float64{t.Seconds, t.Processor} {
		if _, ok := m[from]; ok {
			m[from] -= m[key]
		}
	}
}

// NewStages returns stages whose costs add up to total, in any unit. If key is not empty, all time counts as its.
func NewStages(total float64, key string, progress irl.Progress) *Stages {
	return &Stages{total: total, progress: progress, times: Times{map[string]float64{}, map[string]float64{}}, key: key}
}

// Run runs a stage, which counts as cost and shows as label, and adds its duration to the time of key.
func (t *Stages) Run(key, label string, cost float64, run func(irl.Progress) error) error {
	start, processor := time.Now(), processorSeconds()
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
	t.times.add(key, start, processor)
	return err
}

// Times returns the time of each key.
func (t *Stages) Times() Times { return t.times }

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
