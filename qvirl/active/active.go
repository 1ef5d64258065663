// Package active chooses the states from which to ask an expert for the next demonstration, so that the reward is learnt
// from few of them (Sec. "Active Learning").
package active

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-birl/birl/qvirl"
)

// Acquisition says how much a demonstration from each of several initial states would be worth, given a posterior.
type Acquisition interface {
	// Name is its short name.
	Name() string
	// Score returns a score for each candidate state, from joint samples of the posterior of the problem. A higher one
	// is better. The answer depends on rng as far as the acquisition function simulates. Candidates may repeat.
	Score(p *qvirl.Problem, samples *qvirl.Samples, candidates []int, rng *rand.Rand) ([]Score, error)
}

// Score is an estimate of what a demonstration is worth.
type Score struct {
	Value  float64
	StdErr float64 // Monte Carlo standard error; zero if the value is not an estimate
}

// Best returns the index of the highest score, the first of several equal ones; −1 without scores.
func Best(scores []Score) int {
	best := -1
	for i, s := range scores {
		if best < 0 || s.Value > scores[best].Value {
			best = i
		}
	}
	return best
}

// Random scores at random: the query is then a uniform choice among the candidates.
type Random struct{}

// Name returns "random".
func (Random) Name() string { return "random" }

// Score returns independent uniform numbers.
func (Random) Score(p *qvirl.Problem, samples *qvirl.Samples, candidates []int, rng *rand.Rand) ([]Score, error) {
	if err := check(p, samples, candidates); err != nil {
		return nil, err
	}
	out := make([]Score, len(candidates))
	for i := range out {
		out[i].Value = rng.Float64()
	}
	return out, nil
}

// check refuses samples and candidates that do not fit the problem.
func check(p *qvirl.Problem, samples *qvirl.Samples, candidates []int) error {
	n, dim := samples.Reward.Dims()
	m, pairs := samples.Q.Dims()
	if want := p.MDP.States() * p.MDP.Actions(); n != m || n < 2 || dim != p.RewardDim() || pairs != want {
		return fmt.Errorf("active: samples: rewards are [%d,%d] and Q-values [%d,%d], want [n,%d] and [n,%d] with n ≥ 2",
			n, dim, m, pairs, p.RewardDim(), want)
	}
	for i, s := range candidates {
		if s < 0 || s >= p.MDP.States() {
			return fmt.Errorf("active: candidates[%d] = %d is outside 0..%d", i, s, p.MDP.States()-1)
		}
	}
	return nil
}
