package mcmc

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

// TestFitParetoFindsTheParameters fits draws of known distributions. The asymptotic standard errors of the maximum
// likelihood estimates are (1 + k)/√n of the shape and σ√(2(1 + k)/n) of the scale (Smith, 1987), for k > −½.
func TestFitParetoFindsTheParameters(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(3, 4))
	for _, want := range []struct{ k, sigma float64 }{{-0.3, 2}, {0, 1}, {0.2, 0.01}, {0.7, 30}, {1.5, 1}} {
		x := make([]float64, n)
		for i := range x {
			x[i] = paretoQuantile(rng.Float64(), want.k, want.sigma)
		}
		slices.Sort(x)
		k, sigma := fitPareto(x)
		if !scalar.EqualWithinAbs(k, want.k, 4*(1+want.k)/math.Sqrt(n)) ||
			!scalar.EqualWithinAbs(sigma, want.sigma, 4*want.sigma*math.Sqrt(2*(1+want.k)/n)) {
			t.Errorf("k = %.4f, σ = %.4f, want %g and %g", k, sigma, want.k, want.sigma)
		}
	}
}

// TestSteady: an estimate from ten draws counts as much as a shape of ½, and one from ninety nine times as much.
func TestSteady(t *testing.T) {
	for want, c := range map[float64]struct {
		k float64
		n int
	}{0.7: {0.9, 10}, -0.4: {-0.5, 90}} {
		if got := steady(c.k, c.n); !scalar.EqualWithinAbs(got, want, 1e-12) {
			t.Errorf("%g from %d draws: %g, want %g", c.k, c.n, got, want)
		}
	}
}

func TestQuantileInvertsTheDistributionFunction(t *testing.T) {
	for _, k := range []float64{-0.4, 0, 1e-9, 0.5, 2} {
		for _, p := range []float64{0.01, 0.5, 0.999} {
			x := paretoQuantile(p, k, 3)
			survival := math.Exp(-x / 3)
			if k != 0 {
				survival = math.Exp(-math.Log1p(k*x/3) / k)
			}
			if !scalar.EqualWithinAbs(1-survival, p, 1e-9) {
				t.Errorf("k = %g: the quantile at %g is %g, where the distribution function is %g", k, p, x, 1-survival)
			}
		}
	}
}

// TestExponentialTarget has an analytic answer: for draws of an exponential distribution of rate 1 and a target of rate
// r < 1, the ratios r e^((1 − r) x) have a Pareto tail of shape 1 − r, the mean of the target is 1/r, and for r > ½ the
// effective sample size tends to n / E[ratio²] = n (2r − 1) / r².
func TestExponentialTarget(t *testing.T) {
	const n = 40_000
	for _, rate := range []float64{0.9, 0.7, 0.4, 0.15} {
		rng := rand.New(rand.NewPCG(uint64(100*rate), 2))
		x, logs := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rng.ExpFloat64()
			logs[i] = (1-rate)*x[i] + 123 // a constant does not matter
		}
		s, err := Smooth(logs)
		if err != nil {
			t.Fatal(err)
		}
		// 600 ratios are the tail: 4 standard errors (1 + k)/√600
		if want := 1 - rate; !scalar.EqualWithinAbs(s.KHat, want, 4*(1+want)/math.Sqrt(600)) {
			t.Errorf("rate %g: k̂ = %.3f, want %.3f", rate, s.KHat, want)
		}
		mean, total := 0.0, 0.0
		for i, l := range s.LogWeights {
			total += math.Exp(l)
			mean += math.Exp(l) * x[i]
		}
		if !scalar.EqualWithinAbs(total, 1, 1e-12) {
			t.Errorf("rate %g: the weights sum to %g", rate, total)
		}
		if rate >= 0.7 { // smaller ones have such a spread that the mean means little
			if want := n * (2*rate - 1) / (rate * rate); !scalar.EqualWithinAbs(s.ESS/want, 1, 0.05) {
				t.Errorf("rate %g: ESS %.0f, want about %.0f", rate, s.ESS, want)
			}
			if !scalar.EqualWithinAbs(mean*rate, 1, 0.03) {
				t.Errorf("rate %g: mean %.3f, want %.3f", rate, mean, 1/rate)
			}
		}
		if reliable := s.KHat < s.Threshold; reliable != (rate > 0.3) || s.Threshold != 0.7 {
			t.Errorf("rate %g: k̂ %.3f, threshold %g", rate, s.KHat, s.Threshold)
		}
	}
}

