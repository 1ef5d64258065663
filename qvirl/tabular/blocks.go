package tabular

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/matmul"
)

// block is the size of the blocks that products of large matrices are shared out in.
const block = 128

// inBlocks runs f on consecutive blocks of 0, …, n − 1, as many at a time as there are processors.
func inBlocks(n int, f func(from, to int)) {
	if n <= block {
		f(0, n)
		return
	}
	blocks := (n + block - 1) / block
	_ = parallel.Each(context.Background(), blocks, func(_ context.Context, i int) error { // there are no errors
		f(i*block, min((i+1)*block, n))
		return nil
	})
}

// window is rows and columns of a matrix.
func window(data []float64, stride, row, rows, column, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: stride, Data: data[min(row*stride+column, len(data)):]}
}

// corner is the triangle of a triangular matrix in its rows and columns from … to − 1.
func corner(t blas64.Triangular, from, to int) blas64.Triangular {
	t.N, t.Data = to-from, t.Data[from*t.Stride+from:]
	return t
}

// timesTriangle sets out to a·f, f lower triangular, with zeros above the diagonal.
func timesTriangle(a *mat.Dense, f blas64.Triangular, out *mat.Dense) {
	n := f.N
	if n <= matmul.Small {
		out.Copy(a)
		blas64.Trmm(blas.Right, blas.NoTrans, 1, f, out.RawMatrix())
		return
	}
	inBlocks(n, func(from, to int) {
		columns := out.Slice(0, n, from, to).(*mat.Dense)
		columns.Zero()
		matmul.Add(blas.NoTrans, blas.NoTrans, 1, a.Slice(0, n, from, n).(*mat.Dense).RawMatrix(),
			window(f.Data, f.Stride, from, n-from, from, to-from), columns.RawMatrix())
	})
}

// square sets the upper triangle of c to that of a·aᵀ + scale·c.
func square(a *mat.Dense, scale float64, c *mat.SymDense) {
	n, k := a.Dims()
	raw := c.RawSymmetric()
	if n <= matmul.Small {
		blas64.Syrk(blas.NoTrans, 1, a.RawMatrix(), scale, raw)
		return
	}
	inBlocks(n, func(from, to int) {
		rows := window(raw.Data, raw.Stride, from, to-from, from, n-from)
		for i := range rows.Rows {
			blas64.Scal(scale, blas64.Vector{N: rows.Cols, Inc: 1, Data: rows.Data[i*rows.Stride:]})
		}
		matmul.Add(blas.NoTrans, blas.Trans, 1, a.Slice(from, to, 0, k).(*mat.Dense).RawMatrix(),
			a.Slice(from, n, 0, k).(*mat.Dense).RawMatrix(), rows)
	})
}

// cholesky replaces the upper triangle of a symmetric matrix by R with RᵀR the matrix. It reports false where that is
// not positive definite.
func cholesky(c blas64.Symmetric) (root blas64.Triangular, ok bool) {
	n := c.N
	root = blas64.Triangular{N: n, Stride: c.Stride, Data: c.Data, Uplo: c.Uplo, Diag: blas.NonUnit}
	for from := 0; from < n; from += matmul.Small {
		to := min(from+matmul.Small, n)
		diagonal := c
		diagonal.N, diagonal.Data = to-from, c.Data[from*c.Stride+from:]
		if _, ok := lapack64.Potrf(diagonal); !ok {
			return root, false
		}
		right := func(first, last int) blas64.General { // of the diagonal block
			return window(c.Data, c.Stride, from, to-from, to+first, last-first)
		}
		inBlocks(n-to, func(first, last int) { solve(blas.Trans, corner(root, from, to), right(first, last)) })
		inBlocks(n-to, func(first, last int) {
			matmul.Add(blas.Trans, blas.NoTrans, -1, right(first, last), right(first, n-to),
				window(c.Data, c.Stride, to+first, last-first, to+first, n-to-first))
		})
	}
	return root, true
}

// solve replaces x [n, m] by R⁻¹ x, or by R⁻ᵀ x with blas.Trans, by halves: with R = [R₁ B; 0 R₂],
//
//	x₂ ← R₂⁻¹ x₂,  x₁ ← R₁⁻¹ (x₁ − B x₂),   or   x₁ ← R₁⁻ᵀ x₁,  x₂ ← R₂⁻ᵀ (x₂ − Bᵀ x₁).
func solve(t blas.Transpose, root blas64.Triangular, x blas64.General) {
	n := root.N
	if n <= matmul.Small {
		blas64.Trsm(blas.Left, t, 1, root, x)
		return
	}
	half := n / 2
	first, second := corner(root, 0, half), corner(root, half, n)
	x1, x2 := window(x.Data, x.Stride, 0, half, 0, x.Cols), window(x.Data, x.Stride, half, n-half, 0, x.Cols)
	beside := window(root.Data, root.Stride, 0, half, half, n-half)
	if t == blas.Trans {
		solve(t, first, x1)
		matmul.Add(t, blas.NoTrans, -1, beside, x1, x2)
		solve(t, second, x2)
		return
	}
	solve(t, second, x2)
	matmul.Add(t, blas.NoTrans, -1, beside, x2, x1)
	solve(t, first, x1)
}

// invert sets the upper triangle of out to R⁻¹; below it lies what lay there.
func invert(root blas64.Triangular, out *mat.Dense) {
	n, raw := root.N, out.RawMatrix()
	if n <= matmul.Small {
		inverse := blas64.Triangular{N: n, Stride: raw.Stride, Data: raw.Data, Uplo: blas.Upper, Diag: blas.NonUnit}
		for i := range n {
			copy(raw.Data[i*raw.Stride+i:i*raw.Stride+n], root.Data[i*root.Stride+i:])
		}
		lapack64.Trtri(inverse)
		return
	}
	inBlocks(n, func(from, to int) {
		columns := out.Slice(0, to, from, to).(*mat.Dense)
		columns.Zero()
		for i := from; i < to; i++ {
			columns.Set(i, i-from, 1)
		}
		solve(blas.NoTrans, corner(root, 0, to), columns.RawMatrix())
	})
}

// vector is a slice as BLAS takes it.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
