package irl

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
)

// Empirical is the distribution of equally weighted samples: exact moments and quantiles, and a Gaussian kernel density
// estimate with Scott's bandwidth σ n^(−1/5) (Scott, 1992) for the log density.
type Empirical struct {
	sorted    []float64
	mean, std float64
}

// NewEmpirical returns the distribution of the samples, which it copies. At least two are needed, and all finite.
func NewEmpirical(samples []float64) (*Empirical, error) {
	if len(samples) < 2 {
		return nil, fmt.Errorf("irl: a distribution of samples needs at least 2 of them, got %d", len(samples))
	}
	if err := check.Finite("irl: samples", samples); err != nil {
		return nil, err
	}
	e := &Empirical{sorted: slices.Clone(samples)}
	slices.Sort(e.sorted)
	e.mean, e.std = stat.MeanStdDev(samples, nil)
	return e, nil
}

// Sorted returns the samples in ascending order. The caller must not change them.
func (e *Empirical) Sorted() []float64 { return e.sorted }

// Mean returns the samples' mean.
func (e *Empirical) Mean() float64 { return e.mean }

// StdDev returns the samples' standard deviation (n − 1 in the denominator).
func (e *Empirical) StdDev() float64 { return e.std }

// Quantile returns the quantile at p, linear between the samples, which stand at (i+½)/n. It panics unless p is in
// [0, 1].
func (e *Empirical) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("irl: the quantile at %g: want a number in [0, 1]", p))
	}
	i, t := QuantilePosition(p, len(e.sorted))
	return e.sorted[i] + t*(e.sorted[i+1]-e.sorted[i])
}

// Interval implements Marginal.
func (e *Empirical) Interval(probability float64) (low, high float64) {
	return marginal{e}.Interval(probability)
}

// QuantilePosition returns where the quantile at p in [0, 1] lies among n ≥ 2 samples in ascending order: at a share t
// of the way from sample i to the next.
func QuantilePosition(p float64, n int) (i int, t float64) {
	at := math.Min(math.Max(p*float64(n)-0.5, 0), float64(n-1))
	i = min(int(at), n-2)
	return i, at - float64(i)
}

// LogProb returns the log of the kernel density estimate at x. Samples without spread have no density: it is then −Inf,
// or +Inf at the samples themselves.
func (e *Empirical) LogProb(x float64) float64 {
	n := float64(len(e.sorted))
	h := e.std * math.Pow(n, -0.2)
	if h == 0 {
		if x == e.mean {
			return math.Inf(1)
		}
		return math.Inf(-1)
	}
	// log-sum-exp around the nearest sample, so that the far tail does not underflow to −Inf
	nearest := math.Inf(1)
	for _, v := range e.sorted {
		nearest = math.Min(nearest, math.Abs(x-v))
	}
	shift := 0.5 * nearest * nearest / (h * h)
	sum := 0.0
	for _, v := range e.sorted {
		z := (x - v) / h
		sum += math.Exp(shift - 0.5*z*z)
	}
	return math.Log(sum/(n*h)) - shift - 0.5*math.Log(2*math.Pi)
}

// Empiricals returns the distribution of each column, whose numbers are finite.
func Empiricals(x *mat.Dense) []*Empirical {
	_, n := x.Dims()
	out := make([]*Empirical, n)
	for i := range out {
		e, err := NewEmpirical(mat.Col(nil, i, x))
		if err != nil {
			panic(err)
		}
		out[i] = e
	}
	return out
}