// TestSmoothingKeepsTheBulk checks that only the tail changes, that its order stays, and that no weight exceeds the
// largest.
func TestSmoothingKeepsTheBulk(t *testing.T) {
	const n = 1000
	rng := rand.New(rand.NewPCG(5, 6))
	logs := make([]float64, n)
	for i := range logs {
		logs[i] = 2 * rng.NormFloat64()
	}
	s, err := Smooth(logs)
	if err != nil {
		t.Fatal(err)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(math.Copysign(1, logs[i]-logs[j])) })
	shift := s.LogWeights[order[0]] - logs[order[0]]
	changed := 0
	for at, i := range order {
		if at > 0 && s.LogWeights[i] < s.LogWeights[order[at-1]] {
			t.Fatal("smoothing changed the order")
		}
		if !scalar.EqualWithinAbs(s.LogWeights[i]-shift, logs[i], 1e-9) {
			if changed++; at < n-95 { // 3√1000 = 94.9
				t.Fatalf("ratio %d of %d was changed", at, n)
			}
		}
	}
	if changed < 80 || s.LogWeights[order[n-1]] > shift+floats.Max(logs)+1e-12 || s.ESS < 1 || s.ESS > n {
		t.Errorf("%d ratios changed, the largest from %g to %g, ESS %g", changed, floats.Max(logs)+shift,
			s.LogWeights[order[n-1]], s.ESS)
	}
	if want := 1 - 1/3.; !scalar.EqualWithinAbs(s.Threshold, want, 1e-12) {
		t.Errorf("threshold %g for 1000 draws, want %g", s.Threshold, want)
	}
}

// TestNoWeightAboveTheLargest: whatever tail is fitted, no weight becomes larger than the largest was, in relation to
// the bulk.
func TestNoWeightAboveTheLargest(t *testing.T) {
	capped := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		logs := make([]float64, 200)
		for i := range logs {
			logs[i] = 3 * rng.NormFloat64()
		}
		s, err := Smooth(logs)
		if err != nil {
			t.Fatal(err)
		}
		least := floats.MinIdx(logs)
		above := floats.Max(s.LogWeights) - s.LogWeights[least] - (floats.Max(logs) - logs[least])
		if above > 1e-12 {
			t.Errorf("seed %d: the largest weight grew by %g nats", seed, above)
		}
		if above > -1e-12 {
			capped++
		}
	}
	if capped == 0 {
		t.Error("no fitted tail went beyond the largest weight")
	}
}

func TestTailsWithoutShape(t *testing.T) {
	same := make([]float64, 100)
	s, err := Smooth(same)
	if err != nil || !math.IsInf(s.KHat, -1) || !scalar.EqualWithinAbs(s.ESS, 100, 1e-9) {
		t.Errorf("equal ratios: %+v, error %v", s, err)
	}
	one := make([]float64, 100)
	one[17] = 40
	s, err = Smooth(one)
	if err != nil || !math.IsInf(s.KHat, 1) || !scalar.EqualWithinAbs(s.ESS, 1, 1e-9) {
		t.Errorf("one ratio above all others: k̂ = %g, ESS %g, error %v", s.KHat, s.ESS, err)
	}
}

func TestBadRatios(t *testing.T) {
	ratios := func(first float64) []float64 {
		x := make([]float64, MinDraws)
		x[0] = first
		return x
	}
	none := ratios(0)
	for i := range none {
		none[i] = math.Inf(-1)
	}
	for want, x := range map[string][]float64{"24 ratios": make([]float64, MinDraws-1),
		"ratio 0 is NaN":  ratios(math.NaN()),
		"ratio 0 is +Inf": ratios(math.Inf(1)), "are zero": none} {
		if _, err := Smooth(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if s, err := Smooth(ratios(math.Inf(-1))); err != nil || !math.IsInf(s.LogWeights[0], -1) {
		t.Errorf("a ratio of zero: %+v, error %v", s, err)
	}
}
