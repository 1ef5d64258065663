package tabular

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// TestBlocks compares what is shared out in blocks with what gonum computes at once: n fills two blocks and a half.
func TestBlocks(t *testing.T) {
	const n = 5 * block / 2
	rng := rand.New(rand.NewPCG(3, 0))
	random := func() *mat.Dense {
		out := mat.NewDense(n, n, nil)
		for i := range out.RawMatrix().Data {
			out.RawMatrix().Data[i] = rng.NormFloat64()
		}
		return out
	}
	a, x := random(), random()
	expect := func(what string, got, want mat.Matrix, size float64) {
		t.Helper()
		var gap mat.Dense
		gap.Sub(got, want)
		if worst := mat.Norm(&gap, math.Inf(1)); !(worst <= 1e-10*size) || mat.Norm(want, 1) == 0 {
			t.Errorf("%s: off by %g", what, worst)
		}
	}
	lower := mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		for j := range i + 1 {
			lower.SetTri(i, j, rng.NormFloat64())
		}
	}
	var product mat.Dense
	product.Mul(a, lower)
	out := random() // what lies there does not matter
	timesTriangle(a, lower.RawTriangular(), out)
	expect("a product with a triangle", out, &product, n)

	var outer mat.SymDense
	outer.SymOuterK(1, a)
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		cov.SetSym(i, i, math.NaN()) // what lies there does not matter with scale 0
	}
	square(a, 0, cov)
	expect("a square", cov, &outer, n)
	square(a, 1, cov)
	outer.ScaleSym(2, &outer)
	for i := range n {
		cov.SetSym(i, i, cov.At(i, i)+n)
		outer.SetSym(i, i, outer.At(i, i)+n)
	}
	expect("twice a square", cov, &outer, n)

	var chol mat.Cholesky
	if !chol.Factorize(&outer) {
		t.Fatal("it is positive definite")
	}
	var upper mat.TriDense
	chol.UTo(&upper)
	root, ok := cholesky(cov.RawSymmetric())
	if !ok {
		t.Fatal("cholesky says that it is not positive definite")
	}
	got := mat.NewTriDense(n, mat.Upper, nil)
	for i := range n {
		for j := i; j < n; j++ {
			got.SetTri(i, j, root.Data[i*root.Stride+j])
		}
	}
	expect("a Cholesky factor", got, &upper, n)
	for _, tr := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		mine, want := mat.DenseCopyOf(x), mat.DenseCopyOf(x)
		solve(tr, root, mine.RawMatrix())
		blas64.Trsm(blas.Left, tr, 1, upper.RawTriangular(), want.RawMatrix())
		expect("a solution", mine, want, n)
	}
	invert(root, out)
	var unit mat.Dense
	inverse := mat.NewTriDense(n, mat.Upper, nil)
	for i := range n {
		for j := i; j < n; j++ {
			inverse.SetTri(i, j, out.At(i, j))
		}
	}
	unit.Mul(inverse, &upper)
	expect("an inverse", &unit, mat.NewDiagDense(n, ones(n)), 1)

	cov.SetSym(n-1, n-1, -1)
	if _, ok := cholesky(cov.RawSymmetric()); ok {
		t.Error("a matrix with a negative diagonal has a Cholesky factor")
	}
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
