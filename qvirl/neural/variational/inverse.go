package variational

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// pivots is the number of rows that a turn of the loop in spdInverse eliminates.
const pivots = 8

// spdInverse returns the inverses [batch, n, n] and log-determinants [batch] of symmetric positive definite matrices x
// [batch, n, n], by Gauss–Jordan elimination in place, a block of pivots at a time. With the matrix in blocks
//
//	P R    the turn of block P makes it    P⁻¹     P⁻¹R
//	C D                                    −CP⁻¹   D − CP⁻¹R
//
// and every turn then rotates the blocks, so that the next one is in the corner where this one was and the loop needs
// no index. It is a loop because unrolled it takes longer to compile than everything else together. There is no
// gradient.
//
// (graphs.SPDInverse, which splits matrices in halves, inverts the leading half explicitly; the rounding errors of that
// grow with the condition number once for every level, too many for rewards of transitions that resemble each other.)
func spdInverse(x *Node) (inverse, logDet *Node) {
	g, dtype := x.Graph(), x.DType()
	batch, size := x.Shape().Dim(0), x.Shape().Dim(1)
	n := (size + pivots - 1) / pivots * pivots
	if n > size { // the rest of the diagonal is 1
		x = padIdentity(x, n)
	}
	identity := ExpandAxes(ConvertDType(Diagonal(g, pivots), dtype), 0)
	cut := func(inverse *Node) *Node { return Slice(inverse, AxisRange(), AxisRange(0, size), AxisRange(0, size)) }
	if n == pivots {
		inverse, logDet = eliminate(x, identity)
		return cut(inverse), logDet
	}
	// What the loop's body reads has to be part of its state: it cannot see nodes outside.
	state := []*Node{Const(g, int32(0)), Const(g, int32(n/pivots)), Const(g, int32(1)), identity, x,
		Zeros(g, shapes.Make(dtype, batch))}
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
	turn := NewClosure(g, func(g *Graph) []*Node {
		in := parameters(g)
		one, identity, x, logDet := in[2], in[3], in[4], in[5]
		part := func(rows, cols SliceAxisSpec) *Node { return Slice(x, AxisRange(), rows, cols) }
		corner, rest := AxisRange(0, pivots), AxisRange(pivots)
		inverseP, logDetP := eliminate(part(corner, corner), identity)
		right := MatMul(inverseP, part(corner, rest))
		left := Neg(MatMul(part(rest, corner), inverseP))
		schur := Sub(part(rest, rest), MatMul(part(rest, corner), right))
		x = Concatenate([]*Node{
			Concatenate([]*Node{schur, left}, -1),
			Concatenate([]*Node{right, inverseP}, -1),
		}, -2)
		return []*Node{Add(in[0], one), in[1], one, identity, x, Add(logDet, logDetP)}
	})
	out := While(more, turn, state...)
	return cut(out[4]), out[5]
}

// eliminate inverts matrices x [batch, pivots, pivots] in place, one pivot at a time: with c and r the column and row
// of pivot p, and e the unit vector, x − (c − e)(r + e)ᵀ/p has the eliminated rows, −c/p in the column, r/p in the row,
// and 1/p at the pivot.
func eliminate(x, identity *Node) (inverse, logDet *Node) {
	var product *Node
	for k := range pivots {
		row := Slice(x, AxisRange(), AxisElem(k)) // [batch, 1, pivots]
		column := Slice(x, AxisRange(), AxisRange(), AxisElem(k))
		pivot := Slice(row, AxisRange(), AxisRange(), AxisElem(k))
		left := Sub(column, Slice(identity, AxisRange(), AxisRange(), AxisElem(k)))
		right := Div(Add(row, Slice(identity, AxisRange(), AxisElem(k))), pivot)
		x = Sub(x, Mul(left, right))
		if product == nil {
			product = pivot
		} else {
			product = Mul(product, pivot)
		}
	}
	return x, Log(Squeeze(product, 1, 2))
}

// padIdentity returns matrices [batch, n, n] with x in their corner and the identity beside it.
func padIdentity(x *Node, n int) *Node {
	g, dtype, batch, size := x.Graph(), x.DType(), x.Shape().Dim(0), x.Shape().Dim(1)
	beside := Zeros(g, shapes.Make(dtype, batch, size, n-size))
	below := Zeros(g, shapes.Make(dtype, batch, n-size, size))
	corner := ExpandAxes(ConvertDType(Diagonal(g, n-size), dtype), 0)
	corner = BroadcastToDims(corner, batch, n-size, n-size)
	return Concatenate([]*Node{Concatenate([]*Node{x, beside}, -1), Concatenate([]*Node{below, corner}, -1)}, -2)
}

// wide converts to double precision.
func wide(x *Node) *Node { return ConvertDType(x, dtypes.Float64) }
