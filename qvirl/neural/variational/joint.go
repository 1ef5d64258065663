package variational

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Joint is the joint distribution of n quantities: a Gaussian, or, with SinhArcsinh marginals, one whose quantities are
// each a function of one of n jointly Gaussian variables.
type Joint struct {
	Mean []float64
	Cov  *mat.SymDense // [n, n]

	latent *mat.SymDense // correlations of the Gaussian variables behind the quantities; nil for a Gaussian
	warp   *plainWarp
}

// Std returns the standard deviation of quantity i.
func (j *Joint) Std(i int) float64 { return math.Sqrt(j.Cov.At(i, i)) }

// Difference returns the mean and the standard deviation of quantity i less quantity k.
func (j *Joint) Difference(i, k int) (mean, std float64) {
	return j.Mean[i] - j.Mean[k], math.Sqrt(math.Max(0, j.Cov.At(i, i)+j.Cov.At(k, k)-2*j.Cov.At(i, k)))
}

// Interval returns the central credible interval of quantity i that holds the given probability.
func (j *Joint) Interval(i int, probability float64) (low, high float64, err error) {
	if !(probability > 0 && probability < 1) {
		return 0, 0, fmt.Errorf("variational: the probability of a credible interval is %g, want one between 0 and 1",
			probability)
	}
	z := distuv.UnitNormal.Quantile((1 + probability) / 2)
	return j.value(i, -z), j.value(i, z), nil
}

// value returns quantity i where its Gaussian variable is z standard deviations above its mean.
func (j *Joint) value(i int, z float64) float64 {
	if j.warp != nil {
		z = j.warp.apply(z)
	}
	return j.Mean[i] + j.Std(i)*z
}

// Sample returns n draws, a row each. The covariance may be singular: a state's actions may have the same value.
func (j *Joint) Sample(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n < 1 {
		return nil, fmt.Errorf("variational: cannot draw %d samples", n)
	}
	of := j.latent
	if of == nil {
		of = j.Cov
	}
	var eig mat.EigenSym
	if !eig.Factorize(of, true) {
		return nil, fmt.Errorf("variational: the covariance has no eigendecomposition")
	}
	var root, x mat.Dense
	eig.VectorsTo(&root)
	variances := eig.Values(nil)
	root.Apply(func(_, k int, v float64) float64 { return v * math.Sqrt(math.Max(variances[k], 0)) }, &root)
	noise := mat.NewDense(n, len(j.Mean), nil)
	noise.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, noise)
	x.Mul(noise, root.T())
	x.Apply(func(_, i int, v float64) float64 {
		if j.latent != nil {
			return j.value(i, v)
		}
		return j.Mean[i] + v
	}, &x)
	return &x, nil
}

// plainWarp is a warp in plain numbers.
type plainWarp struct {
	skew, tail, mean, std float64
	coefficients          [warpTerms]float64
}

func newPlainWarp(skew, tail float64) *plainWarp {
	w := &plainWarp{skew: skew, tail: tail, std: 1}
	z, weights := normalQuadrature()
	integral := func(f func(i int) float64) float64 {
		sum := 0.0
		for i, weight := range weights {
			sum += weight * f(i)
		}
		return sum
	}
	w.mean = integral(func(i int) float64 { return w.shape(z[i]) })
	w.std = math.Sqrt(integral(func(i int) float64 { return math.Pow(w.shape(z[i])-w.mean, 2) }))
	norm := 0.0
	for j := range w.coefficients {
		polynomial := hermite(z, j+1)
		w.coefficients[j] = integral(func(i int) float64 { return w.apply(z[i]) * polynomial[i] })
		norm = math.Hypot(norm, w.coefficients[j])
	}
	for j := range w.coefficients {
		w.coefficients[j] /= norm
	}
	return w
}

// shape returns S(z).
func (w *plainWarp) shape(z float64) float64 { return math.Sinh((math.Asinh(z) + w.skew) / w.tail) }

// apply returns W(z).
func (w *plainWarp) apply(z float64) float64 { return (w.shape(z) - w.mean) / w.std }

// correlation returns what the latent correlation k becomes. A nil warp changes nothing.
func (w *plainWarp) correlation(k float64) float64 {
	if w == nil {
		return k
	}
	power, sum := 1.0, 0.0
	for _, h := range w.coefficients {
		power *= k
		sum += h * h * power
	}
	return sum
}
