package demo

import (
	"strings"
	"testing"
)

func TestRemarks(t *testing.T) {
	of := func(shape []int, actions int, observations []float32, taken ...int) *Set {
		return &Set{Description: Description{ObservationShape: shape, Actions: actions},
			Trajectories: []Trajectory{{Observations: observations, Actions: taken}}}
	}
	for name, c := range map[string]struct {
		set  *Set
		want []string
	}{
		"nothing to say": {of([]int{1}, 2, []float32{1, 2, 3}, 0, 1), nil},
		"an action that never occurs, and states by number": {of(nil, 3, []float32{1, 2, 3}, 1, 2),
			[]string{"1 of 3 actions never occur: 0;", "single whole numbers"}},
		"a number that is not whole": {of(nil, 2, []float32{1, 2.5, 3}, 0, 1), nil},
		"pictures of another layout": {of([]int{1, 2, 1}, 2, make([]float32, 6), 0, 1),
			[]string{"[1 2 1] are read as 2"}},
		"many that never occur": {of([]int{1}, 1e9, []float32{0, 0}, 1e9-1),
			[]string{"999999999 of 1000000000 actions never occur: 0 1 2 3 4 5 6 7 8 9 …"}},
	} {
		got := c.set.Remarks()
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}
