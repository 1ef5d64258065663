package qvirl

import (
	"errors"
	"testing"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/zoo"
)

// TestMemoryNeedIsThatMeasured: peaks of processes of "qvirl fit", with verdict, on problems with dense transitions and
// four actions, and on gridworlds with five. An estimate may be above them by two thirds, or below by a fifth: what the
// garbage collector leaves lying differs by as much from run to run.
func TestMemoryNeedIsThatMeasured(t *testing.T) {
	for _, c := range []struct {
		method  string
		problem *Problem
		peak    float64
	}{
		{"qvirl", dense(t, 25), 78e6}, {"qvirl", dense(t, 50), 114e6}, {"qvirl", dense(t, 100), 215e6},
		{"qvirl", grid(t, 8), 151e6}, {"qvirl-matched", grid(t, 8), 181e6}, {"qvirl-matched", dense(t, 100), 199e6},
		{"qvirl", grid(t, 100), 1073e6}, {"reference", grid(t, 8), 139e6},
		{"reference", dense(t, 100), 150e6},
		{"valuewalk", grid(t, 8), 74e6}, {"valuewalk", dense(t, 25), 47e6}, {"valuewalk", dense(t, 50), 74e6},
		{"valuewalk", dense(t, 100), 106e6}, {"avril", grid(t, 8), 154e6}, {"avril", dense(t, 25), 89e6},
	} {
		if got := MemoryNeed(c.problem, c.method) / c.peak; got < 0.8 || got > 5.0/3 {
			t.Errorf("%s of %d states: the estimate is %.2f times the %g bytes measured", c.method,
				c.problem.MDP.States(), got, c.peak)
		}
	}
	large := dense(t, 100)
	if unknown, largest := MemoryNeed(large, "new"), MemoryNeed(large, "qvirl"); unknown < largest {
		t.Errorf("a method that is not known needs %g bytes, want at least %g", unknown, largest)
	}
}

// closable counts how often a method is closed.
type closable struct {
	Method
	closed *int
}

func (c closable) Close() error { *c.closed++; return nil }

// TestFitFreesWhatItCompiled: the method that Fit makes is closed, once.
func TestFitFreesWhatItCompiled(t *testing.T) {
	was := builders[method.AVRIL]
	defer func() { builders[method.AVRIL] = was }()
	closed := 0
	builders[method.AVRIL] = builder{was.config, func(config any) (Method, error) {
		m, err := was.build(config)
		return closable{m, &closed}, err
	}}
	r, err := Fit(t.Context(), dense(t, 3), WithMethod(method.AVRIL), WithoutVerdict())
	if r == nil || !errors.Is(err, ErrNotConverged) || closed != 1 {
		t.Errorf("error %v; the method was closed %d times", err, closed)
	}
}

// grid returns a gridworld of the paper's kind.
func grid(t *testing.T, width int) *Problem {
	p, err := zoo.Gridworld(width, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
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
