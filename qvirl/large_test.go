package qvirl_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
)

// longCorridor is a row of states, of which action 0 stays and action 1 moves on; the last ends the episode. The
// demonstrator is seen to walk at its beginning.
func longCorridor(t *testing.T, states int) *qvirl.Problem {
	rows := make([][]mdp.Transition, 2*states)
	for s := range states - 1 {
		rows[2*s] = []mdp.Transition{{Next: s, Prob: 1}}
		rows[2*s+1] = []mdp.Transition{{Next: s + 1, Prob: 1}}
	}
	m, err := mdp.New(states, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(states, 0, 2), Discount: 0.9, Beta: 2}
	for s := range 6 {
		p.Demos = append(p.Demos, mdp.Step{State: s, Action: 1})
	}
	return p
}

// Of many states, a problem that a covariance of low rank cannot serve is sampled.
func TestDefaultMethodOfManyStates(t *testing.T) {
	const states = tabular.LargestFull + 52
	std := make([]float64, states)
	for i := range std[1:] {
		std[1+i] = 2
	}
	for want, prior := range map[string]qvirl.Prior{
		method.QVIRL:     qvirl.IndependentPrior(states, 0, 2),
		method.Reference: qvirl.DiagonalPrior(make([]float64, states), std), // a known reward
	} {
		p := longCorridor(t, states)
		p.Prior = prior
		if got := qvirl.DefaultMethod(p); got != want {
			t.Errorf("method %s, want %s", got, want)
		}
	}
	if got := qvirl.DefaultMethod(longCorridor(t, 6)); got != method.Matched {
		t.Errorf("method %s of few states, want %s", got, method.Matched)
	}
}

// A problem of many states is fitted without being asked how, says that it was not judged and why, knows more where
// there were demonstrations than elsewhere, and comes back from a file as it was.
func TestFitOfManyStates(t *testing.T) {
	const states = tabular.LargestFull + 52
	p := longCorridor(t, states)
	r, err := qvirl.Fit(context.Background(), p)
	if !errors.Is(err, qvirl.ErrNotConverged) {
		t.Fatal(err)
	}
	if r.Verdict != "not judged" || r.Returned != method.QVIRL || !strings.Contains(r.Reason, "GB for 2100 states") ||
		strings.Contains(r.Reason, "not converged") {
		t.Errorf("%+v", r)
	}
	g := r.Posterior.(*tabular.Gaussian)
	if ok, _ := g.Convergence(); !ok || g.Info().Rank != tabular.DefaultRank {
		t.Errorf("converged %v, %+v", ok, g.Info())
	}
	probs := g.ActionProbs()
	if seen, unseen := probs[2*2+1], probs[2*1000+1]; seen < 0.8 || unseen < 0.3 || unseen > 0.7 {
		t.Errorf("a demonstrated action has the probability %g, another one %g", seen, unseen)
	}
	if far := g.Reward(1000); far.StdDev() < 1.5 || far.StdDev() > 2.1 {
		t.Errorf("a reward that nothing is known of has the standard deviation %g, a priori 2", far.StdDev())
	}
	path := filepath.Join(t.TempDir(), "p.npz")
	if err := qvirl.Save(path, g); err != nil {
		t.Fatal(err)
	}
	again, err := qvirl.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	draw := func(p qvirl.Posterior) *qvirl.Samples {
		s, err := p.Sample(rand.New(rand.NewPCG(1, 1)), 3)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b := draw(g), draw(again); !mat.Equal(a.Reward, b.Reward) || !mat.Equal(a.Q, b.Q) ||
		a.Reward.At(0, 0) == a.Reward.At(1, 0) || again.Reward(3) != g.Reward(3) {
		t.Error("the posterior that was loaded is another one")
	}
}
