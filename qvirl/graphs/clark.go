package graphs

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Maximum names how the maximum of jointly Gaussian values is approximated by a Gaussian.
type Maximum string

const (
	// Clark matches the moments of pairwise maxima (Clark, 1961; Appendix "Clark Approximation").
	Clark Maximum = "clark"
	// MaxMean takes the value of highest mean for the maximum (Appendix "Max-Mean Approximation").
	MaxMean Maximum = "max-mean"
)

// Graph approximates max_a X_a of jointly Gaussian X by a Gaussian, and returns the weights of the linear surrogate
// Σ_a w_a X_a that stands for the maximum in covariances.
//
//	mean      [B, A, S]     means of X
//	cov       [B, A, A, S]  their covariances
//	distinct  [B, A, S]     1, or 0 where X_a repeats an earlier variable and Clark's sweep must leave it out
//	keep                    see Materializer
//	meanMax   [B, S]        mean of the maximum
//	varMax    [B, S]        its variance
//	weights   [B, A, S]     w ≥ 0, Σ w = 1
func (m Maximum) Graph(mean, cov, distinct *Node, keep func(*Node) *Node) (meanMax, varMax, weights *Node) {
	if m == MaxMean {
		return maxMean(mean, cov)
	}
	return clarkMax(mean, cov, distinct, keep)
}

// clarkMax is Graph by Clark's approximation, one pair at a time (Eq. clark-weights, clark-linear). The axis of actions
// comes before that of states, so that every operation runs along contiguous memory.
func clarkMax(mean, cov, distinct *Node, keep func(*Node) *Node) (meanMax, varMax, weights *Node) {
	actions := mean.Shape().Dim(1)
	meanMax, varMax = action(mean, 0), action(action(cov, 0), 0)
	weights = ExpandAxes(OnesLike(meanMax), 1) // of X_0, …, X_{i−1}, [B, i, S]
	for i := 1; i < actions; i++ {
		row := action(cov, i)                                                    // [B, A, S], Cov(X_j, X_i) for all j
		covMax := ReduceSum(Mul(weights, SliceAxis(row, 1, AxisRange(0, i))), 1) // c_i = Cov(M_{i−1}, X_i)
		meanNext, varNext := action(mean, i), action(row, i)
		use := action(distinct, i)

		gap := Sub(meanMax, meanNext)
		omega2 := Sub(Add(varMax, varNext), MulScalar(covMax, 2))
		omega := Sqrt(Max(omega2, smallVariance(Add(varMax, varNext), gap)))
		nu := Div(gap, omega)
		density := Mul(use, MulScalar(Exp(MulScalar(Square(nu), -0.5)), 1/math.Sqrt(2*math.Pi)))
		upper := keep(Mul(use, normalCDF(Neg(nu)))) // Φ(−ν), the weight of X_i
		lower := OneMinus(upper)                    // Φ(ν), the weight of M_{i−1}

		spread := keep(Mul(omega, density)) // ω φ(ν)
		meanMax = keep(Add(Add(meanNext, Mul(gap, lower)), spread))
		// Clark's second moment less the squared mean, expanded around the gap of the means so that nothing cancels
		// where one variable clearly wins.
		between := Add(Mul(varMax, lower), Mul(varNext, upper))
		across := Add(Mul(Square(gap), Mul(lower, upper)), Mul(Mul(gap, spread), Sub(upper, lower)))
		varMax = Add(between, Sub(across, Square(spread)))
		varMax = keep(Max(varMax, smallVariance(between, ZerosLike(gap))))
		weights = Concatenate([]*Node{keep(Mul(weights, ExpandAxes(lower, 1))), ExpandAxes(upper, 1)}, 1)
	}
	return meanMax, varMax, weights
}

// maxMean is Graph by the X_a of highest mean, the first of them in a tie.
func maxMean(mean, cov *Node) (meanMax, varMax, weights *Node) {
	best := OneHot(ArgMax(mean, 1), mean.Shape().Dim(1), mean.DType()) // [B, S, A]
	weights = StopGradient(Transpose(best, 1, 2))
	return ReduceSum(Mul(weights, mean), 1), SurrogateVariance(cov, weights), weights
}

// SurrogateVariance returns wᵀ C w, [B, S], for C [B, A, A, S] and w [B, A, S].
func SurrogateVariance(cov, weights *Node) *Node {
	return ReduceSum(Mul(Mul(cov, ExpandAxes(weights, 1)), ExpandAxes(weights, 2)), 1, 2)
}

// normalCDF is the standard normal distribution function, elementwise.
func normalCDF(x *Node) *Node {
	return MulScalar(OnePlus(Erf(MulScalar(x, math.Sqrt2/2))), 0.5)
}

// smallVariance is the floor under a variance that rounding may turn negative, of differences of variables whose
// variances sum to sum and whose means are gap apart: too small to matter beside either, so that it is the same in
// every unit, and large enough that gap/√floor and its square are numbers.
func smallVariance(sum, gap *Node) *Node {
	floor := Add(MulScalar(Max(sum, ZerosLike(sum)), 1e-10), Square(MulScalar(gap, 1e-6)))
	return StopGradient(Add(floor, ConstAs(sum, leastVariance(sum.DType()))))
}

// leastVariance is the floor where there is neither a variance nor a gap. Its inverse is a number.
func leastVariance(dtype dtypes.DType) float64 {
	if dtype == dtypes.Float64 {
		return 1e-290
	}
	return 1e-36
}

// action returns x[:, i], the part of action i.
func action(x *Node, i int) *Node { return Squeeze(SliceAxis(x, 1, AxisElem(i)), 1) }

// Materializer returns a function that returns its argument [..., S] and makes a compiler compute it, and its gradient,
// once: XLA otherwise fuses the steps of Clark's recursion into expressions that repeat each step wherever it is used,
// three times slower in all. A product with the identity is what it neither fuses nor simplifies, if the identity
// [S, S] is not a constant.
func Materializer(identity *Node) func(x *Node) *Node {
	return func(x *Node) *Node {
		states := x.Shape().Dim(-1)
		return ReshapeWithShape(MatMul(Reshape(x, x.Shape().Size()/states, states), identity), x.Shape())
	}
}
