package irl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestIntervals compares intervals with closed forms: of a Gaussian, of an exponential, which is skewed, and of the
// samples 1 to 100, of which the fifth lies at 0.045.
func TestIntervals(t *testing.T) {
	samples := make([]float64, 100)
	for i := range samples {
		samples[i] = float64(100 - i)
	}
	empirical, err := NewEmpirical(samples)
	if err != nil {
		t.Fatal(err)
	}
	const z = 1.6448536269514722 // Φ(z) = 0.95
	for _, c := range []struct {
		m         Marginal
		low, high float64
	}{
		{NewMarginal(distuv.Normal{Mu: 2, Sigma: 3}), 2 - 3*z, 2 + 3*z},
		{NewMarginal(distuv.Exponential{Rate: 4}), -math.Log(0.95) / 4, -math.Log(0.05) / 4},
		{empirical, 5.5, 95.5},
	} {
		if low, high := c.m.Interval(0.9); !scalar.EqualWithinAbs(low, c.low, 1e-10) ||
			!scalar.EqualWithinAbs(high, c.high, 1e-10) {
			t.Errorf("90 %% interval of %v: %g to %g, want %g to %g", c.m, low, high, c.low, c.high)
		}
	}
}

// TestProbabilitiesAreChecked: 95 is no probability, though samples have a smallest and a largest.
func TestProbabilitiesAreChecked(t *testing.T) {
	empirical, err := NewEmpirical([]float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(){
		"an interval of probability 95":  func() { empirical.Interval(95) },
		"an interval of probability 1.5": func() { NewMarginal(distuv.UnitNormal).Interval(1.5) },
		"the quantile at NaN":            func() { empirical.Quantile(math.NaN()) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}

func TestStagesFollowEachOther(t *testing.T) {
	var fractions []float64
	var last string
	progress := Progress(func(done, total int, status string) {
		fractions, last = append(fractions, float64(done)/float64(total)), status
	})
	first, second := progress.Stage("", 0, 1, 4), progress.Stage("walk: ", 1, 3, 4)
	first(1, 2, "half")
	first(2, 2, "whole")
	second(1, 3, "a third")
	second(3, 3, "whole")
	if want := []float64{0.125, 0.25, 0.5, 1}; !slices.Equal(fractions, want) || last != "walk: whole" {
		t.Errorf("the stages end at %v, the last one with %q; want %v", fractions, last, want)
	}
	Progress(nil).Stage("", 0, 1, 2)(1, 1, "") // nobody listens
}
