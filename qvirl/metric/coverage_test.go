package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/mat"
)

// Truths drawn from N(0, 1) are covered by the central intervals of N(0, σ²) with probability erf(zσ/√2).
func TestRewardCurve(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(4, 0))
	reward := make([]float64, n)
	for i := range reward {
		reward[i] = rng.NormFloat64()
	}
	levels := []float64{0, 0.25, 0.5, 0.9, 0.99}
	for _, sigma := range []float64{0.5, 1, 2} {
		marginals := make([]irl.Marginal, n)
		for i := range marginals {
			marginals[i] = normal(0, sigma)
		}
		curve := RewardCurve(fixed{marginals: marginals}, reward, levels)
		for l, level := range levels {
			want := math.Erf(math.Erfinv(level) * sigma)
			near(t, "coverage", curve[l], want, 4*math.Sqrt(want*(1-want)/n)) // four standard errors
		}
	}
}

// Every action probability of the samples is uniform on the grid (i+½)/n, so that the central interval of level l is
// (½ − l/2, ½ + l/2).
func TestPolicyCoverage(t *testing.T) {
	p := twoStates(t)
	const n = 100
	policies := mat.NewDense(n, 4, nil)
	for i := 0; i < n; i++ {
		u := (float64(i) + 0.5) / n
		policies.SetRow(i, []float64{u, 1 - u, 0.5, 0.5})
	}
	expert := []float64{0.3, 0.9, 0.5 + 1e-12, 0.5} // at levels 0.4 and 0.8; not a distribution, for two thresholds
	levels := []float64{0, 0.35, 0.45, 0.75, 0.85}
	for _, c := range []struct {
		nonterminal bool
		want        []float64
	}{
		{false, []float64{0.5, 0.5, 0.75, 0.75, 1}},
		{true, []float64{0, 0, 0.5, 0.5, 1}},
	} {
		counts := []bool{!c.nonterminal || !p.MDP.Terminal(0), !c.nonterminal || !p.MDP.Terminal(1)}
		for l, level := range levels {
			covered, err := policyCovered(policies, expert, level)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "policy coverage", fraction(covered, counts, p.MDP.Actions()), c.want[l], 1e-12)
		}
	}
}

// A rank compares its number with the quantiles that sorting gives, ties and the extreme quantiles included.
func TestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	reached := 0
	for trial := range 2000 {
		samples := make([]float64, 2+rng.IntN(12))
		r := newRank(float64(rng.IntN(8)))
		for i := range samples {
			samples[i] = float64(rng.IntN(8))
			if trial%2 == 0 {
				samples[i] += rng.Float64()
			}
			r.add(samples[i])
		}
		e, err := irl.NewEmpirical(samples)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []float64{0, 0.05, rng.Float64(), 0.95, 1} {
			want := e.Quantile(p) <= r.x
			if got := r.reaches(p, len(samples)); got != want {
				t.Fatalf("samples %v: %g reaches the quantile at %g: got %v, want %v", e.Sorted(), r.x, p, got, want)
			}
			if want {
				reached++
			}
		}
	}
	if reached < 1000 || reached > 9000 {
		t.Errorf("%d of 10000 comparisons were true: the test shows little", reached)
	}
}
