package variational

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/graphs"
)

// The network's outputs for a state and an action: mean, log standard deviation, and the embedding from there on.
const (
	outMean = iota
	outLogStd
	outEmbedding
)

// values are the optimal Q-values of all actions at n states, jointly Gaussian (Eq. q-mean-cov). The axis of states
// comes last, as package qvirl has it.
type values struct {
	mean, std *Node // [runs, actions, n]
	embedding *Node // [runs, d, actions, n]
	warp      *warp // nil for normal marginals
}

// newValues reads a network's outputs [runs, n, actions, 2 + d].
func newValues(out *Node, w *warp) values {
	out = TransposeAllAxes(out, 0, 3, 2, 1)
	part := func(i int) *Node { return Squeeze(SliceAxis(out, 1, AxisElem(i)), 1) }
	return values{
		mean: part(outMean), std: Exp(part(outLogStd)),
		embedding: SliceAxis(out, 1, AxisRange(outEmbedding)), warp: w,
	}
}

// covariance returns the covariances of the values of each state [runs, actions, actions, n].
func (v values) covariance() *Node {
	k := v.correlation()
	if v.warp != nil {
		k = v.warp.correlation(k)
	}
	return Mul(k, Mul(ExpandAxes(v.std, 2), ExpandAxes(v.std, 1)))
}

// correlation returns k of the values of each state [runs, actions, actions, n].
func (v values) correlation() *Node {
	apart := Sub(ExpandAxes(v.embedding, 3), ExpandAxes(v.embedding, 2)) // [runs, d, actions, actions, n]
	return Exp(MulScalar(ReduceSum(Square(apart), 1), -0.5))
}

// maximum approximates the greatest value of each state by a Gaussian: its mean and variance [runs, n], the weights
// [runs, actions, n] of its linear surrogate, and by how much the surrogate's variance falls short, clamped at zero
// [runs, n].
func (v values) maximum(m graphs.Maximum) (mean, variance, weights, residual *Node) {
	cov := v.covariance()
	mean, variance, weights = m.Graph(v.mean, cov, OnesLike(v.mean), graphs.Materializer(identityFor(v.mean)))
	residual = Sub(variance, graphs.SurrogateVariance(cov, weights))
	return mean, variance, weights, Max(residual, ZerosLike(residual))
}

// identityFor returns the identity matrix of the size of x's last axis, which the compiler takes for something else:
// for all it knows, x might be huge.
func identityFor(x *Node) *Node {
	n := x.Shape().Dim(-1)
	zero := AddScalar(StopGradient(ReduceAllMax(x)), -1e30)
	return Add(ConvertDType(Diagonal(x.Graph(), n), x.DType()), Max(zero, ScalarZero(x.Graph(), x.DType())))
}

// diagonal returns the diagonals [runs, n] of matrices [runs, n, n].
func diagonal(x *Node) *Node { return ReduceSum(Mul(x, graphs.IdentityLike(x)), -1) }

// addDiagonal returns matrices [runs, n, n] with d [runs, n] added to their diagonals.
func addDiagonal(x, d *Node) *Node { return Add(x, Mul(ExpandAxes(d, -1), graphs.IdentityLike(x))) }
