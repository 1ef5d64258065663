package zoo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/mcmc"
)

// priorPosterior is a posterior that knows the prior of a problem in closed form, and its values from draws.
type priorPosterior struct{ problem *irl.Problem }

func (p priorPosterior) Problem() *irl.Problem { return p.problem }

func (p priorPosterior) Reward(i int) irl.Marginal {
	return irl.NewMarginal(distuv.Normal{Mu: p.problem.Prior.Mean[i], Sigma: p.problem.Prior.Std[i]})
}

func (p priorPosterior) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	factor, err := p.problem.Prior.Factor()
	if err != nil {
		return nil, err
	}
	rewards := mat.NewDense(n, p.problem.RewardDim(), nil)
	for i := range n {
		rewards.SetRow(i, p.problem.Prior.Draw(rng, factor))
	}
	return p.problem.SolveSamples(rewards)
}

func TestSummaryOfClosedForm(t *testing.T) {
	c := find(t, "none-3x3")
	s, err := summary.Of(priorPosterior{c.Problem}, 20_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.RewardMean[3] != -1 || s.RewardStd[3] != 3 || s.Error.RewardMean[3] != 0 {
		t.Errorf("reward 3: %g ± %g with error %g, want the prior's exactly", s.RewardMean[3], s.RewardStd[3],
			s.Error.RewardMean[3])
	}
	if want := s.ValueStd[3] / math.Sqrt(20_000); math.Abs(s.Error.ValueMean[3]-want) > 1e-9 {
		t.Errorf("error of a value %g, want %g", s.Error.ValueMean[3], want)
	}
	e, err := Judge(&c, s)
	if err != nil || !e.Right() || !(e.ValueMean > 0 && e.ValueMean < 0.05) {
		t.Errorf("draws of the prior are judged %+v, %v", e, err)
	}
	if _, err := summary.Of(priorPosterior{c.Problem}, 1, 1); err == nil {
		t.Error("a single draw was taken")
	}
}

// chain returns a posterior of autocorrelated samples of the prior.
func chain(t *testing.T, c Case, chains, length int, rho float64) *mcmc.Posterior {
	t.Helper()
	rng, n := rand.New(rand.NewPCG(1, 1)), c.Problem.RewardDim()
	post := mcmc.NewPosterior(c.Problem, chains, length)
	for j := range chains {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for k := range length {
			reward := make([]float64, n)
			for i := range x {
				x[i] = rho*x[i] + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				reward[i] = c.Problem.Prior.Mean[i] + c.Problem.Prior.Std[i]*x[i]
			}
			sol, err := c.Problem.MDP.Solve(reward, c.Problem.Discount)
			if err != nil {
				t.Fatal(err)
			}
			post.Set(j*length+k, reward, sol.V)
		}
	}
	return post
}

// The errors of chains count their effective samples.
func TestSummaryOfChains(t *testing.T) {
	c := find(t, "none-3x3")
	const chains, length, rho = 4, 5000, 0.8
	s, err := summary.Of(chain(t, c, chains, length, rho), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	// an AR(1) chain has n (1 − ρ)/(1 + ρ) effective samples, and its squares n (1 − ρ²)/(1 + ρ²)
	mean := 3 / math.Sqrt(chains*length*(1-rho)/(1+rho))
	std := 3 / math.Sqrt(2*chains*length*(1-rho*rho)/(1+rho*rho))
	for i := range s.RewardMean {
		if r := s.Error.RewardMean[i] / mean; r < 0.7 || r > 1.4 {
			t.Errorf("error of mean %d is %g, want %g", i, s.Error.RewardMean[i], mean)
		}
		if r := s.Error.RewardStd[i] / std; r < 0.7 || r > 1.4 {
			t.Errorf("error of deviation %d is %g, want %g", i, s.Error.RewardStd[i], std)
		}
	}
	e, err := Judge(&c, s)
	if err != nil || !e.Right() || e.Mean == 0 {
		t.Errorf("samples of the prior are judged %+v, %v", e, err)
	}
}
