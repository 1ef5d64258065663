// Package active chooses the states of an environment from which to ask a demonstrator for a segment of an episode, by
// what a posterior over optimal values knows of them (Sec. "Active Learning", Lunar Lander).
//
// [Candidates] are states of demonstrated episodes, with snapshots to bring an environment back to them. An
// [Acquisition] scores them, and a [Course] asks about the best one, trains on with the answer, and asks again. A
// candidate that was answered leaves the pool; the others stay, those of the same trajectory too, which an acquisition
// that looks at the posterior leaves alone by itself once it knows better.
package active

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Simulator predicts what follows: a gym.Pool.
type Simulator interface {
	Continue(ctx context.Context, snapshots []gym.Snapshot, steps int, choose gym.Chooser) ([]demo.Trajectory, error)
}

// Question is what an acquisition function is asked: which candidate to ask the demonstrator about.
type Question struct {
	Posterior  *variational.Posterior
	Beta       float64 // rationality of the demonstrator
	Discount   float64
	Simulator  Simulator
	Candidates []Candidate
}

// Acquisition says how much a segment from each candidate would be worth.
type Acquisition interface {
	// Name is its short name.
	Name() string
	// Score returns a score for each candidate. A higher one is better.
	Score(ctx context.Context, q *Question, rng *rand.Rand) ([]active.Score, error)
}

// Random scores at random: the question is then a uniform choice among the candidates.
type Random struct{}

// Name returns "random".
func (Random) Name() string { return "random" }

// Score returns independent uniform numbers.
func (Random) Score(_ context.Context, q *Question, rng *rand.Rand) ([]active.Score, error) {
	out := make([]active.Score, len(q.Candidates))
	for i := range out {
		out[i].Value = rng.Float64()
	}
	return out, nil
}

// Segments are predicted continuations of episodes from the candidates, with joint draws of the optimal values in all
// states of each.
//
// There are several from each candidate, in replicates: the segments of one replicate share the random numbers of the
// draws and of the actions, so that candidates are compared by what they are; those of different ones share none, so
// that a mean over them has a standard error from their spread, which covers the draws and the simulation alike.
type Segments struct {
	Length     int // steps, at most
	Draws      int // of the values
	Replicates int
}

// Validate reports the first field that is out of range.
func (s Segments) Validate() error {
	return check.All("active: Segments", check.AtLeast(1, "Length", s.Length),
		check.AtLeast(2, "Draws Replicates", s.Draws, s.Replicates))
}

// segment is one that goes on.
type segment interface {
	// next is told of the values in the segment's next state, and of a uniform number to choose by, and returns the
	// action.
	next(at variational.ValuesAt, uniform float64) int
	// value is what the segment adds to its candidate's score.
	value() float64
}

// score simulates the segments that begin makes and returns the mean of their values for each candidate.
func (s Segments) score(ctx context.Context, q *Question, rng *rand.Rand, begin func() segment) ([]active.Score,
	error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	n := len(q.Candidates)
	if n == 0 {
		return nil, nil
	}
	snapshots := make([]gym.Snapshot, n)
	for i, c := range q.Candidates {
		snapshots[i] = c.Snapshot
	}
	values := make([][]float64, n) // by candidate and replicate
	for range s.Replicates {
		draws, err := q.Posterior.NewDraws(rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())), s.Draws, n)
		if err != nil {
			return nil, err
		}
		uniform := make([]float64, s.Length)
		for t := range uniform {
			uniform[t] = rng.Float64()
		}
		segments, taken := make([]segment, n), make([]int, n)
		for i := range segments {
			segments[i] = begin()
		}
		_, err = q.Simulator.Continue(ctx, snapshots, s.Length, func(which []int, o gym.Array) ([]int, error) {
			at, err := draws.Extend(which, o.Float32())
			if err != nil {
				return nil, err
			}
			actions := make([]int, len(which))
			for k, i := range which {
				actions[k] = segments[i].next(at[k], uniform[taken[i]])
				taken[i]++
			}
			return actions, nil
		})
		if err != nil {
			return nil, fmt.Errorf("active: predicting segments: %w", err)
		}
		for i, segment := range segments {
			values[i] = append(values[i], segment.value())
		}
	}
	out := make([]active.Score, n)
	for i, v := range values {
		mean, std := stat.MeanStdDev(v, nil)
		out[i] = active.Score{Value: mean, StdErr: stat.StdErr(std, float64(len(v)))}
	}
	return out, nil
}

