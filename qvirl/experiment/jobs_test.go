package experiment

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
)

func TestJobs(t *testing.T) {
	var jobs Jobs
	stage := func(s *Stages) error { return s.Run("work", "work", 1, func(irl.Progress) error { return nil }) }
	jobs.Add(Unit{Name: "first", Cost: 1}, "apart", func(_ context.Context, s *Stages) (*Result,
		error) {
		return &Result{}, stage(s)
	})
	var seen [][]uint64
	failure := errors.New("out of luck")
	jobs.AddChunks("worlds", []uint64{5, 6, 7}, 2, 3, func(_ context.Context, seeds []uint64, s *Stages) (*Result,
		error) {
		seen = append(seen, seeds)
		if seeds[0] == 7 {
			return nil, failure
		}
		return &Result{}, stage(s)
	})
	p := jobs.Plan("name", "quick", 1)
	if want := []Unit{{"first", 1}, {"worlds-0000", 6}, {"worlds-0002", 3}}; !slices.Equal(p.Units, want) {
		t.Fatalf("units %v, want %v", p.Units, want)
	}
	for unit, key := range []string{"apart", "work"} {
		result, err := p.Run(t.Context(), unit, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := result.Times.Seconds[key]; !ok || len(result.Times.Seconds) != 1 {
			t.Errorf("unit %d: seconds %v, want those of %q", unit, result.Times, key)
		}
	}
	if _, err := p.Run(t.Context(), 2, nil); !errors.Is(err, failure) {
		t.Errorf("the error of a job came back as %v", err)
	}
	if len(seen) != 2 || !slices.Equal(seen[0], []uint64{5, 6}) || !slices.Equal(seen[1], []uint64{7}) {
		t.Errorf("chunks %v, want [5 6] and [7]", seen)
	}
}
