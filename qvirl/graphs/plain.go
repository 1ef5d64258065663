package graphs

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
)

// The functions in this file are the approximations of the objective on plain numbers, for one state, in double
// precision: to study them, and as a second implementation that the graph is tested against.

// ActionProbs approximates the expected Boltzmann policy under Gaussian Q-values of one state by the closed form of Lu
// et al. (2021) (Eq. mean-field-action-prob): means [A], covariance [A, A], rationality coefficient β > 0. The result
// [A] sums to one exactly for up to two actions, and approximately for more.
func ActionProbs(mean []float64, cov mat.Symmetric, beta float64) ([]float64, error) {
	if err := checkGaussian(mean, cov); err != nil {
		return nil, err
	}
	if !(beta > 0) || math.IsInf(beta, 0) {
		return nil, fmt.Errorf("graphs: β = %g, want a finite positive number", beta)
	}
	out := make([]float64, len(mean))
	PlainLogActionProbs(out, mean, func(a, b int) float64 {
		return cov.At(a, a) + cov.At(b, b) - 2*cov.At(a, b)
	}, beta)
	for a, l := range out {
		out[a] = math.Exp(l)
	}
	return out, nil
}

// PlainLogActionProbs writes the logarithms of what ActionProbs returns to dst, given means and the variances of the
// differences of two of the variables, and returns Σ_a p_a:
//
//	log p_a = −log(1 + Σ_(b≠a) exp(−l_ab)),   l_ab = β (m_a − m_b) / √(1 + 3 (β σ_ab / π)²) = −l_ba.
func PlainLogActionProbs(dst, mean []float64, difference func(a, b int) float64, beta float64) (total float64) {
	lead := func(a, b int) float64 {
		scaled := 3 / (math.Pi * math.Pi) * (beta * max(difference(a, b), 0)) * beta // 3 (β σ_ab / π)²
		return beta * (mean[a] - mean[b]) / math.Sqrt(1+scaled)
	}
	for a := range mean {
		dst[a] = 1
		for b := range a {
			ratio := math.Exp(lead(a, b))
			dst[a] += 1 / ratio
			dst[b] += ratio
		}
	}
	for a, sum := range dst[:len(mean)] {
		total += 1 / sum
		if dst[a] = -math.Log(sum); !math.IsInf(sum, 0) {
			continue
		}
		exponents := make([]float64, len(mean)) // of which one is too great for its exponential
		for b := range mean {
			if b != a {
				exponents[b] = -lead(a, b)
			}
		}
		dst[a] = -floats.LogSumExp(exponents)
	}
	return total
}

// ClarkMax approximates the maximum of jointly Gaussian X, means [A] and covariance [A, A], by a Gaussian, and returns
// the weights [A] of the linear surrogate that stands for it in covariances (Clark, 1961; Eq. clark-weights). Variables
// are taken in order; those that are equal to an earlier one must be left out beforehand.
func ClarkMax(mean []float64, cov mat.Symmetric) (meanMax, varMax float64, weights []float64, err error) {
	if err := checkGaussian(mean, cov); err != nil {
		return 0, 0, nil, err
	}
	meanMax, varMax = mean[0], cov.At(0, 0)
	weights = make([]float64, len(mean))
	weights[0] = 1
	for i := 1; i < len(mean); i++ {
		covMax := 0.0 // Cov(M_{i−1}, X_i)
		for j := 0; j < i; j++ {
			covMax += weights[j] * cov.At(j, i)
		}
		floor := leastOf(varMax+cov.At(i, i), meanMax-mean[i])
		omega := math.Sqrt(math.Max(varMax+cov.At(i, i)-2*covMax, floor))
		nu := (meanMax - mean[i]) / omega
		lower := 0.5 * math.Erfc(-nu/math.Sqrt2) // Φ(ν)
		upper := 0.5 * math.Erfc(nu/math.Sqrt2)  // Φ(−ν)
		spread := omega * math.Exp(-0.5*nu*nu) / math.Sqrt(2*math.Pi)
		first := meanMax*lower + mean[i]*upper + spread
		// the second moment around mean[i], so that large means do not cancel
		gap, rise := meanMax-mean[i], first-mean[i]
		second := (gap*gap+varMax)*lower + cov.At(i, i)*upper + gap*spread
		meanMax, varMax = first, math.Max(second-rise*rise, leastOf(varMax*lower+cov.At(i, i)*upper, 0))
		for j := 0; j < i; j++ {
			weights[j] *= lower
		}
		weights[i] = upper
	}
	return meanMax, varMax, weights, nil
}

// leastOf is smallVariance.
func leastOf(sum, gap float64) float64 { return 1e-10*sum + 1e-12*gap*gap + 1e-290 }

// checkGaussian refuses moments of different sizes, and those that are not finite.
func checkGaussian(mean []float64, cov mat.Symmetric) error {
	if len(mean) == 0 || cov.SymmetricDim() != len(mean) {
		return fmt.Errorf("graphs: got %d means and a covariance of %d variables, want as many of each, and at least 1",
			len(mean), cov.SymmetricDim())
	}
	if err := check.Finite("graphs: mean", mean); err != nil {
		return err
	}
	for i := range mean {
		for j := i; j < len(mean); j++ {
			if v := cov.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("graphs: covariance[%d,%d] = %g is not finite", i, j, v)
			}
		}
		if cov.At(i, i) < 0 {
			return fmt.Errorf("graphs: covariance[%d,%d] = %g is negative", i, i, cov.At(i, i))
		}
	}
	return nil
}
