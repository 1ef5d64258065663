package valuewalk

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// skyline is the Cholesky factor L of a symmetric positive definite matrix A = L Lᵀ with its coordinates in another
// order. Of each row it holds what stands from its first entry that is not zero up to the diagonal, which is all that
// L can fill there (George and Liu, 1981, "Computer Solution of Large Sparse Positive Definite Systems", Ch. 4).
type skyline struct {
	order []int       // the coordinate of each row, [n]
	row   [][]float64 // the last entry is on the diagonal, [n]
}

// newSkyline factorises the matrix with the given elements, [n, n], of which those at (order[i], order[j]), j ≤ i, are
// read.
func newSkyline(n int, order []int, at func(i, j int) float64) (*skyline, error) {
	l := &skyline{order: order, row: make([][]float64, n)}
	for i := range n {
		first := 0
		for first < i && at(order[i], order[first]) == 0 {
			first++
		}
		row := make([]float64, i-first+1)
		l.row[i] = row
		for j := first; j <= i; j++ {
			// L_ij L_jj = A_ij − Σ_{k<j} L_ik L_jk
			other := l.row[j]
			begin, diagonal := max(first, j+1-len(other)), len(other)-1
			left := at(order[i], order[j]) - floats.Dot(row[begin-first:j-first], other[diagonal-(j-begin):diagonal])
			if j < i {
				row[j-first] = left / other[diagonal]
				continue
			}
			if !(left > 0) || math.IsInf(left, 1) {
				return nil, errors.New("not positive definite to rounding")
			}
			row[j-first] = math.Sqrt(left)
		}
	}
	return l, nil
}

// solve writes A⁻¹ x to dst. scratch, as long as they, is overwritten.
func (l *skyline) solve(dst, scratch, x []float64) {
	z := scratch
	for i, row := range l.row { // L z = x
		last := len(row) - 1
		z[i] = (x[l.order[i]] - floats.Dot(row[:last], z[i-last:i])) / row[last]
	}
	for i := len(l.row) - 1; i >= 0; i-- { // Lᵀ y = z, y in place of z
		row := l.row[i]
		last := len(row) - 1
		z[i] /= row[last]
		floats.AddScaled(z[i-last:i], -z[i], row[:last])
		dst[l.order[i]] = z[i]
	}
}

// multiply writes L z to dst, in the order of A's coordinates.
func (l *skyline) multiply(dst, z []float64) {
	for i, row := range l.row {
		dst[l.order[i]] = floats.Dot(row, z[i+1-len(row):i+1])
	}
}
