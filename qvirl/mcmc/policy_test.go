package mcmc

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// flips returns samples of a problem of one state and two actions, of which a chain is certain of one or the other, and
// changes its mind with the given probability.
func flips(t *testing.T, chains, perChain int, flip float64) *Posterior {
	t.Helper()
	m, err := mdp.New(1, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPosterior(&irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.5, Beta: 1}, chains,
		perChain)
	rng := rand.New(rand.NewPCG(7, 0))
	for c := range chains {
		gap := 50.0
		if c%2 == 0 {
			gap = -gap
		}
		for i := range perChain {
			if rng.Float64() < flip {
				gap = -gap
			}
			p.Set(c*perChain+i, []float64{0, 0}, []float64{gap, 0})
		}
	}
	return p
}

// TestPolicyError compares with the closed form: flips of probability f have the autocorrelation (1−2f)^t, and n of
// them n·f/(1−f) effective samples of variance ¼. The estimate is off by a few percent at this length.
func TestPolicyError(t *testing.T) {
	const chains, n, flip = 4, 20000, 0.05
	want := 0.5 / math.Sqrt(chains*n*flip/(1-flip))
	if got := flips(t, chains, n, flip).worstPolicyError(0); !scalar.EqualWithinRel(got, want, 0.1) {
		t.Errorf("error %g, want %g", got, want)
	}
	if got := flips(t, chains, n, flip).worstPolicyError(0.6); got != 0 { // no probability varies by so much
		t.Errorf("error %g of what is negligible", got)
	}
	if got := flips(t, chains, 1000, 0).worstPolicyError(0.01); !(got > 0.2) { // two of four chains for each action
		t.Errorf("error %g of chains that never change their mind", got)
	}
}

// TestPolicyErrorOfThree: of three actions, the one whose probability varies most counts, wherever it stands.
func TestPolicyErrorOfThree(t *testing.T) {
	m, err := mdp.New(1, 3, make([][]mdp.Transition, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	const chains, perChain = 4, 500
	p := NewPosterior(&irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, 0, 1), Discount: 0.5, Beta: 1}, chains,
		perChain)
	rng := rand.New(rand.NewPCG(9, 0))
	for _, at := range []int{0, 1, 2} { // action at has a random value, the others equal ones
		for i := range p.Len() {
			q := []float64{0, 0, 0}
			q[at] = 2 * rng.NormFloat64()
			p.Set(i, q, q)
		}
		x := p.policyColumns(0)[at]
		want := stat.StdDev(x, nil) / math.Sqrt(ESS(p.ByChain(x)))
		if got := p.worstPolicyError(0.01); !scalar.EqualWithinRel(got, want, 1e-12) {
			t.Errorf("action %d varies most: error %g, want %g", at, got, want)
		}
	}
}

// TestPolicyColumns compares the probabilities of actions by state values with those by the Q-values of the samples.
func TestPolicyColumns(t *testing.T) {
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.3}, {Next: 1, Prob: 0.7}},
		{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	problem := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.9, Beta: 1, BetaLogStd: 1}
	p := NewPosterior(problem, 2, 4)
	rng := rand.New(rand.NewPCG(8, 0))
	for i := range p.Len() {
		p.SetValues(i, []float64{rng.NormFloat64(), rng.NormFloat64()},
			[]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
	}
	samples := p.Samples()
	for s := range 2 {
		columns := p.policyColumns(s)
		for i := range p.Len() {
			q := samples.Q.RawRowView(i)[2*s : 2*s+2]
			if want := 1 / (1 + math.Exp(samples.Beta[i]*(q[1]-q[0]))); !scalar.EqualWithinAbs(columns[0][i], want,
				1e-12) || !scalar.EqualWithinAbs(columns[1][i], 1-want, 1e-12) {
				t.Errorf("state %d, sample %d: %g and %g, want %g and the rest", s, i, columns[0][i], columns[1][i],
					want)
			}
		}
	}
}

// TestPolicyErrorCounts: chains that know each reward and value, but not the policy, are not clean.
func TestPolicyErrorCounts(t *testing.T) {
	good := Convergence{[]float64{1}, []float64{4000}, []float64{4000}}
	d := Diagnostics{Reward: good, Value: good, MinESS: 1000, MaxRHat: 1.01, PolicyError: 0.02, MaxPolicyError: 0.016}
	if err := d.Clean(); err == nil || !strings.Contains(err.Error(), "an action is known within 0.020") {
		t.Errorf("error %v", err)
	}
	d.PolicyError = 0.015
	if err := d.Clean(); err != nil {
		t.Error(err)
	}
	d.PolicyError = math.NaN()
	if err := d.Clean(); err == nil {
		t.Error("a policy of unknown error is clean")
	}
}

// TestProgressSaysWhatIsNotMet: of chains that are long enough but for an action's probability.
func TestProgressSaysWhatIsNotMet(t *testing.T) {
	budget := Budget{Samples: 400, Chains: 4, MinESS: 1, MaxRHat: 10, MaxIterations: 1000, MaxPolicyError: 1e-6}
	var statuses []string
	_, err := Fit(t.Context(), []*irl.Problem{flips(t, 4, 100, 0.5).Problem()},
		func(_, _ int, status string) { statuses = append(statuses, status) },
		func(_ context.Context, _ *irl.Problem, job *Job) (irl.Posterior, error) {
			p, _, err := job.Converge(budget, func(int, int) error { return nil },
				func(perChain int) (*Posterior, error) { return flips(t, 4, perChain, 0.5), nil })
			return p, err
		})
	if err != nil {
		t.Fatal(err)
	}
	const want = "the probability of an action is known within"
	if !slices.ContainsFunc(statuses, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("no status says that %q: %q", want, statuses)
	}
}
