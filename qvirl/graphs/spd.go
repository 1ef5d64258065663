package graphs

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// spdBlock is the size up to which matrices are inverted by elimination, one pivot at a time; larger ones are split.
var spdBlock = 8

// pivotFloor is what rounding makes of pivots of zero, of matrices with a unit diagonal.
func pivotFloor(dtype dtypes.DType) float64 {
	if dtype == dtypes.Float64 {
		return 1e-16
	}
	return 1e-7
}

// SPDInverse returns the inverse [B, n, n] and the log-determinant [B] of symmetric positive definite matrices
// x [B, n, n]. It is meant to be called under StopGradient: the KL divergence knows its own gradient.
func SPDInverse(x *Node) (inverse, logDet *Node) {
	// With a unit diagonal every pivot is at most one, which keeps the elimination accurate in float32.
	variance := ReduceSum(Mul(x, IdentityLike(x)), -1)
	scale := Rsqrt(variance)
	scales := Mul(ExpandAxes(scale, -1), ExpandAxes(scale, -2))
	inverse, logDet = correlationInverse(Mul(x, scales))
	return Mul(inverse, scales), Add(logDet, ReduceSum(Log(variance), -1))
}

// correlationInverse is SPDInverse for matrices of diagonal at most one. It splits x into blocks and recurses on the
// leading block and its Schur complement, so that the work is matrix products, which every backend has.
func correlationInverse(x *Node) (inverse, logDet *Node) {
	n := x.Shape().Dim(-1)
	if n <= spdBlock {
		return eliminate(x)
	}
	half := (n/2 + spdBlock - 1) / spdBlock * spdBlock // keep the blocks at the bottom of the recursion full
	if half >= n {
		half = n / 2
	}
	block := func(rows, cols SliceAxisSpec) *Node {
		return SliceAxis(SliceAxis(x, -2, rows), -1, cols)
	}
	first, second := AxisRange(0, half), AxisRange(half, n)
	a, b, d := block(first, first), block(first, second), block(second, second)
	inverseA, logDetA := correlationInverse(a)
	ab := MatMul(inverseA, b)                                                // A⁻¹B
	inverseS, logDetS := correlationInverse(Sub(d, MatMul(SwapLast(b), ab))) // S = D − BᵀA⁻¹B
	abs := MatMul(ab, inverseS)                                              // A⁻¹B S⁻¹
	topLeft := Add(inverseA, MatMul(abs, SwapLast(ab)))
	inverse = Concatenate([]*Node{
		Concatenate([]*Node{topLeft, Neg(abs)}, -1),
		Concatenate([]*Node{Neg(SwapLast(abs)), inverseS}, -1),
	}, -2)
	return inverse, Add(logDetA, logDetS)
}

// eliminate inverts small matrices in place by Gauss–Jordan elimination: with c and r the column and row of pivot p,
// and e the unit vector, x − (c − e)(r + e)ᵀ/p has the eliminated rows, −c/p in the column, r/p in the row, and 1/p at
// the pivot.
func eliminate(x *Node) (inverse, logDet *Node) {
	n := x.Shape().Dim(-1)
	identity := IdentityLike(x)
	for k := 0; k < n; k++ {
		row := SliceAxis(x, -2, AxisElem(k))     // [B, 1, n]
		column := SliceAxis(x, -1, AxisElem(k))  // [B, n, 1]
		pivot := SliceAxis(row, -1, AxisElem(k)) // [B, 1, 1]
		pivot = Max(pivot, ConstAs(pivot, pivotFloor(pivot.DType())))
		left := Sub(column, SliceAxis(identity, -1, AxisElem(k)))
		right := Div(Add(row, SliceAxis(identity, -2, AxisElem(k))), pivot)
		x = Sub(x, Mul(left, right))
		step := Log(Squeeze(pivot, -1, -2))
		if logDet == nil {
			logDet = step
		} else {
			logDet = Add(logDet, step)
		}
	}
	return x, logDet
}

// identityLike returns the identity matrix of the size of x's matrices [..., n, n], its leading axes of length one.
func IdentityLike(x *Node) *Node {
	return ExpandLeftToRank(ConvertDType(Diagonal(x.Graph(), x.Shape().Dim(-1)), x.DType()), x.Rank())
}

// transpose swaps the last two axes.
func SwapLast(x *Node) *Node { return Transpose(x, -2, -1) }
