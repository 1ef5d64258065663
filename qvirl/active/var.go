package active

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/irl"
)

// ActiveVaR is the value at risk of the apprentice's policy loss (Brown, Cui & Niekum, 2018): from each candidate s,
// the Level quantile over the posterior of
//
//	V*_R(s) − V^π_R(s),   π = the optimal policy of the samples' mean reward.
//
// (A posterior may give a mean of its own that differs from its samples': qvirl's samples have exact maxima, its closed
// form Clark's.) It asks for demonstrations where the apprentice may be far from optimal, not where the reward is
// unknown.
type ActiveVaR struct {
	Level float64 // α in (0, 1); 0.95
}

// Name returns "active-var".
func (ActiveVaR) Name() string { return "active-var" }

// Score returns the value at risk from each candidate, in units of reward. It is the smallest sampled loss that at
// least a fraction Level of the samples do not exceed; its standard error is that of an order statistic, from the
// losses one binomial standard deviation of ranks above and below. It does not use rng.
func (v ActiveVaR) Score(p *irl.Problem, samples *irl.Samples, candidates []int, _ *rand.Rand) ([]Score, error) {
	if !(v.Level > 0 && v.Level < 1) {
		return nil, fmt.Errorf("active: Level = %g is outside (0, 1)", v.Level)
	}
	if err := check(p, samples, candidates); err != nil {
		return nil, err
	}
	if err := checkRewards(p, samples); err != nil {
		return nil, err
	}
	losses, err := policyLosses(p, samples)
	if err != nil {
		return nil, err
	}
	n, _ := losses.Dims()
	out := make([]Score, len(candidates))
	column := make([]float64, n)
	spread := math.Sqrt(v.Level * (1 - v.Level) / float64(n))
	for i, s := range candidates {
		slices.Sort(mat.Col(column, s, losses))
		low, high := quantile(column, v.Level-spread), quantile(column, v.Level+spread)
		out[i] = Score{quantile(column, v.Level), (high - low) / 2}
	}
	return out, nil
}

// quantile returns the smallest of the sorted numbers that at least a fraction level of them do not exceed.
func quantile(sorted []float64, level float64) float64 {
	n := len(sorted)
	rank := int(math.Ceil(level*float64(n) - 1e-9)) // 0.55·100 must not come out as 56
	return sorted[min(max(rank, 1), n)-1]
}

// policyLosses returns how much the apprentice that is optimal for the samples' mean reward loses from each state under
// the reward of each sample, [N, S].
func policyLosses(p *irl.Problem, samples *irl.Samples) (*mat.Dense, error) {
	policy, err := apprentice.OptimalPolicy(p, irl.ColumnMeans(samples.Reward))
	if err != nil {
		return nil, err
	}
	evaluator, err := p.MDP.NewEvaluator(policy, p.Discount)
	if err != nil {
		return nil, fmt.Errorf("active: %w", err)
	}
	losses := samples.Values(p.MDP.Actions())
	n, _ := losses.Dims()
	for i := 0; i < n; i++ {
		value, err := evaluator.Value(samples.Reward.RawRowView(i))
		if err != nil {
			return nil, fmt.Errorf("active: sample %d: %w", i, err)
		}
		floats.Sub(losses.RawRowView(i), value)
	}
	return losses, nil
}
