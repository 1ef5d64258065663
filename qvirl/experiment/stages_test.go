package experiment

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/go-birl/birl/qvirl"
)

// TestStagesCoverTheWholeUnit checks that a unit's progress rises to its end, and whose the seconds are.
func TestStagesCoverTheWholeUnit(t *testing.T) {
	for _, key := range []string{"", "together"} {
		var at []int
		s := NewStages(4, key, func(done, total int, _ string) { at = append(at, done*100/total) })
		for _, cost := range []float64{1, 3} {
			if err := s.Run("m", "m", cost, func(p qvirl.Progress) error { p.Report(1, 2, "half"); p.Report(2, 2, ""); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(at, []int{0, 12, 25, 25, 62, 100}) {
			t.Errorf("progress %v", at)
		}
		want := key
		if key == "" {
			want = "m"
		}
		if seconds := s.Seconds(); len(seconds) != 1 || seconds[want] <= 0 {
			t.Errorf("key %q: seconds %v", key, seconds)
		}
	}
}

func TestParallelRunsEachJobOnceAndStopsAtAnError(t *testing.T) {
	var runs [50]atomic.Int32
	last := 0
	err := Parallel(context.Background(), len(runs), func(done, total int, _ string) { last = done }, func(i int) error { runs[i].Add(1); return nil })
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
	if err := Parallel(ctx, 5, nil, func(i int) error { t.Error("a job ran after the end"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
