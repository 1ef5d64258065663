// Package matmul multiplies matrices in double precision by the processor's fused multiply-add instructions on vectors
// of four, which gonum does not use: several times faster on large matrices, on one core.
package matmul

import (
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The products of a tile of C, [tileRows, tileCols], stay in registers; tiles are of a block of A, [blockRows, depth],
// that stays in the second-level cache, and of a panel of B, [depth, tileCols], that stays in the first.
const (
	tileRows, tileCols = 4, 12
	blockRows, depth   = 96, 256
)

// Small is the size up to which products are gonum's: of their largest dimension.
const Small = 64

// packed is the memory that one product needs: a block of A and the panels of B, tile by tile.
type packed struct{ a, b []float64 }

var memory = sync.Pool{New: func() any { return new(packed) }}

// Add sets C to α op(A) op(B) + C, C [m, n], op(A) [m, k] and op(B) [k, n], op the transpose where t says so. Products
// of small matrices, and all on processors without those instructions, are gonum's, bit for bit.
func Add(tA, tB blas.Transpose, alpha float64, a, b, c blas64.General) {
	m, n, k := c.Rows, c.Cols, a.Cols
	if tA == blas.Trans {
		k = a.Rows
	}
	if !fused || max(m, n, k) <= Small {
		blas64.Gemm(tA, tB, alpha, a, b, 1, c)
		return
	}
	scratch := memory.Get().(*packed)
	defer memory.Put(scratch)
	for p := 0; p < k; p += depth {
		deep := min(depth, k-p)
		scratch.b = pack(scratch.b, b, tB == blas.NoTrans, p, deep, 0, n, tileCols, 1)
		for i := 0; i < m; i += blockRows {
			rows := min(blockRows, m-i)
			scratch.a = pack(scratch.a, a, tA == blas.Trans, p, deep, i, rows, tileRows, alpha)
			for j := 0; j < n; j += tileCols {
				for r := 0; r < rows; r += tileRows {
					tile(deep, scratch.a[r*deep:], scratch.b[j*deep:], c, i+r, j)
				}
			}
		}
	}
}

// Covariance returns the sample covariance [n, n] of n quantities from k draws [k, n].
func Covariance(draws mat.Matrix) *mat.SymDense {
	centred := mat.DenseCopyOf(draws)
	k, n := centred.Dims()
	mean := make([]float64, n)
	for i := range k {
		floats.AddScaled(mean, 1/float64(k), centred.RawRowView(i))
	}
	for i := range k {
		floats.Sub(centred.RawRowView(i), mean)
	}
	cov := mat.NewSymDense(n, nil)
	part := func(data []float64, stride, rows, i, j, cols int) blas64.General {
		return blas64.General{Rows: rows, Cols: cols, Stride: stride, Data: data[i*stride+j:]}
	}
	x, c, height := centred.RawMatrix(), cov.RawSymmetric(), 4*blockRows
	for i := 0; i < n; i += height { // blocks on the diagonal, and what is right of them
		rows := min(height, n-i)
		Add(blas.Trans, blas.NoTrans, 1/float64(k-1), part(x.Data, x.Stride, k, 0, i, rows),
			part(x.Data, x.Stride, k, 0, i, n-i), part(c.Data, c.Stride, rows, i, i, n-i))
	}
	return cov
}

// pack copies count lines of scale · g from the first line on, and of each the deep elements from p on, to dst: lines
// in groups of width, in a group element after element, with zeros for lines that are missing. A line is a column of g
// where columns says so, and a row otherwise.
func pack(dst []float64, g blas64.General, columns bool, p, deep, first, count, width int, scale float64) []float64 {
	groups := (count + width - 1) / width
	if need := groups * width * deep; cap(dst) < need {
		dst = make([]float64, need)
	}
	for group := range groups {
		out := dst[group*width*deep : (group+1)*width*deep]
		lines := min(width, count-group*width)
		if lines < width {
			clear(out)
		}
		at := first + group*width
		if columns {
			for e := range deep {
				row := g.Data[(p+e)*g.Stride+at : (p+e)*g.Stride+at+lines]
				to := out[e*width : e*width+lines]
				for l, v := range row {
					to[l] = scale * v
				}
			}
			continue
		}
		if lines == 4 && width == 4 { // together, for speed
			row := func(l int) []float64 { return g.Data[(at+l)*g.Stride+p : (at+l)*g.Stride+p+deep] }
			r0, r1, r2, r3 := row(0), row(1), row(2), row(3)
			for e := range r0 {
				to := out[4*e : 4*e+4]
				to[0], to[1], to[2], to[3] = scale*r0[e], scale*r1[e], scale*r2[e], scale*r3[e]
			}
			continue
		}
		for l := range lines {
			for e, v := range g.Data[(at+l)*g.Stride+p : (at+l)*g.Stride+p+deep] {
				out[e*width+l] = scale * v
			}
		}
	}
	return dst
}

// tile adds the product of a group of A and one of B to the tile of C that begins at row i and column j.
func tile(deep int, a, b []float64, c blas64.General, i, j int) {
	rows, cols := min(tileRows, c.Rows-i), min(tileCols, c.Cols-j)
	if rows == tileRows && cols == tileCols {
		multiply(deep, &a[0], &b[0], &c.Data[i*c.Stride+j], c.Stride)
		return
	}
	var whole [tileRows * tileCols]float64
	multiply(deep, &a[0], &b[0], &whole[0], tileCols)
	for r := range rows {
		for l := range cols {
			c.Data[(i+r)*c.Stride+j+l] += whole[r*tileCols+l]
		}
	}
}