// RewardEIG is the expected information gain about the reward (Bajgar et al., 2025): the mutual information, in nats,
// of the reward R and the segment τ that a Boltzmann-rational demonstrator shows from the candidate s₀. The segment
// depends on the reward by its optimal values Q alone, and the transition probabilities cancel:
//
//	I(R; τ | s₀) = I(Q; τ | s₀) = E_τ Σ_t [ H(Σ_j w_j π_j(·|s_t)) − Σ_j w_j H(π_j(·|s_t)) ]
//
// with π_j the Boltzmann policy of draw Q_j and w_j ∝ Π_{u<t} π_j(a_u|s_u): by the chain rule, a sum over predicted
// steps of what the action tells to one who has seen those before it. The terms are exact given the draws and the
// segment's past. Segments are simulated in the environment with actions from Σ_j w_j π_j(·|s_t), which makes them
// draws of the segments that the posterior expects. See active.RewardEIG for the errors of draws in place of a
// posterior; the estimate cannot exceed the log of their number.
type RewardEIG struct{ Segments }

// Name returns "reward-eig".
func (RewardEIG) Name() string { return "reward-eig" }

// Score returns the expected information gain in nats.
func (e RewardEIG) Score(ctx context.Context, q *Question, rng *rand.Rand) ([]active.Score, error) {
	return e.score(ctx, q, rng, func() segment {
		return &informative{beta: q.Beta, belief: active.NewBelief(e.Draws), entropy: make([]float64, e.Draws)}
	})
}

// informative is a segment as the posterior expects it, whose value is its information.
type informative struct {
	beta    float64
	belief  *active.Belief
	entropy []float64 // of the policies of the draws
	sum     float64
}

func (s *informative) next(at variational.ValuesAt, uniform float64) int {
	actions := len(at.Mean)
	predictive, policy := make([]float64, actions), make([]float64, actions)
	for j := range s.entropy { // the draws become probabilities in place
		for a := range policy {
			policy[a] = at.Draws[a][j]
		}
		mdp.LogBoltzmann(policy, policy, actions, s.beta)
		s.entropy[j] = 0
		for a, logProb := range policy {
			p := math.Exp(logProb)
			at.Draws[a][j] = p
			if p > 0 {
				s.entropy[j] -= p * logProb
			}
		}
	}
	s.sum += s.belief.Information(at.Draws, s.entropy, predictive)
	action := 0
	for action < actions-1 && uniform >= predictive[action] {
		uniform -= predictive[action]
		action++
	}
	s.belief.Observe(at.Draws[action], predictive[action])
	return action
}

func (s *informative) value() float64 { return s.sum }

// ActiveVaR is the value at risk of the apprentice's policy loss (Brown, Cui & Niekum, 2018): from each candidate s₀,
// the Level quantile over the posterior of V*(s₀) − V^π(s₀), with π the apprentice's policy, which takes the action of
// the greatest mean value. By the performance difference lemma that loss is
//
//	E_π Σ_t γ^t [ max_a Q_j(s_t,a) − Q_j(s_t,π(s_t)) ],
//
// here over the steps of one simulated segment of π, as the rest of the episode is what the demonstrator does not show.
type ActiveVaR struct {
	Segments
	Level float64 // in (0, 1)
}

// Name returns "active-var".
func (ActiveVaR) Name() string { return "active-var" }

// Score returns the value at risk, in units of reward.
func (v ActiveVaR) Score(ctx context.Context, q *Question, rng *rand.Rand) ([]active.Score, error) {
	if !(v.Level > 0 && v.Level < 1) {
		return nil, fmt.Errorf("active: ActiveVaR.Level is %g, want one between 0 and 1", v.Level)
	}
	return v.score(ctx, q, rng, func() segment {
		return &risky{level: v.Level, discount: q.Discount, weight: 1, loss: make([]float64, v.Draws)}
	})
}

// risky is a segment of the apprentice's, whose value is the quantile of its loss.
type risky struct {
	level, discount float64
	weight          float64 // γ^t
	loss            []float64
}

func (s *risky) next(at variational.ValuesAt, _ float64) int {
	action := floats.MaxIdx(at.Mean)
	for j := range s.loss {
		best := at.Draws[0][j]
		for _, draws := range at.Draws[1:] {
			best = max(best, draws[j])
		}
		s.loss[j] += s.weight * (best - at.Draws[action][j])
	}
	s.weight *= s.discount
	return action
}

func (s *risky) value() float64 {
	slices.Sort(s.loss)
	return stat.Quantile(s.level, stat.Empirical, s.loss, nil)
}
