package mcmc

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestVerdict checks the verdict on good numbers, and that it names the worst of bad ones.
func TestVerdict(t *testing.T) {
	good := Convergence{[]float64{1, 1.005}, []float64{2000, 1500}, []float64{900, 900}}
	d := Diagnostics{Reward: good, Value: good, MinESS: 1000, MaxRHat: 1.01}
	if err := d.Clean(); err != nil {
		t.Error(err)
	}
	d.Value = Convergence{[]float64{1, 1.02}, []float64{2000, 1500}, nil}
	if err := d.Clean(); err == nil || !strings.Contains(err.Error(), "value of state 1 is 1.0200") {
		t.Errorf("verdict %v on an R̂ of 1.02", err)
	}
	d.Value, d.Beta = good, Convergence{[]float64{1.05}, []float64{2000}, nil}
	if err := d.Clean(); err == nil || !strings.Contains(err.Error(), "split-R̂ of log β is 1.05") {
		t.Errorf("verdict %v on an R̂ of 1.05 of β", err)
	}
	d.Value = Convergence{[]float64{1, 1}, []float64{math.NaN(), 1500}, nil}
	if err := d.Clean(); err == nil || !strings.Contains(err.Error(), "value of state 0") {
		t.Errorf("verdict %v on an ESS that does not exist", err)
	}
}

// diagnosed is a posterior of which nothing is known but how well it was sampled.
type diagnosed struct {
	Sampled
	diagnostics *Diagnostics
}

func (d diagnosed) Sampling() *Diagnostics { return d.diagnostics }

// TestHeavyTailsBesideRewards: that the standard deviation of β or of a value is unknown is said, and the rewards
// converge all the same.
func TestHeavyTailsBesideRewards(t *testing.T) {
	good := Convergence{[]float64{1}, []float64{2000}, []float64{900}}
	d := Diagnostics{Reward: good, Value: good, Beta: good, MinESS: 1000, MaxRHat: 1.01, MaxStdError: 0.04,
		StdError: 0.03, BetaStdError: 0.18}
	unknown := func() bool { return math.IsNaN(BetaStd(diagnosed{diagnostics: &d}, 3)) }
	if ok, reason := d.Converged(); !ok || !unknown() ||
		!strings.Contains(reason, "of β the quantiles are known, while the mean") {
		t.Errorf("%v: %s", ok, reason)
	}
	d.BetaStdError, d.BetaTail, d.ValueStdError = 0.03, 0.6, 0.15
	if ok, reason := d.Converged(); !ok || !unknown() || !strings.Contains(reason, "within 15 % only") {
		t.Errorf("%v: %s", ok, reason)
	}
	d.BetaTail, d.ValueStdError = 0.4, 0.04
	if ok, reason := d.Converged(); !ok || unknown() || strings.Contains(reason, "β") {
		t.Errorf("%v: %s", ok, reason)
	}
	if got := BetaStd(nil, 3); got != 3 {
		t.Errorf("without chains β has the standard deviation %g, want 3", got)
	}
}

// TestTail: of log-normal draws the standard deviation is told from those whose logarithms have a deviation of 0.8,
// where so many draws give it within 3 %, and not of 2, where they hardly ever come within 10 %.
func TestTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		deviation float64
		known     bool
	}{{0.5, true}, {0.8, true}, {2, false}} {
		draws := make([]float64, 16000)
		for i := range draws {
			draws[i] = math.Exp(c.deviation * rng.NormFloat64())
		}
		if k := tailOf(draws); (k <= maxBetaTail) != c.known {
			t.Errorf("a deviation of %g: k̂ = %.2f", c.deviation, k)
		}
	}
}

// TestKnownQuantities: what never differs between chains but for rounding counts as known, and chains that are stuck
// apart do not; nor does what is so large that all that the prior is unsure by is lost in its rounding.
func TestKnownQuantities(t *testing.T) {
	same, apart := [][]float64{make([]float64, 8), make([]float64, 8)}, [][]float64{make([]float64, 8),
		make([]float64, 8)}
	for i := range 8 {
		same[0][i], same[1][i] = 1+1e-15*float64(i), 1-1e-15*float64(i)
		apart[0][i], apart[1][i] = 1, 1+1e-9
	}
	draws := [][][]float64{same, {make([]float64, 8), make([]float64, 8)}, apart}
	c := quantities{3, func(i int) [][]float64 { return draws[i] }, 1}.convergence()
	for i := range 2 {
		if c.RHat[i] != 1 || c.BulkESS[i] != 16 || c.TailESS[i] != 16 {
			t.Errorf("known quantity %d: R̂ %g, ESS %g and %g", i, c.RHat[i], c.BulkESS[i], c.TailESS[i])
		}
	}
	large := [][]float64{make([]float64, 8), make([]float64, 8)}
	for i := range 8 {
		large[0][i], large[1][i] = 3e12, 3e12+1
	}
	for unit, is := range map[float64]bool{0: true, 1: false, 1e4: true} {
		if known(large, unit) != is {
			t.Errorf("3e12 and one more, where rewards are unsure by %g: known %v, want %v", unit, !is, is)
		}
	}
	if c.RHat[2] <= 1.5 { // NaN or +Inf will do
		t.Errorf("chains that are stuck apart: R̂ %g", c.RHat[2])
	}
}

