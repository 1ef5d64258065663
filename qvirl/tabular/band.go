package tabular

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// bandMatrix is a symmetric matrix P [n, n] whose entries lie within a band around the diagonal once rows and columns
// are numbered anew, and after factorize the factors of its elimination by blocks of columns J, where R are the rows
// below J that the band reaches:
//
//	D = P_JJ⁻¹,   Y = P_RJ D,   P_RR ← P_RR − Y P_JJ Yᵀ.
//
// Products of dense blocks are all that it does: n·width² operations, n·width numbers.
type bandMatrix struct {
	n        int          // size
	place    []int32      // number of each row and column in the band; all else here is in these numbers
	panels   []*mat.Dense // of J: P_JJ over P_RJ, of which what is above P's diagonal means nothing
	inverses []*mat.Dense // D, after factorize; P_JJ stays in the panel, and Y takes the place of P_RJ
	logDet   float64      // of P, after factorize
}

// bandBlock is the number of columns of a block.
const bandBlock = 64

// newBandMatrix returns the zero matrix of a band in which no entry (i, j) has |i − j| > width.
func newBandMatrix(place []int32, width int) *bandMatrix {
	n := len(place)
	b := &bandMatrix{n: n, place: place}
	for from := 0; from < n; from += bandBlock {
		columns := min(bandBlock, n-from)
		b.panels = append(b.panels, mat.NewDense(min(columns+width, n-from), columns, nil))
		b.inverses = append(b.inverses, mat.NewDense(columns, columns, nil))
	}
	return b
}

// zero makes the matrix zero.
func (b *bandMatrix) zero() {
	for _, p := range b.panels {
		p.Zero()
	}
}

// addOuter adds scale · u uᵀ, u having the given entries at the rows and columns of index.
func (b *bandMatrix) addOuter(index []int, scale float64, u []float64) {
	for k, i := range index {
		for l, j := range index {
			if i >= j {
				b.add(i, j, scale*u[k]*u[l])
			}
		}
	}
}

// numbers returns the place of entry (i, j) on or below the diagonal.
func (b *bandMatrix) numbers(i, j int) (row, column int) {
	i, j = int(b.place[i]), int(b.place[j])
	return max(i, j), min(i, j)
}

// add adds v to entries (i, j) and (j, i) of the symmetric matrix.
func (b *bandMatrix) add(i, j int, v float64) {
	i, j = b.numbers(i, j)
	panel := b.panels[j/bandBlock].RawMatrix()
	panel.Data[(i-j/bandBlock*bandBlock)*panel.Stride+j%bandBlock] += v
}

// at returns entry (i, j) of a matrix that is not factorized.
func (b *bandMatrix) at(i, j int) float64 {
	i, j = b.numbers(i, j)
	return b.panels[j/bandBlock].At(i-j/bandBlock*bandBlock, j%bandBlock)
}

// block returns the first row of block k, P_JJ, and P_RJ, which is nil where R is empty.
func (b *bandMatrix) block(k int) (from int, square, below *mat.Dense) {
	rows, columns := b.panels[k].Dims()
	square = b.panels[k].Slice(0, columns, 0, columns).(*mat.Dense)
	if rows > columns {
		below = b.panels[k].Slice(columns, rows, 0, columns).(*mat.Dense)
	}
	return k * bandBlock, square, below
}

// mirror copies what is below the diagonal of a square matrix above it.
func mirror(a *mat.Dense) {
	n, _ := a.Dims()
	for i := range n {
		for j := range i {
			a.Set(j, i, a.At(i, j))
		}
	}
}

// factorize eliminates block by block, and reports whether the matrix is positive definite.
func (b *bandMatrix) factorize() bool {
	b.logDet = 0
	var chol mat.Cholesky
	var inverse mat.SymDense
	var product mat.Dense
	for k := range b.panels {
		from, square, below := b.block(k)
		mirror(square)
		size, _ := square.Dims()
		if !chol.Factorize(symmetric(square)) {
			return false
		}
		b.logDet += chol.LogDet()
		inverse.Reset()
		if err := chol.InverseTo(&inverse); err != nil && !isCondition(err) {
			return false
		}
		b.inverses[k].Copy(&inverse)
		if below == nil {
			continue
		}
		product.Reset()
		product.Mul(below, b.inverses[k])
		b.subtract(from+size, &product, below)
		below.Copy(&product)
	}
	return !math.IsNaN(b.logDet)
}

// subtract subtracts x yᵀ, which is symmetric, from the matrix at the rows and columns that begin at first.
func (b *bandMatrix) subtract(first int, x, y *mat.Dense) {
	count, inner := x.Dims()
	for k := first / bandBlock; k*bandBlock < first+count; k++ {
		_, columns := b.panels[k].Dims()
		from := max(k*bandBlock, first)
		to := min(k*bandBlock+columns, first+count)
		blas64.Gemm(blas.NoTrans, blas.Trans, -1, x.Slice(from-first, count, 0, inner).(*mat.Dense).RawMatrix(),
			y.Slice(from-first, to-first, 0, inner).(*mat.Dense).RawMatrix(), 1,
			b.panels[k].Slice(from-k*bandBlock, first+count-k*bandBlock, from-k*bandBlock,
				to-k*bandBlock).(*mat.Dense).RawMatrix())
	}
}

