package expert

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Values are those of a batch of transitions, of which the last ones are demonstrated (see Options.Loss).
type Values struct {
	Now, Next    *Node // [batch, actions]: the trained network's at the states, the target's at their successors
	Actions      *Node // [batch]
	Discounts    *Node // [batch], of the successors' values
	Demonstrated int   // how many are demonstrated
}

// Loss returns the scalar that a gradient step on a batch decreases.
type Loss func(v Values) *Node

// midpoints returns τ̂_i = (2i − 1)/2N, the levels of the N quantiles (Lemma 2).
func midpoints(quantiles int) []float32 {
	levels := make([]float32, quantiles)
	for i := range levels {
		levels[i] = (float32(i) + 0.5) / float32(quantiles)
	}
	return levels
}

// quantileHuberLoss returns Σ_i E_j[ρ^κ_τ̂i(target_j − quantile_i)], the mean over the batch (Eq. 10 and Algorithm 1).
// ρ^κ is divided by κ, so that it tends to the quantile loss as κ tends to zero.
//
//	quantiles [batch, N], target [batch, N'] → scalar
func quantileHuberLoss(quantiles, target *Node, kappa float64) *Node {
	n := quantiles.Shape().Dim(1)
	levels := ConvertDType(Reshape(Const(quantiles.Graph(), midpoints(n)), 1, n, 1), quantiles.DType())
	u := Sub(ExpandAxes(target, 1), ExpandAxes(quantiles, 2)) // [batch, N, N']
	size := Abs(u)
	// Huber's function without a branch: the quadratic part of |u| up to κ, the linear part beyond.
	quadratic := MinScalar(size, kappa)
	huber := Add(MulScalar(Square(quadratic), 0.5/kappa), Sub(size, quadratic))
	weight := Abs(Sub(levels, ConvertDType(LessThan(u, ZerosLike(u)), u.DType())))
	return ReduceAllMean(ReduceSum(ReduceMean(Mul(weight, huber), 2), 1))
}

// expect returns Σ_a π_a θ_a, quantiles whose mean is the policy's value.
//
//	quantiles [batch, actions, N], policy [batch, actions] → [batch, N]
func expect(quantiles, policy *Node) *Node {
	return ReduceSum(Mul(quantiles, ExpandAxes(policy, 2)), 1)
}

// bellmanTarget returns r + γ θ_j(x', a*) with a* = argmax of the chooser's mean quantiles (Algorithm 1, where the
// target network is the chooser), or r + γ Σ_a π(a|x') θ_j(x', a) with π ∝ exp(β·mean) if beta is positive. No gradient
// passes.
//
//	reward, discount [batch]; next [batch, actions, N], the target network's quantiles; chooser like it → [batch, N]
func bellmanTarget(reward, discount, next, chooser *Node, beta float64) *Node {
	means := ReduceMean(chooser, 2)
	policy := OneHot(ArgMax(means, 1), means.Shape().Dim(1), means.DType())
	if beta > 0 {
		policy = Softmax(MulScalar(means, beta), 1)
	}
	return StopGradient(Add(ExpandAxes(reward, 1), Mul(ExpandAxes(discount, 1), expect(next, policy))))
}
