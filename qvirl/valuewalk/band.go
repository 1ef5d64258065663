package valuewalk

import "math"

// bandLU computes determinants of row-diagonally dominant matrices whose entries lie within a band around the diagonal.
// Elimination without pivoting is stable for such matrices (Golub and Van Loan, "Matrix Computations", §4.1.1), and
// keeps the band, so that a gridworld of width w costs n·w² and a matrix without structure n³.
type bandLU struct {
	n, width int       // size, and the largest |i − j| of an entry
	row      []float64 // entry (i, j) at i·(2·width + 1) + j − i + width
}

func newBandLU(n, width int) *bandLU {
	return &bandLU{n: n, width: width, row: make([]float64, n*(2*width+1))}
}

// reset makes the matrix the identity.
func (b *bandLU) reset() {
	clear(b.row)
	for i, stride := 0, 2*b.width+1; i < b.n; i++ {
		b.row[i*stride+b.width] = 1
	}
}

// add adds v to entry (i, j), which must lie in the band.
func (b *bandLU) add(i, j int, v float64) { b.row[i*(2*b.width+1)+j-i+b.width] += v }

// logDet returns the log of the absolute value of the determinant, and destroys the matrix.
func (b *bandLU) logDet() float64 {
	w, stride := b.width, 2*b.width+1
	product, sum := 1.0, 0.0
	for k := 0; k < b.n; k++ {
		pivot := b.row[k*stride+w : (k+1)*stride] // entries (k, k), (k, k+1), …
		reach := min(w, b.n-1-k)
		for i := k + 1; i <= k+reach; i++ {
			at := i*stride + k - i + w
			factor := b.row[at]
			if factor == 0 {
				continue
			}
			factor /= pivot[0]
			dst := b.row[at+1 : at+1+reach]
			for j, p := range pivot[1 : 1+reach] {
				dst[j] -= factor * p
			}
		}
		// One logarithm for many pivots: they lie in [1 − γ, 1 + γ], so the product stays far from the limits of
		// float64 between the renewals.
		if product *= pivot[0]; k%16 == 15 {
			sum += math.Log(math.Abs(product))
			product = 1
		}
	}
	return sum + math.Log(math.Abs(product))
}

// bandwidth returns the largest distance |s − s'| of a transition in the MDP's own numbering of its states.
func bandwidth(t *target) int {
	width := 0
	for i := 0; i < t.states*t.actions; i++ {
		for k := t.rowStart[i]; k < t.rowStart[i+1]; k++ {
			d := int(t.next[k]) - i/t.actions
			width = max(width, d, -d)
		}
	}
	return width
}
