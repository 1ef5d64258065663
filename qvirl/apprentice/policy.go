// Package apprentice chooses policies under an uncertain reward.
//
// The return of a policy is linear in the reward: it is the inner product of the reward with the policy's discounted
// visits (mdp.MDP.Occupancy). A policy therefore maximises the posterior mean return if and only if it is optimal for
// the posterior mean reward (MeanPolicy), and the conditional value at risk of the return is a concave function of the
// visits, whose maximum CVaRPolicy finds with a certificate (Sec. "Apprenticeship Learning").
//
// Returns are expected discounted returns from the MDP's initial distribution, in units of reward.
package apprentice

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/mat"
)

// OptimalPolicy returns a deterministic optimal policy [S·A] of the problem's MDP for a reward of length S or S·A.
func OptimalPolicy(p *irl.Problem, reward []float64) ([]float64, error) {
	if err := p.CheckThere("apprentice"); err != nil {
		return nil, err
	}
	sol, err := p.MDP.Solve(reward, p.Discount)
	if err != nil {
		return nil, fmt.Errorf("apprentice: %w", err)
	}
	return p.MDP.Deterministic(sol.Greedy)
}

// MeanPolicy returns a deterministic policy [S·A] that maximises the posterior mean of the return.
func MeanPolicy(post irl.Posterior) ([]float64, error) {
	if err := irl.CheckPosterior("apprentice", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	mean, _ := irl.Moments(p.RewardDim(), post.Reward)
	return OptimalPolicy(p, mean)
}

// Visits returns the discounted visits of a policy [S·A] in the shape of the problem's rewards: per state for
// state-only rewards, [S], and per state-action pair otherwise, [S·A]. The return under a reward is the inner product
// of the two.
func Visits(p *irl.Problem, policy []float64) ([]float64, error) {
	if err := p.CheckThere("apprentice"); err != nil {
		return nil, err
	}
	pairs, err := p.MDP.Occupancy(policy, p.Discount)
	if err != nil {
		return nil, fmt.Errorf("apprentice: %w", err)
	}
	if !p.StateOnly() {
		return pairs, nil
	}
	states := make([]float64, p.MDP.States())
	for i, v := range pairs {
		states[i/p.MDP.Actions()] += v
	}
	return states, nil
}

// Returns returns the return of a policy [S·A] under each of the rewards, [n, RewardDim], a row each.
func Returns(p *irl.Problem, policy []float64, rewards *mat.Dense) ([]float64, error) {
	if err := checkRewards(p, rewards); err != nil {
		return nil, err
	}
	visits, err := Visits(p, policy)
	if err != nil {
		return nil, err
	}
	return inner(rewards, visits), nil
}

// inner returns the inner product of each row of the rewards with the visits.
func inner(rewards *mat.Dense, visits []float64) []float64 {
	n, _ := rewards.Dims()
	out := mat.NewVecDense(n, nil)
	out.MulVec(rewards, mat.NewVecDense(len(visits), visits))
	return out.RawVector().Data
}

// CVaR returns the conditional value at risk of equally probable values at level alpha in (0, 1]: the mean of the worst
// (smallest) fraction alpha of them. Where alpha·n is not whole, the value at the border counts with the remaining
// weight (Rockafellar & Uryasev, 2002).
func CVaR(values []float64, alpha float64) (float64, error) {
	if err := checkLevel(alpha); err != nil {
		return 0, err
	}
	if len(values) == 0 {
		return 0, fmt.Errorf("apprentice: the CVaR of no values does not exist")
	}
	sorted := slices.Sorted(slices.Values(values))
	share := 1 / (alpha * float64(len(values)))
	sum, left := 0.0, 1.0
	for i, v := range sorted {
		if math.IsNaN(v) {
			return 0, fmt.Errorf("apprentice: value %d in ascending order is not a number", i)
		}
		weight := math.Min(share, left)
		sum += weight * v
		if left -= weight; left <= 0 {
			break
		}
	}
	return sum, nil
}

func checkLevel(alpha float64) error {
	if !(alpha > 0 && alpha <= 1) {
		return fmt.Errorf("apprentice: CVaR level = %g is outside (0, 1]", alpha)
	}
	return nil
}

func checkRewards(p *irl.Problem, rewards *mat.Dense) error {
	if err := check.First(p.CheckThere("apprentice"), check.NotNil("apprentice: the rewards", rewards,
		"those of a posterior's samples")); err != nil {
		return err
	}
	n, dim := rewards.Dims()
	if n == 0 || dim != p.RewardDim() {
		return fmt.Errorf("apprentice: rewards: got the shape [%d,%d], want a row of %d for each of at least one "+
			"sample", n, dim, p.RewardDim())
	}
	for i := 0; i < n; i++ {
		if err := check.Finite(fmt.Sprintf("apprentice: rewards[%d]", i), rewards.RawRowView(i)); err != nil {
			return err
		}
	}
	return nil
}
