package apprentice

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// tolerance is the largest certified gap of an answer in relation to the returns that are possible: the largest
// absolute reward times the discounted number of decisions. On the paper's gridworlds it is about 0.0005 % of the
// difference between the optimal and the random policy.
const tolerance = 5e-7

// maxIterations is how many interior-point iterations are made before giving up; about twenty are needed.
const maxIterations = 150

// RiskAverse is a policy that maximises the CVaR of the return, with the proof that it does.
type RiskAverse struct {
	Policy []float64 // stochastic, [S·A]
	CVaR   float64   // of its return under the reward samples, computed exactly
	Bound  float64   // no policy has a higher CVaR: the optimal return under the reward Worst
	// Worst is the reward that the policy guards against, of the samples' length: a weighted mean of the samples, in
	// which none weighs more than 1/(alpha·n), for which even the best policy has no higher return than Bound.
	Worst      []float64
	Iterations int // of the interior-point method
}

// Gap returns how much higher the CVaR of another policy could be.
func (r *RiskAverse) Gap() float64 { return r.Bound - r.CVaR }

// CVaRPolicy returns the stochastic policy that maximises the CVaR at level alpha in (0, 1] of the return under equally
// probable rewards [n, RewardDim]. At alpha = 1 it maximises the mean return, and for alpha ≤ 1/n the worst.
//
// CVaR is the least weighted mean of the returns over weights q_i ≤ 1/(alpha·n) that sum to one, so that the problem is
// a game between the policy's visits x and the weights,
//
//	max_x min_q Σ_i q_i r_i·x,
//
// a linear programme in the visits (Rockafellar & Uryasev, 2000; for an MDP with uncertain rewards, Brown et al., 2020,
// "Bayesian Robust Optimization for Imitation Learning"). An interior-point method solves it. Its answer is checked by
// exact computations: the policy's CVaR is a lower bound of the optimum, and for any weights the optimal return under
// Σ_i q_i r_i is an upper bound. Iterations go on until the two differ by less than 5e-7 of the possible returns; that
// they do not is an error.
func CVaRPolicy(p *irl.Problem, rewards *mat.Dense, alpha float64) (*RiskAverse, error) {
	if err := checkLevel(alpha); err != nil {
		return nil, err
	}
	if err := checkRewards(p, rewards); err != nil {
		return nil, err
	}
	n, _ := rewards.Dims()
	// the worst alone counts at each level up to 1/n; a tiny one is beyond the interior-point method's precision
	game, err := newGame(p, rewards, max(alpha, 1/float64(n)))
	if err != nil {
		return nil, err
	}
	// the weights of the mean: optimal at alpha = 1, where the polytope of weights has no interior
	if err := game.bound(slices.Repeat([]float64{1 / float64(n)}, n)); err != nil {
		return nil, err
	}
	policy, err := p.MDP.Deterministic(game.solution.Greedy)
	if err != nil {
		return nil, err
	}
	if err := game.try(policy); err != nil {
		return nil, err
	}
	if game.done() {
		return &game.best, nil
	}
	point, err := newPoint(game)
	if err != nil {
		return nil, err
	}
	for game.best.Iterations < maxIterations && !game.done() {
		game.best.Iterations++
		if !point.advance() {
			break
		}
		if err := game.try(point.policy()); err != nil {
			return nil, err
		}
		if err := game.bound(point.q); err != nil {
			return nil, err
		}
	}
	if !game.done() {
		return nil, fmt.Errorf("apprentice: CVaR policy: after %d iterations the CVaR is only known to lie in [%g, %g]",
			game.best.Iterations, game.best.CVaR, game.best.Bound)
	}
	return &game.best, nil
}

// game is the problem and what is proven about its answer.
type game struct {
	problem  *irl.Problem
	rewards  *mat.Dense // [n, RewardDim]
	alpha    float64
	scale    float64 // of possible returns
	solver   *mdp.Solver
	solution *mdp.Solution // for the weights bounded last
	best     RiskAverse
}

func newGame(p *irl.Problem, rewards *mat.Dense, alpha float64) (*game, error) {
	visits, err := Visits(p, p.MDP.Uniform())
	if err != nil {
		return nil, err
	}
	solver, err := p.MDP.NewSolver(p.Discount)
	if err != nil {
		return nil, fmt.Errorf("apprentice: %w", err)
	}
	largest := math.Max(mat.Max(rewards), -mat.Min(rewards))
	return &game{problem: p, rewards: rewards, alpha: alpha, solver: solver, scale: largest * floats.Sum(visits),
		best: RiskAverse{CVaR: math.Inf(-1), Bound: math.Inf(1)}}, nil
}

// done reports whether the best policy is proven to be good enough.
func (g *game) done() bool { return g.best.Gap() <= tolerance*g.scale }

// try keeps the policy if it is the best so far.
func (g *game) try(policy []float64) error {
	visits, err := Visits(g.problem, policy)
	if err != nil {
		return err
	}
	cvar, err := CVaR(inner(g.rewards, visits), g.alpha)
	if err == nil && cvar > g.best.CVaR {
		g.best.Policy, g.best.CVaR = policy, cvar
	}
	return err
}

// bound lowers the bound if the weights of the samples prove a lower one.
func (g *game) bound(weights []float64) error {
	reward := weighted(g.rewards, weights)
	floats.Scale(1/floats.Sum(weights), reward) // against rounding
	var err error
	if g.solution, err = g.solver.Solve(reward); err != nil {
		return fmt.Errorf("apprentice: %w", err)
	}
	if bound := floats.Dot(g.problem.MDP.Initial(), g.solution.V); bound < g.best.Bound {
		g.best.Bound, g.best.Worst = bound, reward
	}
	return nil
}

// weighted returns the sum of the rewards' rows, each times its weight.
func weighted(rewards *mat.Dense, weights []float64) []float64 {
	_, dim := rewards.Dims()
	out := mat.NewVecDense(dim, nil)
	out.MulVec(rewards.T(), mat.NewVecDense(len(weights), weights))
	return out.RawVector().Data
}
