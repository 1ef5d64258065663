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
// x [B, n, n], by Gauss–Jordan elimination in place, a block of pivots at a time. With the matrix in blocks
//
//	P R    the turn of block P makes it    P⁻¹     P⁻¹R
//	C D                                    −CP⁻¹   D − CP⁻¹R
//
// and every turn then rotates the blocks, so that the next one is in the corner where this one was. There is no
// gradient through the loop: call it under StopGradient, the KL divergence knows its own.
func SPDInverse(x *Node) (inverse, logDet *Node) {
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
	identity := ExpandAxes(ConvertDType(Diagonal(g, spdBlock), dtype), 0)
	logDet = Zeros(g, shapes.Make(dtype, batch))
	if turns <= unrolled {
		for range turns {
			x, logDet = turn(x, logDet, identity)
		}
	} else {
		x, logDet = loop(x, logDet, identity, turns)
	}
	return Slice(x, AxisRange(), AxisRange(0, size), AxisRange(0, size)), logDet
}

// loop takes turns in a loop. What its body reads has to be part of its state: it cannot see nodes outside.
func loop(x, logDet, identity *Node, turns int) (inverse, sum *Node) {
	g := x.Graph()
	state := []*Node{Const(g, int32(0)), Const(g, int32(turns)), Const(g, int32(1)), identity, x, logDet}
	parameters := func(g *Graph) []*Node {
		out := make([]*Node, len(state))
		for i, s := range state {
			out[i] = Parameter(g, "", s.Shape())
		}
		return out
	}
	more := NewClosure(g, func(g *Graph) []*Node {
		in := parameters(g)
		return []*Node{LessThan(in[0], in[1])}
	})
	body := NewClosure(g, func(g *Graph) []*Node {
		in := parameters(g)
		x, logDet := turn(in[4], in[5], in[3])
		return []*Node{Add(in[0], in[2]), in[1], in[2], in[3], x, logDet}
	})
	out := While(more, body, state...)
	return out[4], out[5]
}

// turn eliminates the first block of x, and rotates the blocks.
func turn(x, logDet, identity *Node) (rotated, sum *Node) {
	part := func(rows, cols SliceAxisSpec) *Node { return Slice(x, AxisRange(), rows, cols) }
	corner, rest := AxisRange(0, spdBlock), AxisRange(spdBlock)
	inverseP, logDetP := eliminate(part(corner, corner), identity)
	right := MatMul(inverseP, part(corner, rest))
	left := Neg(MatMul(part(rest, corner), inverseP))
	schur := Sub(part(rest, rest), MatMul(part(rest, corner), right))
	rotated = Concatenate([]*Node{
		Concatenate([]*Node{schur, left}, -1),
		Concatenate([]*Node{right, inverseP}, -1),
	}, -2)
	return rotated, Add(logDet, logDetP)
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
