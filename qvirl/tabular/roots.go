package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// normals returns n rows of standard normal numbers.
func normals(rng *rand.Rand, n, dim int) *mat.Dense {
	noise := mat.NewDense(n, dim, nil)
	for i := range noise.RawMatrix().Data {
		noise.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return noise
}

// shift adds the mean to each row of x, which it returns.
func shift(x *mat.Dense, mean []float64) *mat.Dense {
	n, _ := x.Dims()
	for i := range n {
		floats.Add(x.RawRowView(i), mean)
	}
	return x
}

// mapped returns root·ε for each row ε of the noise, a row each.
func mapped(root, noise *mat.Dense) *mat.Dense {
	var x mat.Dense
	x.Mul(noise, root.T())
	return &x
}

// covarianceRoot returns a matrix L with L·Lᵀ = cov. Rounding in single precision may leave a covariance with tiny
// negative eigenvalues, for which they are raised to zero.
func covarianceRoot(cov *mat.Dense) (*mat.Dense, error) {
	n, _ := cov.Dims()
	sym := symmetric(cov)
	var chol mat.Cholesky
	if chol.Factorize(sym) {
		var lower mat.TriDense
		chol.LTo(&lower)
		return mat.DenseCopyOf(&lower), nil
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return nil, fmt.Errorf("tabular: the posterior covariance has no eigendecomposition")
	}
	var root mat.Dense
	eig.VectorsTo(&root)
	for j, value := range eig.Values(nil) {
		for i := 0; i < n; i++ {
			root.Set(i, j, root.At(i, j)*math.Sqrt(math.Max(value, 0)))
		}
	}
	return &root, nil
}

// symmetric returns ½(a + aᵀ).
func symmetric(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	sym := mat.NewSymDense(n, nil)
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, 0.5*(a.At(i, j)+a.At(j, i)))
		}
	}
	return sym
}

// triangularRoot returns the lower triangular matrix [n, n] of positive diagonal whose product with its transpose is
// that of root [n, k]: the Cholesky factor of root·rootᵀ, without squaring root's condition.
func triangularRoot(root mat.Matrix) *mat.Dense {
	n, k := root.Dims()
	tall := mat.NewDense(max(n, k), n, nil)
	tall.Slice(0, k, 0, n).(*mat.Dense).Copy(root.T())
	var qr mat.QR
	qr.Factorize(tall)
	var upper mat.Dense
	qr.RTo(&upper)
	lower := mat.NewDense(n, n, nil)
	for j := range n {
		sign := math.Copysign(1, upper.At(j, j))
		for i := j; i < n; i++ {
			lower.Set(i, j, sign*upper.At(j, i))
		}
	}
	return lower
}

// squareOf returns root·rootᵀ.
func squareOf(root *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(root, root.T())
	return &out
}
