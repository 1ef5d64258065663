package matched

import (
	"math"
	"sort"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/irl"
)

// TestMarginals compares the moments of marginals with those of a million quantiles, and checks that densities
// integrate to one, and to 80 % in 80 % intervals.
func TestMarginals(t *testing.T) {
	heavy := newWarpedNormal(Warp{0.3, 0.8, 0.4, 0.8}, 0.1, 0.7)
	for name, m := range map[string]irl.Marginal{
		"warped": irl.NewMarginal(heavy), "exponential of a warped": irl.NewMarginal(newExpOf(heavy)),
		"log-normal": irl.NewMarginal(newExpOf(newWarpedNormal(identity, -0.5, 1.2))),
	} {
		const n = 1_000_000
		x, density := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = m.Quantile((float64(i) + 0.5) / n)
			density[i] = math.Exp(m.LogProb(x[i]))
		}
		// the outermost quantiles stand for all beyond them: a few thousandths of the deviation of a log-normal
		mean, std := stat.PopMeanStdDev(x, nil)
		if !scalar.EqualWithinRel(m.Mean(), mean, 1e-3) || !scalar.EqualWithinRel(m.StdDev(), std, 0.02) {
			t.Errorf("%s: %g ± %g, of quantiles %g ± %g", name, m.Mean(), m.StdDev(), mean, std)
		}
		if mass := integrate.Trapezoidal(x, density); !scalar.EqualWithinAbs(mass, 1, 1e-3) {
			t.Errorf("%s: the density integrates to %g", name, mass)
		}
		low, high := m.Interval(0.8)
		from, to := sort.SearchFloat64s(x, low), sort.SearchFloat64s(x, high)
		below := integrate.Trapezoidal(x[:from], density[:from])
		inside := integrate.Trapezoidal(x[from:to], density[from:to])
		if !scalar.EqualWithinAbs(below, 0.1, 1e-3) || !scalar.EqualWithinAbs(inside, 0.8, 1e-3) {
			t.Errorf("%s: the density integrates to %g below the 80 %% interval and to %g in it", name, below, inside)
		}
	}
	if p := newExpOf(heavy).LogProb(0); !math.IsInf(p, -1) {
		t.Errorf("log density %g of an exponential at 0", p)
	}
}
