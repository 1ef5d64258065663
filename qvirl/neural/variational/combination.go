package variational

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/graphs"
)

// combination is n Gaussian variables, each a weighted sum of the values of P points of a latent space, where the
// values of any two points p and q of unit variance correlate as k(p, q) = exp(−½‖p − q‖²). The reward of a transition
// is such a sum, of one optimal Q-value and those that the successor's maximum is made of (Appendix "Positive
// semi-definiteness").
type combination struct {
	weight *Node // [runs, P, n]
	point  *Node // [runs, P, n, d]
}

// covariance returns the covariance of the variables [runs, n, n] and what pull needs, the correlations of all points
// [runs, P·n, P·n]. Neither has a gradient: pull does, by a shorter way.
func (c combination) covariance() (cov, corr *Node) {
	weight := StopGradient(c.weight)
	runs, points, n := weight.Shape().Dim(0), weight.Shape().Dim(1), weight.Shape().Dim(2)
	corr = correlation(StopGradient(c.flat()))
	weighted := Mul(Reshape(corr, runs, points, n, points, n),
		Mul(Reshape(weight, runs, points, n, 1, 1), Reshape(weight, runs, 1, 1, points, n)))
	return ReduceSum(weighted, 1, 3), corr
}

// pull returns a node [runs] whose gradient in the weights and points is that of Σ_ij slope_ij cov_ij, for a constant
// symmetric slope [runs, n, n]; its value means nothing. With P_pq = slope_pq k(p, q), the gradient in the weights c is
// 2 P c, and that in point p is 2 c_p Σ_q P_pq c_q (q − p): one product of P with a thin matrix, where differentiating
// covariance step by step would pass over arrays of the size of corr several times. The difference is that of two sums,
// so points must not lie further from the origin than the precision of a float32 tells apart from what lies within a
// few units of them; an embedding's do not.
func (c combination) pull(slope, corr *Node) *Node {
	runs, points, n := c.weight.Shape().Dim(0), c.weight.Shape().Dim(1), c.weight.Shape().Dim(2)
	slope = Mul(Reshape(corr, runs, points, n, points, n), Reshape(slope, runs, 1, n, 1, n))
	slope = Reshape(slope, runs, points*n, points*n)
	weight := Reshape(c.weight, runs, points*n, 1)
	point := c.flat()
	w, p := StopGradient(weight), StopGradient(point)
	product := StopGradient(MatMul(slope, Concatenate([]*Node{w, Mul(w, p)}, -1)))
	byWeight := SliceAxis(product, -1, AxisRange(0, 1)) // Σ_q P_pq c_q
	towards := SliceAxis(product, -1, AxisRange(1))     // Σ_q P_pq c_q q
	byPoint := Mul(w, Sub(towards, Mul(byWeight, p)))
	both := Add(Mul(byWeight, weight), ReduceAndKeep(Mul(byPoint, point), ReduceSum, -1))
	return MulScalar(ReduceSum(both, 1, 2), 2)
}

// flat returns the points as [runs, P·n, d].
func (c combination) flat() *Node {
	shape := c.point.Shape()
	return Reshape(c.point, shape.Dim(0), shape.Dim(1)*shape.Dim(2), shape.Dim(3))
}

// correlation returns k of all pairs of points [runs, m, d]: [runs, m, m]. It takes differences coordinate by
// coordinate: the shorter |p|² + |q|² − 2 pᵀq leaves points that are close together but far from the origin with
// rounding errors in place of distances, and no positive definite matrix.
func correlation(points *Node) *Node {
	var distance2 *Node
	for k := range points.Shape().Dim(-1) {
		x := Squeeze(SliceAxis(points, -1, AxisElem(k)), -1) // [runs, m]
		square := Square(Sub(ExpandAxes(x, -1), ExpandAxes(x, -2)))
		distance2 = graphs.Plus(distance2, square)
	}
	return Exp(MulScalar(distance2, -0.5))
}
