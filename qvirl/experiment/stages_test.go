package experiment

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-birl/birl/qvirl/irl"
)

// TestStagesShareAUnit checks that a unit's progress rises, and whose the time is.
func TestStagesShareAUnit(t *testing.T) {
	var at []int
	s := newStages("m", func(done, total int, _ string) { at = append(at, done*1000/total) })
	for _, key := range []string{"", "other"} {
		if err := s.Run(key, "stage",
			func(p irl.Progress) error { p.Report(1, 2, "half"); p.Report(2, 2, ""); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(at, []int{0, 250, 500, 500, 625, 750}) {
		t.Errorf("progress %v", at)
	}
	if times := s.times; len(times.Seconds) != 2 || times.Seconds["m"] <= 0 || times.Seconds["other"] <= 0 {
		t.Errorf("times %v", times)
	}
}

// TestProcessorTimeIsThatOfWork compares stages that compute with one that waits.
func TestProcessorTimeIsThatOfWork(t *testing.T) {
	s := NewStages(nil)
	work := func(d time.Duration) func(irl.Progress) error {
		return func(irl.Progress) error {
			for until := ProcessorSeconds() + d.Seconds(); ProcessorSeconds() < until; {
			}
			return nil
		}
	}
	for key, run := range map[string]func(irl.Progress) error{
		"work": work(100 * time.Millisecond),
		"wait": func(irl.Progress) error { time.Sleep(100 * time.Millisecond); return nil },
	} {
		if err := s.Run(key, key, run); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Run("outer", "outer", func(irl.Progress) error {
		return s.Run("inner", "inner",
			work(20*time.Millisecond))
	})
	if err != nil {
		t.Fatal(err)
	}
	times := s.times
	p := times.Processor
	if len(p) == 0 && math.IsNaN(ProcessorSeconds()) {
		return // the system does not tell it
	}
	// Other tests may run in the same program: a wait may count as some work, but work never as less than it is.
	if !(p["work"] >= 0.1 && p["inner"] >= 0.02) || !(p["wait"] < p["work"]) || !(times.Seconds["wait"] >= 0.1) {
		t.Errorf("times %+v", times)
	}
	if !(p["outer"] < 0.02 && p["outer"] > -1e-9) || !(times.Seconds["outer"] < times.Seconds["inner"]) {
		t.Errorf("the inner stage counts as the outer's too: %+v", times)
	}
}

func TestParallelRunsEachJobOnceAndStopsAtAnError(t *testing.T) {
	var runs [50]atomic.Int32
	last := 0
	err := Parallel(context.Background(), len(runs), func(done, total int, _ string) { last = done },
		func(i int) error { runs[i].Add(1); return nil })
	if err != nil || last != len(runs) {
		t.Errorf("error %v, %d jobs reported", err, last)
	}
	for i := range runs {
		if n := runs[i].Load(); n != 1 {
			t.Errorf("job %d ran %d times", i, n)
		}
	}
	broken := errors.New("broken")
	if err := Parallel(context.Background(), 5, nil, func(i int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want the job's", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Parallel(ctx, 5, nil,
		func(i int) error { t.Error("a job ran after the end"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
