package irl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
)

// Kernel is the covariance function of a Gaussian process, k(x, y) = σ(x) σ(y) c(r) + τ²·[x is y], with
// r² = Σᵢ ((xᵢ − yᵢ)/ℓᵢ)² (Rasmussen & Williams 2006, Gaussian Processes for Machine Learning, Section 4.2):
//
//	rbf       c(r) = exp(−r²/2)
//	matern12  c(r) = exp(−r)
//	matern32  c(r) = (1 + √3 r) exp(−√3 r)
//	matern52  c(r) = (1 + √5 r + 5r²/3) exp(−√5 r)
//	linear    Σᵢ xᵢyᵢ/ℓᵢ² in place of c(r); a feature that is always 1 gives it an offset
type Kernel struct {
	Name        string    // one of the above
	Lengthscale []float64 // ℓ > 0, one, or one for each feature
	Std         []float64 // output standard deviation σ > 0, one, or one for each reward
	Nugget      float64   // τ² ≥ 0, variance of each reward that it shares with no other
}

// kernels are the stationary correlations c(r).
var kernels = map[string]func(r float64) float64{
	"rbf":      func(r float64) float64 { return math.Exp(-r * r / 2) },
	"matern12": func(r float64) float64 { return math.Exp(-r) },
	"matern32": func(r float64) float64 { r *= math.Sqrt(3); return (1 + r) * math.Exp(-r) },
	"matern52": func(r float64) float64 { r *= math.Sqrt(5); return (1 + r + r*r/3) * math.Exp(-r) },
}

// LinearKernel is the kernel whose prior is a low-rank factor; all others make a covariance.
const LinearKernel = "linear"

// Kernels lists the names of the kernels.
func Kernels() []string { return []string{"rbf", "matern12", "matern32", "matern52", LinearKernel} }

// KernelPrior returns the prior of a Gaussian process over rewards with the given features, a row of [n, d] for each
// reward, and mean [n]. It is a covariance, and for the linear kernel a low-rank factor [n, d]. Smooth kernels make
// covariances that are singular to working precision; a nugget of 1e-8·σ² makes them invertible and changes little.
func KernelPrior(kernel Kernel, features *mat.Dense, mean []float64) (Prior, error) {
	c, stationary := kernels[kernel.Name]
	if !stationary && kernel.Name != LinearKernel {
		return Prior{}, fmt.Errorf("irl: there is no kernel %q; there are %s", kernel.Name,
			strings.Join(Kernels(), ", "))
	}
	if features == nil || features.IsEmpty() {
		return Prior{}, fmt.Errorf("irl: the kernel needs at least one feature of each reward")
	}
	n, d := features.Dims()
	if len(mean) != n {
		return Prior{}, fmt.Errorf("irl: kernel: got features of %d rewards, want %d as in the prior mean", n,
			len(mean))
	}
	lengthscale, err := kernelScales("lengthscale", "feature", kernel.Lengthscale, d)
	if err != nil {
		return Prior{}, err
	}
	std, err := kernelScales("std", "reward", kernel.Std, n)
	if err != nil {
		return Prior{}, err
	}
	if v := kernel.Nugget; v != 0 && !(v >= minScale*minScale && v <= maxScale*maxScale) {
		return Prior{}, fmt.Errorf("irl: kernel nugget = %g, want zero or a variance from %g to %g",
			v, minScale*minScale, maxScale*maxScale)
	}
	scaled := mat.NewDense(n, d, nil) // xᵢ/ℓᵢ
	for i := 0; i < n; i++ {
		if err := check.Finite(fmt.Sprintf("irl: features[%d]", i), mat.Row(nil, i, features)); err != nil {
			return Prior{}, err
		}
		floats.DivTo(scaled.RawRowView(i), mat.Row(nil, i, features), lengthscale)
	}
	if !stationary {
		p := Prior{Mean: mean, LowRank: scaled}
		for i, s := range std {
			floats.Scale(s, scaled.RawRowView(i))
		}
		if kernel.Nugget > 0 {
			p.Std = slices.Repeat([]float64{math.Sqrt(kernel.Nugget)}, n)
		}
		return p, nil
	}
	cov := mat.NewSymDense(n, nil)
	for i := 0; i < n; i++ {
		cov.SetSym(i, i, std[i]*std[i]+kernel.Nugget)
		for j := i + 1; j < n; j++ {
			r := floats.Distance(scaled.RawRowView(i), scaled.RawRowView(j), 2)
			if r > 1000 { // where c(r) is zero in float64, and r² may be infinite
				continue
			}
			cov.SetSym(i, j, std[i]*std[j]*c(r))
		}
	}
	return Prior{Mean: mean, Cov: cov}, nil
}

// kernelScales returns n scales, which are given one for all or one for each.
func kernelScales(what, of string, given []float64, n int) ([]float64, error) {
	if len(given) != 1 && len(given) != n {
		want := fmt.Sprintf("1 or %d, one for each %s", n, of)
		if n == 1 {
			want = "1, as there is one " + of
		}
		return nil, fmt.Errorf("irl: kernel %s: got %d numbers, want %s", what, len(given), want)
	}
	for i, s := range given {
		if err := checkScale(fmt.Sprintf("kernel %s[%d]", what, i), s); err != nil {
			return nil, err
		}
	}
	if len(given) == n {
		return given, nil
	}
	return slices.Repeat(given, n), nil
}
