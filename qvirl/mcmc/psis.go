package mcmc

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Pareto-smoothed importance sampling judges and steadies importance sampling by the shape of the tail of the
// importance ratios (Vehtari, Simpson, Gelman, Yao and Gabry, 2024, "Pareto smoothed importance sampling").

// Smoothed are importance weights whose tail is smoothed, and what the tail says about them.
type Smoothed struct {
	LogWeights []float64 // in the order of the ratios; their exponentials sum to one
	// KHat estimates the shape of the tail: the ratios have about 1/k̂ finite moments. It is −Inf where no ratio stands
	// out, and +Inf where so few do that no tail can be fitted to them: then these few draws are the whole estimate.
	KHat float64
	// Threshold is the k̂ above which estimates from so many draws cannot be trusted, min(1 − 1/log₁₀ n, 0.7) (Vehtari
	// et al., Sec. 3).
	Threshold float64
	ESS       float64 // effective sample size of the draws with these weights, 1 / Σ weight²
}

// minTail is the smallest number of ratios that a tail can be fitted to.
const minTail = 5

// MinDraws is the smallest number of ratios that Smooth takes: a fifth of them are the tail.
const MinDraws = 5 * minTail

// Smooth smooths the importance weights of draws from a proposal, given the logs of the ratios of the target's density
// to the proposal's, each up to a constant. Ratios of zero, −Inf, are allowed if there are others.
func Smooth(logRatios []float64) (*Smoothed, error) {
	n := len(logRatios)
	if n < MinDraws {
		return nil, fmt.Errorf("mcmc: got %d ratios, want at least %d", n, MinDraws)
	}
	for i, l := range logRatios {
		if math.IsNaN(l) || math.IsInf(l, 1) {
			return nil, fmt.Errorf("mcmc: the log of ratio %d is %g, want a number or −Inf", i, l)
		}
	}
	top := floats.Max(logRatios)
	if math.IsInf(top, -1) {
		return nil, fmt.Errorf("mcmc: all %d ratios are zero: the proposal has no draw where the target has mass", n)
	}
	s := &Smoothed{LogWeights: make([]float64, n), KHat: math.Inf(-1),
		Threshold: math.Min(1-1/math.Log10(float64(n)), 0.7)}
	order := make([]int, n)
	for i, l := range logRatios {
		order[i], s.LogWeights[i] = i, l-top
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(s.LogWeights[i], s.LogWeights[j]) })
	tail := order[n-int(math.Ceil(math.Min(0.2*float64(n), 3*math.Sqrt(float64(n))))):]
	cut := math.Exp(s.LogWeights[order[n-len(tail)-1]]) // the largest ratio below the tail
	for len(tail) > 0 && math.Exp(s.LogWeights[tail[0]]) <= cut {
		tail = tail[1:]
	}
	switch {
	case len(tail) >= minTail:
		s.smooth(tail, cut)
	case len(tail) > 0:
		s.KHat = math.Inf(1)
	}
	floats.AddConst(-floats.LogSumExp(s.LogWeights), s.LogWeights)
	for _, l := range s.LogWeights {
		s.ESS += math.Exp(2 * l)
	}
	s.ESS = 1 / s.ESS
	return s, nil
}

// smooth fits the tail, indices of ratios in ascending order above the cut, and replaces it by the expected order
// statistics.
func (s *Smoothed) smooth(tail []int, cut float64) {
	excess := make([]float64, len(tail))
	for i, at := range tail {
		excess[i] = math.Exp(s.LogWeights[at]) - cut
	}
	k, sigma := fitPareto(excess)
	s.KHat = steady(k, len(tail))
	for i, at := range tail {
		q := paretoQuantile((float64(i)+0.5)/float64(len(tail)), s.KHat, sigma)
		s.LogWeights[at] = math.Min(math.Log(cut+q), 0) // no weight above the largest ratio
	}
}

// steady shrinks an estimate of the shape from few exceedances towards ½, as ten more of that shape would (Vehtari et
// al., App. C).
func steady(k float64, exceedances int) float64 {
	n := float64(exceedances)
	return (n*k + 10*0.5) / (n + 10)
}

// paretoQuantile is the quantile of the generalised Pareto distribution with shape k and scale σ.
func paretoQuantile(p, k, sigma float64) float64 {
	if math.Abs(k) < 1e-12 {
		return -sigma * math.Log1p(-p)
	}
	return sigma * math.Expm1(-k*math.Log1p(-p)) / k
}

// fitPareto estimates the shape k and the scale σ of a generalised Pareto distribution, whose density is
// (1 + k x/σ)^(−1/k − 1) / σ, from ascending positive draws: the posterior mean of θ = −k/σ under the data-dependent
// prior of Zhang and Stephens (2009), "A new and efficient estimation method for the generalized Pareto distribution",
// and the k that maximises the likelihood at that θ.
func fitPareto(x []float64) (k, sigma float64) {
	n := len(x)
	points := 30 + int(math.Sqrt(float64(n)))
	quartile, largest := x[int(float64(n)/4+0.5)-1], x[n-1]
	theta, logLikelihood := make([]float64, points), make([]float64, points)
	for j := range theta {
		theta[j] = 1/largest + (1-math.Sqrt(float64(points)/(float64(j)+0.5)))/(3*quartile)
		shape := shapeAt(theta[j], x)
		logLikelihood[j] = -float64(n) * (math.Log(scaleAt(theta[j], shape, x)) + shape + 1)
	}
	total, mean := floats.LogSumExp(logLikelihood), 0.0
	for j, t := range theta {
		mean += t * math.Exp(logLikelihood[j]-total)
	}
	k = shapeAt(mean, x)
	return k, scaleAt(mean, k, x)
}

// scaleAt returns the scale of the distribution with the given θ and shape; where both vanish, that of the exponential.
func scaleAt(theta, shape float64, x []float64) float64 {
	if shape == 0 {
		return stat.Mean(x, nil)
	}
	return -shape / theta
}

// shapeAt returns the shape that is most likely given θ.
func shapeAt(theta float64, x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Log1p(-theta * v)
	}
	return sum / float64(len(x))
}
