package portrait

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// posterior is that of a world of two cells by two, made of random samples of two chains, and its samples.
func posterior(t *testing.T, pairs bool) (*mcmc.Posterior, *irl.Samples) {
	t.Helper()
	w, err := gridworld.New(2, 2, make([]float64, 4), make([]bool, 4), 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	dim := 4
	if pairs {
		dim = 20
	}
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(dim, 0, 1), Discount: 0.9, Beta: 1.5,
		Demos: []mdp.Step{{State: 1, Action: 2}, {State: 1, Action: 2}, {State: 1, Action: 0}, {State: 3, Action: 4}}}
	rng := rand.New(rand.NewPCG(1, 2))
	rewards := mat.NewDense(200, dim, nil)
	rewards.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, rewards)
	samples, err := p.SolveSamples(rewards)
	if err != nil {
		t.Fatal(err)
	}
	out := mcmc.NewPosterior(p, 2, 100)
	values := samples.Values(5)
	for i := range 200 {
		if pairs {
			out.Set(i, rewards.RawRowView(i), samples.Q.RawRowView(i))
		} else {
			out.Set(i, rewards.RawRowView(i), values.RawRowView(i))
		}
	}
	return out, samples
}

func TestOf(t *testing.T) {
	for _, pairs := range []bool{false, true} {
		post, samples := posterior(t, pairs)
		got, err := Of("valuewalk", post, Options{Action: 3})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Marginals) != 4 || len(got.Draws) != 200 || len(got.Policy) != 20 {
			t.Fatalf("%d marginals, %d draws", len(got.Marginals), len(got.Draws))
		}
		for s := range 4 {
			of := s
			if pairs {
				of = 5*s + 3
			}
			x := mat.Col(nil, of, samples.Reward)
			if got.Marginals[s].Mean() != stat.Mean(x, nil) || got.Draws[7][s] != x[7] {
				t.Errorf("state %d: mean %g, draw %g", s, got.Marginals[s].Mean(), got.Draws[7][s])
			}
			rHat, bulk, _ := mcmc.Diagnose([][]float64{x[:100], x[100:]})
			if got.RHat[s] != rHat || got.ESS[s] != bulk {
				t.Errorf("state %d: R̂ %g, want %g; ESS %g, want %g", s, got.RHat[s], rHat, got.ESS[s], bulk)
			}
			for a := range 5 { // the policy in plain sight
				sum := 0.0
				for i := range 200 {
					q, all := samples.Q.RawRowView(i)[5*s:5*s+5], 0.0
					for _, v := range q {
						all += math.Exp(1.5 * v)
					}
					sum += math.Exp(1.5*q[a]) / all / 200
				}
				if math.Abs(got.Policy[5*s+a]-sum) > 1e-9 {
					t.Errorf("state %d, action %d: probability %g, want %g", s, a, got.Policy[5*s+a], sum)
				}
			}
		}
	}
	post, _ := posterior(t, false)
	if _, err := Of("valuewalk", post, Options{Action: 5}); err == nil {
		t.Error("an action that there is not was accepted")
	}
	if _, err := Of("valuewalk", struct{ irl.Posterior }{post}, Options{Draws: 1}); err == nil {
		t.Error("one draw was accepted")
	}
	drawn, err := Of("valuewalk", struct{ irl.Posterior }{post}, Options{Draws: 30})
	if err != nil || len(drawn.Draws) != 30 || drawn.RHat != nil {
		t.Errorf("without chains: %+v, %v", drawn, err)
	}
}

func TestDecisions(t *testing.T) {
	post, samples := posterior(t, false)
	got, err := Decisions(post, Options{})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d decisions, %v", len(got), err)
	}
	d := got[1]
	predicted := mat.Col(nil, 1*5+2, samples.Policies(5, 1.5))
	if d.State != "state 1" || d.Action != "action 2" || d.Times != 2 || d.Of != 3 {
		t.Errorf("the second is %+v", d)
	}
	inside := 0
	for _, v := range predicted {
		if d.Low <= v && v <= d.High {
			inside++
		}
	}
	if math.Abs(d.Mean-stat.Mean(predicted, nil)) > 1e-9 || inside != 180 {
		t.Errorf("mean %g, want %g; %d of 200 draws in the central 90 %%", d.Mean, stat.Mean(predicted, nil), inside)
	}
}

func TestMaps(t *testing.T) {
	post, _ := posterior(t, false)
	p := *post.Problem()
	if w := States(&p); w.Width != 2 || w.Height != 2 || w.States[3] != "3" || w.Actions[4] != "4" {
		t.Errorf("the states are laid out as %+v", w)
	}
	if got := Visits(&p); got[1] != 3 || got[3] != 1 || got[0] != 0 {
		t.Errorf("visits %v", got)
	}
	m, err := mdp.New(5, 1, make([][]mdp.Transition, 5), nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := States(&irl.Problem{MDP: m}); w.Width != 5 || w.Height != 1 || !w.Terminal[0] {
		t.Errorf("five states are laid out as %+v", w)
	}
}
