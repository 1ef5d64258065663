package irl

import (
	"slices"
	"testing"
)

func TestStagesFollowEachOther(t *testing.T) {
	var fractions []float64
	var last string
	progress := Progress(func(done, total int, status string) {
		fractions, last = append(fractions, float64(done)/float64(total)), status
	})
	first, second := progress.Stage("", 0, 1, 4), progress.Stage("walk: ", 1, 3, 4)
	first(1, 2, "half")
	first(2, 2, "whole")
	second(1, 3, "a third")
	second(3, 3, "whole")
	if want := []float64{0.125, 0.25, 0.5, 1}; !slices.Equal(fractions, want) || last != "walk: whole" {
		t.Errorf("the stages end at %v, the last one with %q; want %v", fractions, last, want)
	}
	Progress(nil).Stage("", 0, 1, 2)(1, 1, "") // nobody listens
}
