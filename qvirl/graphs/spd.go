package graphs

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// spdBlock is the number of rows that a turn of SPDInverse eliminates, one pivot at a time.
const spdBlock = 8

// unrolled is the number of turns up to which they are laid out one after the other; more are a loop, which computes as
// fast and whose compilation does not grow with the matrix.
const unrolled = 4

// pivotFloor is what rounding makes of pivots of zero, of matrices with a unit diagonal.
func pivotFloor(dtype dtypes.DType) float64 {
	if dtype == dtypes.Float64 {
		return 1e-16
	}
	return 1e-7
}

// SPDInverse returns the inverse [B, n, n] and the log-determinant [B] of symmetric positive definite matrices
// x [B, n, n], by sweeps of a block of pivots at a time. With P the block, R its rows and E those of the identity, the
// sweep
//
//	x − (R − E)ᵀ P⁻¹ (R − E)    makes    P Q    2I − P⁻¹   P⁻¹Q
//	                                     Qᵀ D   QᵀP⁻¹      D − QᵀP⁻¹Q ,
//
// which stays symmetric, and all of them make x to 2I − x⁻¹. What rounding leaves of another part in x is taken out
// first, as every sweep would multiply it by up to |P⁻¹Q|. There is no gradient through the loop: call it under
// StopGradient, the KL divergence knows its own.
func SPDInverse(x *Node) (inverse, logDet *Node) {
	x = MulScalar(Add(x, SwapLast(x)), 0.5)
	// With a unit diagonal every pivot is at most one, which keeps the elimination accurate in float32.
	variance := ReduceSum(Mul(x, IdentityLike(x)), -1)
	scale := Rsqrt(variance)
	scales := Mul(ExpandAxes(scale, -1), ExpandAxes(scale, -2))
	inverse, logDet = correlationInverse(Mul(x, scales))
	return Mul(inverse, scales), Add(logDet, ReduceSum(Log(variance), -1))
}

// correlationInverse is SPDInverse for matrices of diagonal at most one.
func correlationInverse(x *Node) (inverse, logDet *Node) {
	g, dtype := x.Graph(), x.DType()
	batch, size := x.Shape().Dim(0), x.Shape().Dim(1)
	if size <= spdBlock {
		return eliminate(x, IdentityLike(x))
	}
	turns := (size + spdBlock - 1) / spdBlock
	x = padIdentity(x, turns*spdBlock)
	logDet = Zeros(g, shapes.Make(dtype, batch))
	if turns <= unrolled {
		for k := range turns {
			x, logDet = sweep(x, logDet, Const(g, []int32{int32(k * spdBlock)}))
		}
	} else {
		x, logDet = loop(x, logDet, turns)
	}
	x = Sub(MulScalar(IdentityLike(x), 2), x)
	return Slice(x, AxisRange(), AxisRange(0, size), AxisRange(0, size)), logDet
}

// loop sweeps in a loop. What its body reads has to be part of its state: it cannot see nodes outside.
func loop(x, logDet *Node, turns int) (swept, sum *Node) {
	g := x.Graph()
	state := []*Node{Const(g, []int32{0}), Const(g, int32(turns*spdBlock)), x, logDet}
	parameters := func(g *Graph) []*Node {
		out := make([]*Node, len(state))
		for i, s := range state {
			out[i] = Parameter(g, "", s.Shape())
		}
		return out
	}
	more := NewClosure(g, func(g *Graph) []*Node {
		in := parameters(g)
		return []*Node{LessThan(Squeeze(in[0]), in[1])}
	})
	body := NewClosure(g, func(g *Graph) []*Node {
		in := parameters(g)
		x, logDet := sweep(in[2], in[3], in[0])
		return []*Node{AddScalar(in[0], spdBlock), in[1], x, logDet}
	})
	out := While(more, body, state...)
	return out[2], out[3]
}

// sweep sweeps the block of x [B, n, n] that starts at a row.
func sweep(x, logDet, start *Node) (swept, sum *Node) {
	g, dtype, n := x.Graph(), x.DType(), x.Shape().Dim(2)
	rows := GatherSlices(x, []int{1}, start, []int{spdBlock}, true)     // [B, block, n]
	block := GatherSlices(rows, []int{2}, start, []int{spdBlock}, true) // [B, block, block]
	inverseP, logDetP := eliminate(block, IdentityLike(block))
	index := shapes.Make(dtypes.Int32, 1, spdBlock, n)
	unit := Equal(Iota(g, index, 2), Add(Iota(g, index, 1), ExpandAxes(start, 0, 1)))
	left := Sub(rows, ConvertDType(unit, dtype))
	right := MatMul(inverseP, left)
	left = SwapLast(left)
	for k := range spdBlock { // one pass over x, which compiles to faster code than a product so narrow
		x = Sub(x, Mul(SliceAxis(left, 2, AxisElem(k)), SliceAxis(right, 1, AxisElem(k))))
	}
	return x, Add(logDet, logDetP)
}

// eliminate inverts small matrices in place by Gauss–Jordan elimination: with c and r the column and row of pivot p,
// and e the unit vector, x − (c − e)(r + e)ᵀ/p has the eliminated rows, −c/p in the column, r/p in the row, and 1/p at
// the pivot.
func eliminate(x, identity *Node) (inverse, logDet *Node) {
	for k := range x.Shape().Dim(-1) {
		row := SliceAxis(x, -2, AxisElem(k))     // [B, 1, n]
		column := SliceAxis(x, -1, AxisElem(k))  // [B, n, 1]
		pivot := SliceAxis(row, -1, AxisElem(k)) // [B, 1, 1]
		pivot = MaxScalar(pivot, pivotFloor(pivot.DType()))
		left := Sub(column, SliceAxis(identity, -1, AxisElem(k)))
		right := Div(Add(row, SliceAxis(identity, -2, AxisElem(k))), pivot)
		x = Sub(x, Mul(left, right))
		step := Log(Squeeze(pivot, -1, -2))
		logDet = Plus(logDet, step)
	}
	return x, logDet
}

// Plus returns sum + x, for sums that begin with nil.
func Plus(sum, x *Node) *Node {
	if sum == nil {
		return x
	}
	return Add(sum, x)
}

// padIdentity returns matrices [B, n, n] with x in their corner and the identity beside it.
func padIdentity(x *Node, n int) *Node {
	g, dtype, batch, size := x.Graph(), x.DType(), x.Shape().Dim(0), x.Shape().Dim(1)
	if n == size {
		return x
	}
	beside := Zeros(g, shapes.Make(dtype, batch, size, n-size))
	below := Zeros(g, shapes.Make(dtype, batch, n-size, size))
	corner := ExpandAxes(ConvertDType(Diagonal(g, n-size), dtype), 0)
	corner = BroadcastToDims(corner, batch, n-size, n-size)
	return Concatenate([]*Node{Concatenate([]*Node{x, beside}, -1), Concatenate([]*Node{below, corner}, -1)}, -2)
}

// IdentityLike returns the identity matrix of the size of x's matrices [..., n, n], its leading axes of length one.
func IdentityLike(x *Node) *Node {
	return ExpandLeftToRank(ConvertDType(Diagonal(x.Graph(), x.Shape().Dim(-1)), x.DType()), x.Rank())
}

// SwapLast swaps the last two axes.
func SwapLast(x *Node) *Node { return Transpose(x, -2, -1) }
