package active

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/stat"
)

// RewardEIG is the expected information gain about the reward (Bajgar et al., 2025): the mutual information, in nats,
//
//	I(R; τ | s₀) = E_R E_{τ∼p(·|R,s₀)} [log p(τ|R) − log E_R' p(τ|R')]
//
// of the reward and the trajectory τ of the given length that a Boltzmann-rational expert would demonstrate from s₀.
// The transition probabilities cancel, which leaves those of the actions, Π_t π_R(a_t|s_t).
//
// # The estimator
//
// The posterior stands as N equally likely samples. By the chain rule the information is a sum over the steps of what
// the action tells about the reward to one who has seen the steps before it:
//
//	I(R; τ | s₀) = E_τ Σ_t [ H(Σ_j w_j π_j(·|s_t)) − Σ_j w_j H(π_j(·|s_t)) ],   w_j ∝ Π_{u<t} π_j(a_u|s_u)
//
// Trajectories are simulated, each under the policy of a sample of its own; the terms of the sum are exact given the
// trajectory's past, none is negative, and the first is the same for every trajectory. This has far less variance than
// averaging log p(τ|R) − log E_R' p(τ|R') over simulated trajectories (nested Monte Carlo), with the same expectation.
//
// # Its errors
//
// Given the samples the estimate is unbiased. As an estimate for the posterior they come from, it is biased downwards
// by about (N·E_τ Σ_j w_j² − 1)/2N, with the weights after the last step, and it cannot exceed log N: N samples cannot
// tell more than N rewards apart (Foster et al., 2020, prior contrastive estimation). The standard error covers both
// sources of chance: the simulated trajectories, and the draw of the samples, if they are independent. For the second,
// it takes the variance over rewards and trajectories of Σ_t KL(π_R(·|s_t) ‖ Σ_j w_j π_j(·|s_t)), whose mean is the
// information too; this bounds the variance over rewards, which is what counts, from above.
//
// # The choice
//
// What is asked for is the best candidate, so that only differences between good ones matter. All candidates are scored
// with the same random numbers: simulation k follows the same sample's policy from each. And the finalists, the
// candidates with the highest scores, are scored a second time, by more simulations that have nothing to do with their
// having won.
type RewardEIG struct {
	Length            int // steps of a demonstration, at most
	Trajectories      int // simulated from each candidate
	Finalists         int // candidates that are scored again; 0 for none
	FinalTrajectories int // simulated from each finalist
}

// Name returns "reward-eig".
func (RewardEIG) Name() string { return "reward-eig" }

// Score returns the expected information gain in nats from each candidate. The highest score is a finalist's: where the
// second scoring leaves another candidate in front, that one is scored a second time too. The time is in proportion to
// (candidates × Trajectories + finalists × FinalTrajectories) × length × actions × samples.
func (e RewardEIG) Score(p *irl.Problem, samples *irl.Samples, candidates []int, rng *rand.Rand) ([]Score, error) {
	if e.Length < 1 || e.Trajectories < 2 {
		return nil, fmt.Errorf("active: Length = %d, Trajectories = %d: want at least 1 and 2", e.Length,
			e.Trajectories)
	}
	if e.Finalists < 0 || e.Finalists > 0 && e.FinalTrajectories < 2 {
		return nil, fmt.Errorf("active: Finalists = %d, FinalTrajectories = %d: want none, or at least 1 and 2",
			e.Finalists, e.FinalTrajectories)
	}
	if err := check(p, samples, candidates); err != nil {
		return nil, err
	}
	x := newExpert(p, samples)
	out := make([]Score, len(candidates))
	score := x.scorer(e.Length, e.Trajectories, rng)
	for i, s := range candidates {
		out[i] = score(s)
	}
	if e.Finalists == 0 {
		return out, nil
	}
	score = x.scorer(e.Length, e.FinalTrajectories, rng)
	final := make([]bool, len(out))
	for count := 0; count < len(out); count++ {
		best := -1 // of those that are no finalists
		for i, s := range out {
			if !final[i] && (best < 0 || s.Value > out[best].Value) {
				best = i
			}
		}
		if count >= e.Finalists && final[Best(out)] {
			break
		}
		out[best], final[best] = score(candidates[best]), true
	}
	return out, nil
}

