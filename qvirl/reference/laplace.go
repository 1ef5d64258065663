package reference

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// part is one of the blocks that I + H consists of: coordinates that the demonstrations tell something of, each of them
// something that depends on the others. With few demonstrations H = Gᵀ G has a low rank; what is asked of I + H takes
// G and, of size r alone, C Cᵀ = I + G Gᵀ (Woodbury):
//
//	det(I + H) = det(C)²,   (I + H)⁻¹ = I − Gᵀ (C Cᵀ)⁻¹ G.
type part struct {
	at    []int
	root  *mat.Dense    // G, [r, len(at)], r ≤ len(at)
	lower *mat.TriDense // C, [r, r]
}

// newMode returns a mode of the curvature I + Gᵀ G, but for its evidence; nil if that is not positive definite to
// rounding.
func newMode(u []float64, root *mat.Dense) *mode {
	m := &mode{u: u}
	for _, b := range joined(root) {
		of := mat.NewDense(len(b.rows), len(b.at), nil)
		for k, r := range b.rows {
			for l, j := range b.at {
				of.Set(k, l, root.At(r, j))
			}
		}
		if !m.add(b.at, of) {
			return nil
		}
	}
	m.setOthers()
	return m
}

// add adds a part, and reports whether it is positive definite to rounding.
func (m *mode) add(at []int, root *mat.Dense) bool {
	if rows, columns := root.Dims(); rows > columns {
		var qr mat.QR
		qr.Factorize(root)
		var upper mat.Dense
		qr.RTo(&upper)
		root = mat.DenseCopyOf(upper.Slice(0, columns, 0, columns))
	}
	lower, logDet := seen(root)
	if lower == nil {
		return false
	}
	m.parts, m.logDet = append(m.parts, part{at, root, lower}), m.logDet+logDet
	return true
}

