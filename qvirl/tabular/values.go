package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// SampleValues draws from the variational posterior over optimal values, [n, ValueDim]: V*(s) for state-only rewards,
// Q*(s,a) for state-action rewards, and then log β if it is inferred.
func (p *Gaussian) SampleValues(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n <= 0 {
		return nil, fmt.Errorf("qvirl: cannot draw %d samples", n)
	}
	return affine(p.meanX, p.rootX, normals(rng, n, len(p.meanX))), nil
}

// ValueLogProbs returns the log densities of the variational posterior at optimal values as SampleValues draws them, one a
// row. Where training in single precision has left the covariance with eigenvalues below zero, its diagonal is raised by a
// millionth of its mean, or ten; a covariance that is singular beyond that has no density, which is an error.
func (p *Gaussian) ValueLogProbs(x *mat.Dense) ([]float64, error) {
	rows, n := x.Dims()
	if n != len(p.meanX) {
		return nil, fmt.Errorf("qvirl: values have %d columns, want %d", n, len(p.meanX))
	}
	cov := symmetric(p.covX)
	var chol mat.Cholesky
	ok := chol.Factorize(cov)
	for _, lift := range []float64{1e-6, 9e-6} {
		if ok {
			break
		}
		lift *= mat.Trace(p.covX) / float64(n)
		for i := range n {
			cov.SetSym(i, i, cov.At(i, i)+lift)
		}
		ok = chol.Factorize(cov)
	}
	if !ok {
		return nil, fmt.Errorf("qvirl: the covariance of the values is singular to rounding, so that they have no density")
	}
	centred := mat.DenseCopyOf(x)
	for i := range rows {
		floats.Sub(centred.RawRowView(i), p.meanX)
	}
	var scaled mat.Dense // Σ⁻¹ (x − μ), a column each
	if err := chol.SolveTo(&scaled, centred.T()); err != nil {
		return nil, fmt.Errorf("qvirl: the covariance of the values is ill-conditioned: %w", err)
	}
	logs, constant := make([]float64, rows), -0.5*(float64(n)*math.Log(2*math.Pi)+chol.LogDet())
	for i := range logs {
		logs[i] = constant - 0.5*floats.Dot(centred.RawRowView(i), mat.Col(nil, i, &scaled))
	}
	return logs, nil
}
