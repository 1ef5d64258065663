package valuewalk

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestSkyline compares with gonum's dense factors: of a band, of an arrow, whose last row is full, and of a full
// matrix, with their coordinates in a random order and put back into the right one.
func TestSkyline(t *testing.T) {
	const n, tolerance = 30, 1e-12 // of rounding, with condition numbers below 100
	rng := rand.New(rand.NewPCG(1, 2))
	for name, joined := range map[string]func(i, j int) bool{ // j < i
		"band":  func(i, j int) bool { return i-j <= 3 },
		"arrow": func(i, _ int) bool { return i == n-1 },
		"full":  func(_, _ int) bool { return true },
	} {
		order := rng.Perm(n)
		a, entries := mat.NewSymDense(n, nil), n
		for i := range n {
			for j := range i {
				if joined(i, j) {
					a.SetSym(order[i], order[j], rng.Float64()-0.5)
					entries++
				}
			}
			a.SetSym(i, i, 10)
		}
		l, err := newSkyline(n, order, a.At)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		held := 0
		for _, row := range l.row {
			held += len(row)
		}
		if want := map[string]int{"band": entries, "arrow": entries, "full": n * (n + 1) / 2}[name]; held != want {
			t.Errorf("%s: it holds %d entries, want %d", name, held, want)
		}
		var chol mat.Cholesky
		if !chol.Factorize(a) {
			t.Fatalf("%s: not positive definite", name)
		}
		x, got, scratch := make([]float64, n), mat.NewVecDense(n, nil), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		var want mat.VecDense
		if err := chol.SolveVecTo(&want, mat.NewVecDense(n, x)); err != nil {
			t.Fatal(err)
		}
		if l.solve(got.RawVector().Data, scratch, x); !mat.EqualApprox(got, &want, tolerance) {
			t.Errorf("%s: A⁻¹ x is %v, want %v", name, got, &want)
		}
		factor := mat.NewDense(n, n, nil) // L Lᵀ, column by column of L
		for i := range n {
			unit := make([]float64, n)
			unit[i] = 1
			l.multiply(scratch, unit)
			factor.SetCol(i, scratch)
		}
		var product mat.Dense
		product.Mul(factor, factor.T())
		if !mat.EqualApprox(&product, a, tolerance) {
			t.Errorf("%s: L Lᵀ is %v, want %v", name, mat.Formatted(&product), mat.Formatted(a))
		}
	}
	if _, err := newSkyline(2, []int{1, 0}, mat.NewSymDense(2, []float64{1, 2, 2, 1}).At); err == nil {
		t.Error("a matrix with a negative eigenvalue was factorised")
	}
}