// seen returns C and log det(C Cᵀ), C Cᵀ = I + G Gᵀ the covariance of what is seen, with noise, of standard normal
// coordinates; nil where it is not positive definite to rounding.
func seen(root mat.Matrix) (lower *mat.TriDense, logDet float64) {
	var covariance mat.SymDense
	covariance.SymOuterK(1, root)
	for k := range covariance.SymmetricDim() {
		covariance.SetSym(k, k, covariance.At(k, k)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(&covariance) {
		return nil, 0
	}
	lower = &mat.TriDense{}
	chol.LTo(lower)
	return lower, chol.LogDet()
}

// setOthers sets the others to all coordinates that are in no part.
func (m *mode) setOthers() {
	parted := make([]bool, len(m.u))
	for _, p := range m.parts {
		for _, j := range p.at {
			parted[j] = true
		}
	}
	for j, in := range parted {
		if !in {
			m.others = append(m.others, j)
		}
	}
}

// bound are columns of a matrix, in ascending order, that rows of it bind together, and these rows.
type bound struct{ at, rows []int }

// joined returns the blocks that a matrix consists of but for columns of zeros, and rows that are lost in rounding.
func joined(root *mat.Dense) (blocks []bound) {
	rows, columns := root.Dims()
	block := slices.Repeat([]int{-1}, columns) // of each column, the number of
	first := make([]int, rows)                 // a row in it, whose first column this is
	for r := range rows {
		row := root.RawRowView(r)
		if first[r] = slices.IndexFunc(row, func(x float64) bool { return x != 0 }); floats.Dot(row, row) < lost {
			first[r] = -1
			continue
		}
		for j, x := range row {
			switch before := block[j]; {
			case x == 0 || before == r:
			case before < 0:
				block[j] = r
			default: // all that was together with j is together with the row
				for l, b := range block {
					if b == before {
						block[l] = r
					}
				}
			}
		}
	}
	place := map[int]int{}
	for j, b := range block {
		if b < 0 {
			continue
		}
		if _, ok := place[b]; !ok {
			place[b] = len(blocks)
			blocks = append(blocks, bound{})
		}
		blocks[place[b]].at = append(blocks[place[b]].at, j)
	}
	for r, j := range first {
		if j >= 0 {
			b := &blocks[place[block[j]]]
			b.rows = append(b.rows, r)
		}
	}
	return blocks
}

// squared returns (u − μ)ᵀ (I + H) (u − μ), the square of the distance from the mode at μ in its standard deviations.
func (m *mode) squared(u []float64) float64 {
	return m.squaredUpTo(u, math.Inf(1), make([]float64, len(u)))
}

// squaredUpTo is squared, or where that is more than most, some number between them. It uses scratch, as long as u.
func (m *mode) squaredUpTo(u []float64, most float64, scratch []float64) (sum float64) {
	for _, j := range m.others {
		sum += (u[j] - m.u[j]) * (u[j] - m.u[j])
	}
	for _, p := range m.parts {
		offset := scratch[:0]
		for _, j := range p.at {
			offset = append(offset, u[j]-m.u[j])
		}
		sum += floats.Dot(offset, offset)
		for k := range p.root.RawMatrix().Rows {
			if sum > most {
				return sum
			}
			x := floats.Dot(p.root.RawRowView(k), offset)
			sum += x * x
		}
	}
	return sum
}

// condition replaces x by what is left of it once G x + noise is known, in each part,
//
//	x − Gᵀ (C Cᵀ)⁻¹ (G x + noise),
//
// which is (I + H)⁻¹ x without noise, and N(0, (I + H)⁻¹) where x and the noise are standard normal (Matheron's rule).
func (m *mode) condition(x []float64, noise func() float64) {
	for _, p := range m.parts {
		of, gx := make([]float64, len(p.at)), make([]float64, p.root.RawMatrix().Rows)
		for k, j := range p.at {
			of[k] = x[j]
		}
		for k := range gx {
			gx[k] = noise()
		}
		gemv(blas.NoTrans, p.root, of, 1, gx)
		lower, vector := p.lower.RawTriangular(), blas64.Vector{N: len(gx), Data: gx, Inc: 1}
		blas64.Trsv(blas.NoTrans, lower, vector)
		blas64.Trsv(blas.Trans, lower, vector)
		floats.Scale(-1, gx)
		gemv(blas.Trans, p.root, gx, 1, of)
		for k, j := range p.at {
			x[j] = of[k]
		}
	}
}

// draw draws from the mode's approximation.
func (m *mode) draw(rng *rand.Rand) []float64 {
	out := make([]float64, len(m.u))
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	m.condition(out, rng.NormFloat64)
	floats.Add(out, m.u)
	return out
}

// marginal returns the mode's at some coordinates, nil if it is none to rounding. To these, the others are noise in
// what is seen of all, G x = G₁ x₁ + G₂ x₂ with x₂ ~ N(0, I): the curvature is
//
//	I + G₁ᵀ (I + G₂ G₂ᵀ)⁻¹ G₁.
func (m *mode) marginal(at []int) *mode {
	out := &mode{evidence: m.evidence}
	place := make(map[int]int, len(at))
	for k, j := range at {
		out.u, place[j] = append(out.u, m.u[j]), k
	}
	for _, p := range m.parts {
		var in, kept, others []int
		for k, j := range p.at {
			if i, ok := place[j]; ok {
				in, kept = append(in, i), append(kept, k)
			} else {
				others = append(others, k)
			}
		}
		if len(kept) == 0 {
			continue
		}
		root := columns(p.root, kept)
		if len(others) > 0 {
			lower, _ := seen(columns(p.root, others))
			if lower == nil {
				return nil
			}
			blas64.Trsm(blas.Left, blas.NoTrans, 1, lower.RawTriangular(), root.RawMatrix())
		}
		if !out.add(in, root) {
			return nil
		}
	}
	out.setOthers()
	return out
}

// columns returns some columns of a matrix.
func columns(x *mat.Dense, of []int) *mat.Dense {
	out := mat.NewDense(x.RawMatrix().Rows, len(of), nil)
	for k, j := range of {
		out.SetCol(k, mat.Col(nil, j, x))
	}
	return out
}
