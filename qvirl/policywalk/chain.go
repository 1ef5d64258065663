package policywalk

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

const (
	firstWidth     = 0.5 // width of the steps that the adaptation starts from, in units of the prior
	adaptationRate = 0.6 // the gain of the adaptation falls as iterations to the power −0.6
	storeLimit     = 8   // positions stored per kept sample
)

// chain is one Markov chain over rewards.
type chain struct {
	problem *irl.Problem
	factor  *mat.Dense // L, [n, k]
	counts  []float64  // demonstrations, [S·A]
	solver  *mdp.Solver
	rng     *rand.Rand
	width   []float64 // standard deviation of the steps of each component, [k]

	z             []float64 // present position, whitened, [k]
	reward        []float64 // [n]
	value         []float64 // V* [S] for state-only rewards, Q* [S·A] for state-action rewards
	policy        []int     // optimal, [S]
	logLikelihood float64

	proposed []float64   // reward, [n]
	position []float64   // scratch: reward and value, [2·n]
	trace    *mcmc.Trace // rewards and values since the warm-up
	accepted float64     // sum of acceptance probabilities since the warm-up
	last     float64     // mean acceptance probability of the last iteration
}

// newChain returns a chain that starts at a draw of the prior.
func newChain(p *irl.Problem, factor *mat.Dense, rng *rand.Rand, stored int) (*chain, error) {
	solver, err := p.MDP.NewSolver(p.Discount)
	if err != nil {
		return nil, err
	}
	n := p.RewardDim()
	_, components := factor.Dims()
	k := &chain{
		problem: p, factor: factor, counts: p.DemoCounts(), solver: solver, rng: rng,
		width: make([]float64, components),
		z:     make([]float64, components), value: make([]float64, n), policy: make([]int, p.MDP.States()),
		proposed: make([]float64, n), position: make([]float64, 2*n), trace: mcmc.NewTrace(2*n, stored),
	}
	for i := range k.z {
		k.width[i], k.z[i] = firstWidth, rng.NormFloat64()
	}
	k.reward = slices.Clone(p.Prior.Mean)
	for i, z := range k.z {
		k.shift(k.reward, i, z)
	}
	solution, err := solver.Solve(k.reward)
	if err != nil {
		return nil, err
	}
	k.keep(solution)
	k.logLikelihood = p.LogLikelihood(solution.Q, k.counts)
	return k, nil
}

// shift adds step times the i-th column of L to a reward.
func (k *chain) shift(reward []float64, i int, step float64) {
	if k.problem.Prior.Independent() { // L is diagonal
		reward[i] += step * k.factor.At(i, i)
		return
	}
	for j := range reward {
		reward[j] += step * k.factor.At(j, i)
	}
}

// keep makes the solution that of the present position.
func (k *chain) keep(solution *mdp.Solution) {
	if k.problem.StateOnly() {
		copy(k.value, solution.V)
	} else {
		copy(k.value, solution.Q)
	}
	copy(k.policy, solution.Greedy)
}

// iterate makes one proposal for each component. visit, if not nil, is told the acceptance probability of each.
func (k *chain) iterate(visit func(i int, accept float64)) error {
	k.last = 0
	for i, z := range k.z {
		step := k.width[i] * k.rng.NormFloat64()
		copy(k.proposed, k.reward)
		k.shift(k.proposed, i, step)
		solution, err := k.solver.SolveFrom(k.proposed, k.policy)
		if err != nil {
			return err
		}
		logLikelihood := k.problem.LogLikelihood(solution.Q, k.counts)
		gain := logLikelihood - k.logLikelihood - step*(z+step/2) // the last is the prior's: ½(z+step)² − ½z²
		accept := math.Min(1, math.Exp(gain))
		k.accepted += accept / float64(len(k.z))
		k.last += accept / float64(len(k.z))
		if k.rng.Float64() < accept {
			k.z[i], k.logLikelihood = z+step, logLikelihood
			copy(k.reward, k.proposed)
			k.keep(solution)
		}
		if visit != nil {
			visit(i, accept)
		}
	}
	return nil
}

// adapt makes the given number of iterations while it adapts the width of each component's steps: a Robbins–Monro
// recursion on its logarithm with the acceptance as the signal (Andrieu and Thoms, 2008, Algorithm 5).
func (k *chain) adapt(ctx context.Context, iterations int, targetAccept float64) error {
	for n := 1; n <= iterations; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		gain := math.Pow(float64(n), -adaptationRate)
		err := k.iterate(func(i int, accept float64) { k.width[i] *= math.Exp(gain * (accept - targetAccept)) })
		if err != nil {
			return err
		}
	}
	k.accepted = 0
	return nil
}

// sample makes iterations until there are total since the warm-up.
func (k *chain) sample(ctx context.Context, total int) error {
	for k.trace.Len() < total {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := k.iterate(nil); err != nil {
			return err
		}
		copy(k.position, k.reward)
		copy(k.position[len(k.reward):], k.value)
		k.trace.Add(k.position, mcmc.Transition{Acceptance: k.last})
	}
	return nil
}
