package tabular

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ValueMean returns the means of the variational posterior over optimal values, [ValueDim], ordered as SampleValues has
// them.
func (p *Gaussian) ValueMean() []float64 { return append([]float64(nil), p.meanX...) }

// ValueCov returns its covariance, [ValueDim, ValueDim].
func (p *Gaussian) ValueCov() *mat.SymDense { return p.around.valueCov() }

// SampleValues draws from the variational posterior over optimal values, [n, ValueDim]: V*(s) for state-only rewards,
// Q*(s,a) for state-action rewards, and then log β if it is inferred.
func (p *Gaussian) SampleValues(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n <= 0 {
		return nil, fmt.Errorf("tabular: cannot draw %d samples", n)
	}
	return shift(p.around.drawValues(rng, n), p.meanX), nil
}

// ValueLogProbs returns the log densities of the variational posterior at optimal values as SampleValues draws them,
// one a row. A singular covariance has no density, which is an error.
func (p *Gaussian) ValueLogProbs(x *mat.Dense) ([]float64, error) {
	rows, n := x.Dims()
	if n != len(p.meanX) {
		return nil, fmt.Errorf("tabular: values have %d columns, want %d", n, len(p.meanX))
	}
	gaps := mat.DenseCopyOf(x)
	for i := range rows {
		floats.Sub(gaps.RawRowView(i), p.meanX)
	}
	return p.around.logProbs(gaps)
}
