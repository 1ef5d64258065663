// Package active chooses the states from which to ask an expert for the next demonstration, so that the reward is
// learnt from few of them (Sec. "Active Learning").
package active

import (
	"fmt"
	"github.com/go-birl/birl/qvirl/irl"
	"math/rand/v2"
)

// Acquisition says how much a demonstration from each of several initial states would be worth, given a posterior.
type Acquisition interface {
	// Name is its short name.
	Name() string
	// Score returns a score for each candidate state, from joint samples of the posterior of the problem; what of them
	// it does not use may be nil. A higher one is better. The answer depends on rng as far as the acquisition function
	// simulates. Candidates may repeat.
	Score(p *irl.Problem, samples *irl.Samples, candidates []int, rng *rand.Rand) ([]Score, error)
}

// Score is an estimate of what a demonstration is worth.
type Score struct {
	Value  float64 // in the acquisition function's unit: nats of information, or reward
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
func (Random) Score(p *irl.Problem, samples *irl.Samples, candidates []int, rng *rand.Rand) ([]Score, error) {
	if err := checkCandidates(p, candidates); err != nil {
		return nil, err
	}
	out := make([]Score, len(candidates))
	for i := range out {
		out[i].Value = rng.Float64()
	}
	return out, nil
}

// check refuses Q-values and candidates that do not fit the problem.
func check(p *irl.Problem, samples *irl.Samples, candidates []int) error {
	if samples.Q == nil {
		return fmt.Errorf("active: samples: want Q-values")
	}
	if n, pairs := samples.Q.Dims(); n < 2 || pairs != p.MDP.States()*p.MDP.Actions() {
		return fmt.Errorf("active: samples: Q-values are [%d,%d], want [n,%d] with n ≥ 2", n, pairs,
			p.MDP.States()*p.MDP.Actions())
	}
	return checkCandidates(p, candidates)
}

// checkRewards refuses samples without a reward that fits the problem for each of the Q-values.
func checkRewards(p *irl.Problem, samples *irl.Samples) error {
	if samples.Reward == nil {
		return fmt.Errorf("active: samples: want rewards")
	}
	want, _ := samples.Q.Dims()
	if n, dim := samples.Reward.Dims(); n != want || dim != p.RewardDim() {
		return fmt.Errorf("active: samples: rewards are [%d,%d], want [%d,%d]", n, dim, want, p.RewardDim())
	}
	return nil
}

// checkCandidates refuses states that the problem does not have.
func checkCandidates(p *irl.Problem, candidates []int) error {
	for i, s := range candidates {
		if s < 0 || s >= p.MDP.States() {
			return fmt.Errorf("active: candidates[%d] = %d is outside 0..%d", i, s, p.MDP.States()-1)
		}
	}
	return nil
}
