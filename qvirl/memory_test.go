package qvirl

import (
	"testing"

	"github.com/go-birl/birl/envs/mdp"
)

// TestMemoryNeedIsThatMeasured: peaks of "qvirl fit" on problems with dense transitions and four actions. An estimate
// may be above them by two thirds, or below by a seventh.
func TestMemoryNeedIsThatMeasured(t *testing.T) {
	for _, c := range []struct {
		method string
		states int
		peak   float64
	}{
		{"qvirl", 25, 367e6}, {"qvirl", 50, 445e6}, {"qvirl", 100, 607e6}, {"qvirl-matched", 25, 340e6},
		{"qvirl-matched", 50, 432e6},
		{"qvirl-matched", 100, 619e6}, {"qvirl-matched", 1000, 22.6e9},
		{"valuewalk", 25, 45e6}, {"valuewalk", 50, 62e6}, {"valuewalk", 100, 96e6},
		{"avril", 25, 35e6}, {"avril", 50, 47e6}, {"avril", 100, 71e6},
	} {
		if got := MemoryNeed(dense(t, c.states), c.method) / c.peak; got < 6.0/7 || got > 5.0/3 {
			t.Errorf("%s of %d states: the estimate is %g times the %g bytes measured", c.method, c.states, got, c.peak)
		}
	}
	large := dense(t, 100)
	if unknown, largest := MemoryNeed(large, "new"), MemoryNeed(large, "qvirl"); unknown < largest {
		t.Errorf("a method that is not known needs %g bytes, want at least %g", unknown, largest)
	}
}

// dense returns a problem of four actions, each of which may lead anywhere.
func dense(t *testing.T, states int) *Problem {
	row := make([]mdp.Transition, states)
	for s := range row {
		row[s] = mdp.Transition{Next: s, Prob: 1 / float64(states)}
	}
	rows := make([][]mdp.Transition, 4*states)
	for i := range rows {
		rows[i] = row
	}
	m, err := mdp.New(states, 4, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Problem{MDP: m, Prior: IndependentPrior(states, 0, 1), Discount: 0.9, Beta: 1}
}