// solve replaces given [n, k] by P⁻¹ given.
func (b *bandMatrix) solve(given *mat.Dense) {
	_, k := given.Dims()
	x := mat.NewDense(b.n, k, nil)
	for i, r := range b.place {
		x.SetRow(int(r), given.RawRowView(i))
	}
	parts := func(i int) (below, own, rest *mat.Dense) {
		from, _, below := b.block(i)
		_, size := b.panels[i].Dims()
		own = x.Slice(from, from+size, 0, k).(*mat.Dense)
		if below != nil {
			count, _ := below.Dims()
			rest = x.Slice(from+size, from+size+count, 0, k).(*mat.Dense)
		}
		return below, own, rest
	}
	var product mat.Dense
	for i := range b.panels {
		below, own, rest := parts(i)
		if below != nil {
			blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, below.RawMatrix(), own.RawMatrix(), 1, rest.RawMatrix())
		}
		product.Reset()
		product.Mul(b.inverses[i], own)
		own.Copy(&product)
	}
	for i := len(b.panels) - 1; i >= 0; i-- {
		if below, own, rest := parts(i); below != nil {
			blas64.Gemm(blas.Trans, blas.NoTrans, -1, below.RawMatrix(), rest.RawMatrix(), 1, own.RawMatrix())
		}
	}
	for i, r := range b.place {
		given.SetRow(i, x.RawRowView(int(r)))
	}
}

// window copies the symmetric matrix at count rows and columns from first on.
func (b *bandMatrix) window(out *mat.Dense, first, count int) {
	for k := first / bandBlock; k*bandBlock < first+count; k++ {
		_, columns := b.panels[k].Dims()
		from, to := max(k*bandBlock, first), min(k*bandBlock+columns, first+count)
		out.Slice(from-first, count, from-first, to-first).(*mat.Dense).Copy(
			b.panels[k].Slice(from-k*bandBlock, first+count-k*bandBlock, from-k*bandBlock, to-k*bandBlock))
	}
	mirror(out)
}

// invert sets z to the entries of P⁻¹ within the band, from the last block to the first (Takahashi, Fagan and Chin,
// 1973):
//
//	Z_RJ = −Z_RR Y,   Z_JJ = D − Yᵀ Z_RJ.
func (b *bandMatrix) invert(z *bandMatrix) {
	for k := len(b.panels) - 1; k >= 0; k-- {
		from, _, below := b.block(k)
		_, square, under := z.block(k)
		square.Copy(b.inverses[k])
		if below == nil {
			continue
		}
		count, size := below.Dims()
		window := mat.NewDense(count, count, nil)
		z.window(window, from+size, count)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, window.RawMatrix(), below.RawMatrix(), 0, under.RawMatrix())
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, below.RawMatrix(), under.RawMatrix(), 1, square.RawMatrix())
	}
}

// sandwich sets x to the entries of Z K Z within the band, for Z = P⁻¹, of which invert gave the entries within the
// band, and a symmetric K within it, which is overwritten. It is minus the derivative of invert as P moves along K:
//
//	K_RR ← K_RR − (G Yᵀ + Y Gᵀ) with G = K_RJ − ½ Y K_JJ,   Y' = (K_RJ − Y K_JJ) D,   D' = −D K_JJ D,
//	Z'_RJ = −Z'_RR Y − Z_RR Y',   Z'_JJ = D' − Y'ᵀ Z_RJ − Yᵀ Z'_RJ.
func (b *bandMatrix) sandwich(z, k, x *bandMatrix) {
	var product mat.Dense
	for i := range b.panels {
		from, _, y := b.block(i)
		_, square, below := k.block(i)
		mirror(square)
		if y == nil {
			continue
		}
		_, size := y.Dims()
		blas64.Gemm(blas.NoTrans, blas.NoTrans, -0.5, y.RawMatrix(), square.RawMatrix(), 1, below.RawMatrix())
		k.subtract(from+size, below, y)
		k.subtract(from+size, y, below)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, -0.5, y.RawMatrix(), square.RawMatrix(), 1, below.RawMatrix())
		product.Reset()
		product.Mul(below, b.inverses[i])
		below.Copy(&product) // Y'
	}
	var half mat.Dense
	for i := len(b.panels) - 1; i >= 0; i-- {
		from, _, y := b.block(i)
		_, square, turned := k.block(i)
		_, _, under := z.block(i)
		_, own, rest := x.block(i)
		half.Reset()
		half.Mul(b.inverses[i], square)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, half.RawMatrix(), b.inverses[i].RawMatrix(), 0, own.RawMatrix())
		if y == nil {
			continue
		}
		count, size := y.Dims()
		window := mat.NewDense(count, count, nil)
		x.window(window, from+size, count) // −Z'_RR
		blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, window.RawMatrix(), y.RawMatrix(), 0, rest.RawMatrix())
		z.window(window, from+size, count)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, window.RawMatrix(), turned.RawMatrix(), 1, rest.RawMatrix())
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, turned.RawMatrix(), under.RawMatrix(), 1, own.RawMatrix())
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, y.RawMatrix(), rest.RawMatrix(), 1, own.RawMatrix())
	}
}
