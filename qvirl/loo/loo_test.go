package loo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// corridor is a problem of three rooms with five decisions, and draws of its prior with the log-likelihood of each
// decision, [draws][decisions].
func corridor(t *testing.T, n int) (*irl.Problem, *irl.Samples, [][]float64) {
	t.Helper()
	m, err := mdp.New(3, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.1}, {Next: 1, Prob: 0.9}},
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 1, Prob: 0.1}, {Next: 2, Prob: 0.9}}, nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, 0, 1), Discount: 0.9, Beta: 1, Demos: []mdp.Step{{State: 0,
		Action: 1}, {State: 1, Action: 1}, {State: 1, Action: 0}, {State: 0, Action: 1}, {State: 1, Action: 1}}}
	rng := rand.New(rand.NewPCG(5, 5))
	rewards := mat.NewDense(n, 3, nil)
	rewards.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, rewards)
	samples, err := p.SolveSamples(rewards)
	if err != nil {
		t.Fatal(err)
	}
	logs := make([][]float64, n)
	for i := range logs {
		for _, d := range p.Demos {
			q := samples.Q.RawRowView(i)[2*d.State : 2*d.State+2]
			logs[i] = append(logs[i], q[d.Action]-floats.LogSumExp(q))
		}
	}
	return p, samples, logs
}

// What is estimated from draws of one posterior agrees with the posteriors without each decision, which weigh draws of
// the prior by the likelihood of the others.
func TestOfAgreesWithLeavingOut(t *testing.T) {
	const n, draws = 200_000, 4000
	p, samples, logs := corridor(t, n)
	weight := make([]float64, n) // of the posterior
	for i, l := range logs {
		weight[i] = floats.Sum(l)
	}
	// Draws of the posterior: the prior's, each kept with the probability of its likelihood.
	rng := rand.New(rand.NewPCG(6, 6))
	post := mcmc.NewPosterior(p, 4, draws/4)
	values := samples.Values(2)
	kept := 0
	for i := 0; kept < draws; i++ {
		if math.Log(rng.Float64()) < weight[i] {
			post.Set(kept, samples.Reward.RawRowView(i), values.RawRowView(i))
			kept++
		}
	}
	got, err := Of("reference", post, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for k := range p.Demos {
		var others, with []float64
		for i, l := range logs {
			others, with = append(others, weight[i]-l[k]), append(with, weight[i])
		}
		want := floats.LogSumExp(with) - floats.LogSumExp(others)
		// p(a) varies by less than half of itself over draws: 4 standard errors of 4000 are below 0.035.
		if math.Abs(got.Pointwise[k]-want) > 0.035 {
			t.Errorf("decision %d: %.4f, left out %.4f; k̂ %.2f", k, got.Pointwise[k], want, got.KHat[k])
		}
	}
	seen := 0.0 // and predicts less than what has been seen
	for i := range draws {
		q := post.Samples().Q.RawRowView(i)
		seen += math.Exp(q[1]-floats.LogSumExp(q[:2])) / draws
	}
	if !(got.Pointwise[0] < math.Log(seen)) {
		t.Errorf("a decision that is left out is predicted with %.3f, one that was seen with %.3f", got.Pointwise[0],
			math.Log(seen))
	}
}

func TestOfRefuses(t *testing.T) {
	p, samples, _ := corridor(t, 40)
	post := mcmc.NewPosterior(p, 1, 10) // too few
	values := samples.Values(2)
	for i := range 10 {
		post.Set(i, samples.Reward.RawRowView(i), values.RawRowView(i))
	}
	if _, err := Of("reference", post, 0, 0); err == nil {
		t.Error("ten draws were accepted")
	}
	bare := *p
	bare.Demos = nil
	if _, err := Of("reference", mcmc.NewPosterior(&bare, 1, 10), 0, 0); err == nil {
		t.Error("a problem without demonstrations was accepted")
	}
}

// prior is the prior as a posterior that knows how to draw.
type prior struct{ problem *irl.Problem }

func (p prior) Problem() *irl.Problem { return p.problem }

func (p prior) Reward(int) irl.Marginal { return irl.NewMarginal(distuv.UnitNormal) }

func (p prior) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	rewards := mat.NewDense(n, 3, nil)
	rewards.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, rewards)
	return p.problem.SolveSamples(rewards)
}

// The threshold of k̂ tells how many draws there were: 0.5 of 100. Too few are refused before any is made.
func TestDrawsOfWhatIsNoChain(t *testing.T) {
	p, _, _ := corridor(t, 1)
	got, err := Of("prior", prior{p}, 100, 1)
	if err != nil || math.Abs(got.Threshold-0.5) > 1e-9 {
		t.Errorf("100 draws: %+v, error %v, want the threshold 0.5", got, err)
	}
	for _, draws := range []int{-1, 0, mcmc.MinDraws - 1} {
		want := fmt.Sprintf("loo: %d draws, want at least %d", draws, mcmc.MinDraws)
		if _, err := Of("prior", prior{p}, draws, 1); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
