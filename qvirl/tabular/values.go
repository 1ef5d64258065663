package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ValueMean returns the means of the variational posterior over optimal values, [ValueDim], ordered as SampleValues has
// them.
func (p *Gaussian) ValueMean() []float64 { return append([]float64(nil), p.meanX...) }

// ValueCov returns its covariance, [ValueDim, ValueDim].
func (p *Gaussian) ValueCov() *mat.SymDense { return symmetric(p.covX) }

// SampleValues draws from the variational posterior over optimal values, [n, ValueDim]: V*(s) for state-only rewards,
// Q*(s,a) for state-action rewards, and then log β if it is inferred.
func (p *Gaussian) SampleValues(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n <= 0 {
		return nil, fmt.Errorf("tabular: cannot draw %d samples", n)
	}
	return affine(p.meanX, p.rootX, normals(rng, n, len(p.meanX))), nil
}

// ValueLogProbs returns the log densities of the variational posterior at optimal values as SampleValues draws them,
// one a row: with L the triangular root of the covariance, that of x is log N(L⁻¹(x − μ); 0, I) − log det L. A singular
// L has no density, which is an error.
func (p *Gaussian) ValueLogProbs(x *mat.Dense) ([]float64, error) {
	rows, n := x.Dims()
	if n != len(p.meanX) {
		return nil, fmt.Errorf("tabular: values have %d columns, want %d", n, len(p.meanX))
	}
	constant := -0.5 * float64(n) * math.Log(2*math.Pi)
	for i := range n {
		constant -= math.Log(p.rootX.At(i, i))
	}
	if math.IsInf(constant, 1) {
		return nil, fmt.Errorf("tabular: the covariance of the values is singular, so that they have no density")
	}
	whitened := mat.DenseCopyOf(x.T()) // L⁻¹ (x − μ), a column each
	for i := range n {
		floats.AddConst(-p.meanX[i], whitened.RawRowView(i))
	}
	lower := mat.NewTriDense(n, mat.Lower, p.rootX.RawMatrix().Data)
	blas64.Trsm(blas.Left, blas.NoTrans, 1, lower.RawTriangular(), whitened.RawMatrix())
	logs := make([]float64, rows)
	for i := range logs {
		z := whitened.ColView(i)
		logs[i] = constant - 0.5*mat.Dot(z, z)
	}
	return logs, nil
}