// above returns draws of max(0, r), where r is normal and positive with a probability.
func above(probability float64) [][]float64 {
	rng, chains := rand.New(rand.NewPCG(1, 2)), make([][]float64, 4)
	for c := range chains {
		for range 1000 {
			chains[c] = append(chains[c], max(0, rng.NormFloat64()+distuv.UnitNormal.Quantile(probability)))
		}
	}
	return chains
}

// TestRareExcursions: what all but one draw in 250 agree on has no error of its standard deviation where the others
// are near, and one above any target where they are not.
func TestRareExcursions(t *testing.T) {
	draws := func(usual, rare float64) [][]float64 {
		chains := make([][]float64, 4)
		for c := range chains {
			for i := range 1000 {
				x := usual
				if i%250 == 40*c {
					x = rare
				}
				chains[c] = append(chains[c], x)
			}
		}
		return chains
	}
	if e := StdError(draws(1.4, 1.41)); e != 0 {
		t.Errorf("error of a standard deviation that does not matter: %g", e)
	}
	if e := StdError(above(0.02)); e != 0 {
		t.Errorf("value of a reward that is better than a known one in 2 %% of the draws: error %g", e)
	}
	if e := StdError(above(0.2)); !(e > 0.02) {
		t.Errorf("value of a reward that is better than a known one in 20 %% of the draws: error %g", e)
	}
	for _, rare := range []float64{10, -3} {
		if e := StdError(draws(1.4, rare)); !(e > 0.04) {
			t.Errorf("excursions to %g: error %g of the standard deviation", rare, e)
		}
	}
	if e := StdError(draws(0, 1)); !(e > 0.04) {
		t.Errorf("excursions from 0: error %g of the standard deviation", e)
	}
}

// TestStdError compares with the closed form: the standard deviation of n independent normal draws has the relative
// error 1/√(2n), and that of an AR(1) process as if of n (1 − ρ²)/(1 + ρ²). The estimate is off by a few percent.
func TestStdError(t *testing.T) {
	const chains, n = 4, 20000
	for _, rho := range []float64{0, 0.7} {
		want := 1 / math.Sqrt(2*chains*n*(1-rho*rho)/(1+rho*rho))
		if got := StdError(autoregressive(chains, n, rho, 8)); math.Abs(got/want-1) > 0.1 {
			t.Errorf("ρ = %g: a relative error of %g, want %g", rho, got, want)
		}
	}
}

// TestMeasure: a value that hardly ever moves far out leaves the rewards' error, by which chains converge, as it is.
func TestMeasure(t *testing.T) {
	p := flips(t, 4, 1000, 0.5)
	rng := rand.New(rand.NewPCG(3, 0))
	for i := range p.Len() {
		value := rng.NormFloat64()
		if i%500 == 0 {
			value = 100
		}
		p.Set(i, []float64{rng.NormFloat64(), rng.NormFloat64()}, []float64{value, -1000})
	}
	d := Diagnostics{MaxStdError: 0.04}
	if d.measure(p, true); !(d.StdError < 0.02) || !(d.ValueStdError > 0.1) {
		t.Errorf("the standard deviations of rewards have the error %g, that of the value %g", d.StdError,
			d.ValueStdError)
	}
	some := Diagnostics{MaxStdError: 0.04, MaxRHat: 1.01, MinESS: 1e5}
	if some.measure(p, false); some.Value.RHat[0] != d.Value.RHat[0] || some.StdError != 0 || some.Clean() == nil {
		t.Errorf("chains that are too short have the errors %g and %g, which nobody asked for", some.StdError,
			some.ValueStdError)
	}
	worst := Convergence{RHat: []float64{1, math.NaN(), 2}, BulkESS: []float64{9, 10, math.NaN()}}
	if rhat, ess := worst.Worst(); rhat != 1 || ess != 2 {
		t.Errorf("quantities %d and %d are the worst, want those that have no diagnostics", rhat, ess)
	}
}