// scorer returns the function that estimates the information in a trajectory from a state, with the same random numbers
// for each state.
func (x *expert) scorer(length, trajectories int, rng *rand.Rand) func(start int) Score {
	first, second := rng.Uint64(), rng.Uint64()
	return func(start int) Score {
		return x.gain(length, trajectories, start, rand.New(rand.NewPCG(first, second)))
	}
}

// expert is the expert as the posterior knows it: a set of equally likely policies.
type expert struct {
	problem  *irl.Problem
	n        int         // samples N
	policies [][]float64 // of each sample, [N][S·A]
	probs    [][]float64 // the same by action, [S·A][N]
	entropy  [][]float64 // of each sample's policy in each state, in nats, [S][N]
	belief   *Belief     // after the past of the present trajectory
}

func newExpert(p *irl.Problem, samples *irl.Samples) *expert {
	states, actions := p.MDP.States(), p.MDP.Actions()
	policies := samples.Policies(actions, p.Beta)
	n, pairs := policies.Dims()
	x := &expert{problem: p, n: n, policies: make([][]float64, n), probs: table(pairs, n), entropy: table(states, n),
		belief: NewBelief(n)}
	for j := range x.policies {
		x.policies[j] = policies.RawRowView(j)
		for i, prob := range x.policies[j] {
			x.probs[i][j] = prob
		}
		for s := range x.entropy {
			x.entropy[s][j] = stat.Entropy(x.policies[j][s*actions : (s+1)*actions])
		}
	}
	return x
}

// table returns rows × columns zeros in one piece of memory.
func table(rows, columns int) [][]float64 {
	data := make([]float64, rows*columns)
	out := make([][]float64, rows)
	for i := range out {
		out[i] = data[i*columns : (i+1)*columns]
	}
	return out
}

// gain estimates the information in a trajectory from state start.
func (x *expert) gain(length, trajectories, start int, rng *rand.Rand) Score {
	x.belief.Forget()
	predictive := make([]float64, x.problem.MDP.Actions())
	first := x.step(start, predictive)
	if length == 1 || x.problem.MDP.Terminal(start) {
		divergences := make([]float64, x.n)
		for j := range divergences {
			divergences[j] = x.divergence(j, start, predictive)
		}
		return Score{first, stat.StdErr(stat.StdDev(divergences, nil), float64(x.n))}
	}
	firstPredictive := slices.Clone(predictive)
	gains, divergences := make([]float64, trajectories), make([]float64, trajectories)
	offset := rng.IntN(x.n)
	for k := range gains {
		i := (offset + k*x.n/trajectories) % x.n // evenly over the samples, which come in random order
		x.belief.Forget()
		for t, d := range x.problem.MDP.Rollout(rng, x.policies[i], start, length) {
			if t == 0 {
				gains[k] = first
				copy(predictive, firstPredictive)
			} else {
				gains[k] += x.step(d.State, predictive)
			}
			divergences[k] += x.divergence(i, d.State, predictive)
			x.belief.Observe(x.probs[d.State*len(predictive)+d.Action], predictive[d.Action])
		}
	}
	mean, variance := stat.MeanVariance(gains, nil)
	return Score{mean, math.Sqrt(variance/float64(trajectories) + stat.Variance(divergences, nil)/float64(x.n))}
}

// step returns the information in the action in a state given the past, and sets the probabilities of the actions.
func (x *expert) step(s int, predictive []float64) float64 {
	return x.belief.Information(x.probs[s*len(predictive):(s+1)*len(predictive)], x.entropy[s], predictive)
}

// divergence returns the Kullback–Leibler divergence of a sample's policy in a state from the predictive one.
func (x *expert) divergence(sample, s int, predictive []float64) float64 {
	return stat.KullbackLeibler(x.policies[sample][s*len(predictive):(s+1)*len(predictive)], predictive)
}
