package deep

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Joint is a joint Gaussian of n quantities.
type Joint struct {
	Mean []float64
	Cov  *mat.SymDense // [n, n]
}

// Marginal returns the distribution of quantity i.
func (j *Joint) Marginal(i int) distuv.Normal {
	return distuv.Normal{Mu: j.Mean[i], Sigma: math.Sqrt(j.Cov.At(i, i))}
}

// Interval returns the central credible interval of quantity i that holds the given probability.
func (j *Joint) Interval(i int, probability float64) (low, high float64, err error) {
	if !(probability > 0 && probability < 1) {
		return 0, 0, fmt.Errorf("deep: the probability of a credible interval is %g, want one between 0 and 1", probability)
	}
	m := j.Marginal(i)
	return m.Quantile((1 - probability) / 2), m.Quantile((1 + probability) / 2), nil
}

// Sample returns n draws, a row each. The covariance may be singular: a state's actions may have the same value.
func (j *Joint) Sample(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n < 1 {
		return nil, fmt.Errorf("deep: cannot draw %d samples", n)
	}
	var eig mat.EigenSym
	if !eig.Factorize(j.Cov, true) {
		return nil, fmt.Errorf("deep: the covariance has no eigendecomposition")
	}
	var root, x mat.Dense
	eig.VectorsTo(&root)
	variances := eig.Values(nil)
	root.Apply(func(_, k int, v float64) float64 { return v * math.Sqrt(math.Max(variances[k], 0)) }, &root)
	noise := mat.NewDense(n, len(j.Mean), nil)
	noise.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, noise)
	x.Mul(noise, root.T())
	x.Apply(func(_, k int, v float64) float64 { return v + j.Mean[k] }, &x)
	return &x, nil
}
