package reference

import (
	"testing"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// TestRescale: of many demonstrations β R(0,0) − β R(0,1) is known within 1 %, and neither β nor the rewards are. About
// R = 0, scale moves leave it as it is, and are accepted whatever the prior's mean; those about the mean never are.
func TestRescale(t *testing.T) {
	m, err := mdp.New(1, 2, make([][]mdp.Transition, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.Prior{Mean: []float64{3, 1}, Std: []float64{2, 2}}, Discount: 0.9, Beta: 0.5,
		BetaLogStd: 1}
	for i := range 100000 {
		p.Demos = append(p.Demos, mdp.Step{Action: i % 4 / 3}) // one of four is the second action
	}
	j, err := newJoint(Default(), p, &mcmc.Job{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := j.subs[0]
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	k, moves := s.chains[1], 0 // it starts near the mode
	for range 400 {
		before := k.at.u[0]
		if k.rescale(); k.at.u[0] != before {
			moves++
		}
	}
	if moves < 80 { // most of the half about R = 0
		t.Errorf("%d of 400 scale moves are accepted, want 80 at least", moves)
	}
}
