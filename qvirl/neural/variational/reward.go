package variational

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/neural"
)

// reward is the joint posterior of the rewards of n transitions, Gaussian (Corollary joint-reward): R_i = Q(s_i, a_i) −
// γ_i V(s'_i), or R_i = Q(s_i, a_i) − Σ_k c_ik V(s'_ik) for m successors each with weights c (Prop. reward-gaussian),
// with the maximum V in covariances by its linear surrogate, so that R_i is a combination of one value and those of the
// successors' actions. The variance that the surrogate lacks is added on the diagonal, independently for each
// successor: of a transition that occurs twice, twice (results/repeats-tried).
type reward struct {
	mean  *Node         // [runs, n]
	parts []combination // of 1 + m·actions points each, independent of each other
	lift  *Node         // [runs, n]
}

// newReward returns the posterior of the rewards of transitions, given the network's outputs [runs, n, actions, 2 + d]
// at their states and [runs, n·m, actions, 2 + d] at their successors (see successorStates).
func newReward(m graphs.Maximum, now, next *Node, t *neural.Transitions, w *warp) reward {
	taken := ReduceSum(Mul(now, ExpandAxes(t.Action, -1)), 2) // [runs, n, 2 + d], those of the action taken
	part := func(i int) *Node { return Squeeze(SliceAxis(taken, -1, AxisElem(i)), -1) }
	v := newValues(next, w)
	meanMax, _, weights, residual := v.maximum(m)
	share := successorWeights(t) // [runs, n, m]
	runs, n, count, actions := share.Shape().Dim(0), share.Shape().Dim(1), share.Shape().Dim(2), next.Shape().Dim(2)
	each := func(x *Node) *Node { return Reshape(x, runs, n, count) } // of [runs, n·m]
	// the points of a reward are those of its first successor's actions, then of its second one's, and so on
	successor := Neg(Mul(Mul(Reshape(share, runs, 1, n*count), weights), v.std)) // [runs, actions, n·m]
	successor = Reshape(TransposeAllAxes(Reshape(successor, runs, actions, n, count), 0, 3, 1, 2), runs, count*actions,
		n)
	points := SliceAxis(next, -1, AxisRange(outEmbedding))
	dim := points.Shape().Dim(-1)
	points = Reshape(Transpose(Reshape(points, runs, n, count*actions, dim), 1, 2), runs, count*actions, n, dim)
	values := combination{
		weight: Concatenate([]*Node{ExpandAxes(Exp(part(outLogStd)), 1), successor}, 1),
		point:  Concatenate([]*Node{ExpandAxes(SliceAxis(taken, -1, AxisRange(outEmbedding)), 1), points}, 1),
	}
	return reward{
		mean:  Sub(part(outMean), ReduceSum(Mul(share, each(meanMax)), -1)),
		parts: w.parts(values),
		lift:  ReduceSum(Mul(Square(share), each(residual)), -1),
	}
}

// successorStates returns the m successors of transitions as [runs, n·m, observation].
func successorStates(t *neural.Transitions) *Node {
	if t.Successor == nil {
		return t.Next
	}
	dims := t.Successor.Shape().Dimensions
	return Reshape(t.Successor, dims[0], dims[1]*dims[2], dims[3])
}

// successorWeights returns the weights of their values in the rewards [runs, n, m].
func successorWeights(t *neural.Transitions) *Node {
	if t.Weight == nil {
		return ExpandAxes(t.Discount, -1)
	}
	return t.Weight
}

// covariance returns the covariances of the rewards [runs, n, n] without what is added on the diagonal, and what pull
// needs.
func (r reward) covariance() (cov *Node, corrs []*Node) {
	for _, part := range r.parts {
		add, corr := part.covariance()
		corrs = append(corrs, corr)
		cov = graphs.Plus(cov, add)
	}
	return cov, corrs
}

// pull returns a node [runs] that has the gradient of Σ_ij slope_ij cov_ij (see combination.pull).
func (r reward) pull(slope *Node, corrs []*Node) *Node {
	sum := r.parts[0].pull(slope, corrs[0])
	for i, part := range r.parts[1:] {
		sum = Add(sum, part.pull(slope, corrs[i+1]))
	}
	return sum
}

// divergence returns KL(q_R ‖ p) [runs] of the posterior of the rewards of transitions from their prior, and a node
// that has its gradient but not its value.
func (o Objective) divergence(r reward, p prior, t *neural.Transitions) (kl, surrogate *Node) {
	nugget := MulScalar(ExpandAxes(Square(p.std), -1), o.Nugget)
	nugget = BroadcastToShape(nugget, r.lift.Shape())
	own := Add(r.lift, nugget)
	cov, corrs := r.covariance()
	priorCov := p.covariance(t.State, t.Action)
	kl, slope, priorSlope := gaussianKL(r.mean, addDiagonal(cov, own), ExpandAxes(p.mean, -1),
		addDiagonal(priorCov, nugget))
	surrogate = Add(kl, Add(r.pull(slope, corrs), ReduceSum(Mul(priorSlope, priorCov), 1, 2)))
	onDiagonal := Add(Mul(diagonal(slope), own), Mul(diagonal(priorSlope), nugget))
	return kl, Add(surrogate, ReduceSum(onDiagonal, -1))
}
