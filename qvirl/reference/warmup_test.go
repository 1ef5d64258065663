package reference

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Along each eigenvector the mass is the inverse of the positions' variance, at least the prior's 1 and at most the
// mean information's eigenvalue.
func TestSpreadMass(t *testing.T) {
	information := []float64{1, 4, 100, 400, 9} // eigenvalues
	deviation := []float64{1, 0.5, 0.7, 0.01, 2}
	want := []float64{1, 4, 1 / 0.49, 400, 1}
	const n, count = 5, 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	random := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			random.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(random)
	var axes mat.Dense
	qr.QTo(&axes)
	matrix := func(eigenvalues []float64) *mat.SymDense {
		out := mat.NewSymDense(n, nil)
		for e, x := range eigenvalues {
			out.SymRankOne(out, x, axes.ColView(e))
		}
		return out
	}
	positions := mat.NewDense(count, n, nil)
	for k := range count {
		for e, s := range deviation {
			x := 3 + s*rng.NormFloat64() // a mean is no spread
			for i := range n {
				positions.Set(k, i, positions.At(k, i)+x*axes.At(i, e))
			}
		}
	}
	got := spreadMass(matrix(information), positions)
	for i := range n {
		for j := range n {
			exact := matrix(want).At(i, j)
			// four standard errors of a variance, √(2/count), of the largest eigenvalue that is estimated, 4
			if e := math.Abs(got.At(i, j) - exact); e > 4*4*math.Sqrt(2./count) {
				t.Errorf("mass [%d, %d] is %.4f, want %.4f", i, j, got.At(i, j), exact)
			}
		}
	}
}
