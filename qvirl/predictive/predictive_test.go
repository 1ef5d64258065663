package predictive

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// certain is the posterior of two states with two actions each, of which one is worth 1 and 0.5 more than the other,
// and β is one of those given.
func certain(t *testing.T, demos []mdp.Step, betas ...float64) irl.Posterior {
	t.Helper()
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}},
		{{Next: 1, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(4, 0, 1), Discount: 0, Beta: betas[0], Demos: demos}
	if len(betas) > 1 {
		p.BetaLogStd = 1
	}
	const chains, perChain = 4, 500
	post := mcmc.NewPosterior(p, chains, perChain)
	for i := range chains * perChain {
		post.Set(i, []float64{0, 1, 0.5, 0}, []float64{0, 1, 0.5, 0})
		if len(betas) > 1 {
			post.Betas()[i] = betas[i%len(betas)]
		}
	}
	return post
}

// repeated returns demonstrations in state 0, some of its better action 1 and some of the other, and in state 1.
func repeated(better, worse, elsewhere int) (demos []mdp.Step) {
	for i := range better + worse + elsewhere {
		step := mdp.Step{State: 0, Action: 1}
		if i >= better {
			step.Action = 0
		}
		if i >= better+worse {
			step = mdp.Step{State: 1, Action: 1}
		}
		demos = append(demos, step)
	}
	return demos
}

// TestCheck compares with sums over all numbers of better actions, by which demonstrations in a state are ordered.
func TestCheck(t *testing.T) {
	const draws = 20_000
	for _, c := range []struct {
		better, worse, elsewhere int
		betas                    []float64
	}{
		{6, 4, 0, []float64{2}},
		{10, 0, 0, []float64{0.7}},
		{3, 7, 0, []float64{0.7}},
		{55, 25, 0, []float64{1}}, // so many are drawn by another way
		{7, 3, 0, []float64{0.1, 3}},
		{4, 2, 3, []float64{1}},
		{1, 0, 0, []float64{2000}}, // the better action is certain
	} {
		want := 0.0
		for _, beta := range c.betas {
			choice := func(n int, gap float64) distuv.Binomial {
				return distuv.Binomial{N: float64(n), P: 1 / (1 + math.Exp(-gap))}
			}
			in0, in1 := choice(c.better+c.worse, beta), choice(c.elsewhere, beta/2)
			for i := range c.better + c.worse + 1 {
				for j := range c.elsewhere + 1 {
					// how much likelier it is than what was demonstrated, in logarithms, by β
					above := float64(i-c.better) + float64(j)/2
					if prob := in0.Prob(float64(i)) * in1.Prob(float64(j)); above < 0 {
						want += prob / float64(len(c.betas))
					} else if above == 0 {
						want += prob / 2 / float64(len(c.betas))
					}
				}
			}
		}
		got, err := Check(certain(t, repeated(c.better, c.worse, c.elsewhere), c.betas...), draws, 1)
		// four standard errors of the mean of the draws, which lie in [0, 1]
		if err != nil || math.Abs(got-want) > 4*0.5/math.Sqrt(draws) {
			t.Errorf("%+v: p = %.4f, want %.4f; %v", c, got, want, err)
		}
	}
	for what, f := range map[string]func() (float64, error){
		"no demonstrations": func() (float64, error) { return Check(certain(t, nil, 1), 10, 1) },
		"draws = 0":         func() (float64, error) { return Check(certain(t, repeated(1, 0, 0), 1), 0, 1) },
		"nil":               func() (float64, error) { return Check(nil, 10, 1) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

// TestMultinomial: the mean numbers of three outcomes, and that they are as many as there are draws.
func TestMultinomial(t *testing.T) {
	probs, rng := []float64{0.2, 0.5, 0.3}, rand.New(rand.NewPCG(1, 1))
	const n, repeats = 30, 20_000
	sums, counts := make([]float64, 3), make([]float64, 3)
	for range repeats {
		multinomial(counts, n, []float64{math.Log(0.2), math.Log(0.5), math.Log(0.3)}, rng)
		total := 0.0
		for i, x := range counts {
			sums[i] += x / repeats
			total += x
		}
		if total != n {
			t.Fatalf("%v are not %d", counts, n)
		}
	}
	for i, p := range probs { // four standard errors
		if math.Abs(sums[i]-n*p) > 4*math.Sqrt(n*p*(1-p)/repeats) {
			t.Errorf("outcome %d is drawn %.3f times, want %.3f", i, sums[i], n*p)
		}
	}
}
