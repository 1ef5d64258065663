package maxmean

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/irl"
)

// In a state whose two actions lead to two independent values, the three deductions are known in closed form.
func TestDeduceInClosedForm(t *testing.T) {
	// state 0 leads to 1 or 2 (and a third action repeats the first); both end the episode
	m, err := mdp.New(3, 3, [][]mdp.Transition{{{Next: 1, Prob: 1}}, {{Next: 2, Prob: 1}}, {{Next: 1, Prob: 1}}, nil,
		nil, nil, nil, nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, 0, 1), Discount: 0.5, Beta: 1}
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 0))
	rewards := mat.NewDense(n, 3, nil)
	for i := 0; i < n; i++ {
		rewards.SetRow(i, []float64{2 + rng.NormFloat64(), 0.2 + rng.NormFloat64(), rng.NormFloat64()})
	}
	samples, err := p.SolveSamples(rewards)
	if err != nil {
		t.Fatal(err)
	}
	states, err := Deduce(p, samples)
	if err != nil {
		t.Fatal(err)
	}
	const se = 4 / 316.0 // four standard errors of a mean of n draws of unit scale
	near := func(what string, got, want, tolerance float64) {
		if !scalar.EqualWithinAbs(got, want, tolerance) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	// X₁ − X₂ ~ N(0.2, 2); E max(X₁ − X₂, 0) − 0.2 = ω φ(ν) + 0.2 Φ(ν) − 0.2
	omega := math.Sqrt2
	nu := 0.2 / omega
	phi, cdf := math.Exp(-nu*nu/2)/math.Sqrt(2*math.Pi), 0.5*math.Erfc(-nu/math.Sqrt2)
	gap := 0.5 * (omega*phi - 0.2*(1-cdf))
	near("exact mean", states[0].Exact.Mean(), 2, se)
	near("exact std", states[0].Exact.StdDev(), 1, se)
	near("gap", states[0].Gap, gap, se)
	near("max-mean mean", states[0].MaxMean.Mean(), 2+gap, se)
	near("wrong maximum", states[0].WrongMax, 1-cdf, se)
	near("Clark mean", states[0].Clark.Mu, 2, se) // exact for two variables
	// V = R + γM, but the surrogate Σ w X of M has Cov(M, Σ w X) = Σ w² instead of Var M: Clark's variance is too large
	meanMax := 0.2*cdf + omega*phi
	varMax := 1.04*cdf + (1 - cdf) + 0.2*omega*phi - meanMax*meanMax
	surrogate := cdf*cdf + (1-cdf)*(1-cdf)
	near("Clark std", states[0].Clark.Sigma, math.Sqrt(1+0.25*(2*varMax-2*surrogate)), se)
	for s := 1; s < 3; s++ { // terminal: all three agree
		near("terminal", states[s].Clark.Mu, states[s].Exact.Mean(), 1e-10)
		near("terminal", states[s].MaxMean.Mean(), states[s].Exact.Mean(), 1e-10)
		if states[s].WrongMax != 0 {
			t.Errorf("state %d has a wrong maximum with probability %g", s, states[s].WrongMax)
		}
	}
}

// On the gridworld the exact deduction returns the samples' own rewards, and max-mean never underestimates a reward.
func TestExperiment(t *testing.T) {
	c := Quick()
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 1000, 200, 4000
	c.PolicyWalk.Samples, c.PolicyWalk.MinESS, c.PolicyWalk.MaxIterations = 1000, 200, 10_000
	states, post, err := c.Fit(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for s, state := range states {
		if got, want := state.Exact.Mean(), post.Reward(s).Mean(); !scalar.EqualWithinAbs(got, want, 1e-8) {
			t.Errorf("state %d: exact mean %g, but the samples' is %g", s, got, want)
		}
		if got := state.MaxMean.Mean() - state.Exact.Mean(); got < -1e-9 ||
			!scalar.EqualWithinAbs(got, state.Gap, 1e-8) {
			t.Errorf("state %d: max-mean overestimates by %g, want the gap %g ≥ 0", s, got, state.Gap)
		}
		// Clark's error, of rewards ± 20 to 60
		if !scalar.EqualWithinAbs(state.Clark.Mu, state.Exact.Mean(), 6) || state.Clark.Sigma < 5 {
			t.Errorf("state %d: Clark %g ± %g, exact %g", s, state.Clark.Mu, state.Clark.Sigma, state.Exact.Mean())
		}
	}
	rows, _, _ := experimenttest.Run(t, Name, c)
	report, err := Report(rows, nil)
	if err != nil || len(report.Tables) != 6 {
		t.Fatalf("error %v", err)
	}
	// PolicyWalk samples the same posterior: Monte Carlo error only, of rewards spread by 20 to 65
	if e := experiment.Average(rows, PolicyWalk, experiment.OfState(W1, 3)); !(e.Mean > 0 && e.Mean < 8) {
		t.Errorf("PolicyWalk is at distance %g of the exact posterior", e.Mean)
	}
	if e := experiment.Average(rows, Exact, experiment.OfState(W1, 3)); e.Mean != 0 {
		t.Errorf("the exact posterior is at distance %g of itself", e.Mean)
	}
}

func TestBadConfigs(t *testing.T) {
	c := Quick()
	c.World.PriorStd = -1
	if _, err := experiment.NewPlan(Name, "tiny", "", c); err == nil {
		t.Error("a negative standard deviation was accepted")
	}
}
