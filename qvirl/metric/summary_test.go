package metric

import (
	"math"
	"testing"
)

func TestSummarise(t *testing.T) {
	s := Summarise([]float64{1, 2, 3, 6})
	near(t, "mean", s.Mean, 3, 1e-12)
	near(t, "standard error", s.StdErr, math.Sqrt(14.0/3)/2, 1e-12)
	if one := Summarise([]float64{7}); one.Mean != 7 || one.StdErr != 0 || one.N != 1 {
		t.Errorf("a single world gives %+v", one)
	}
	if none := Summarise(nil); !math.IsNaN(none.Mean) {
		t.Errorf("no world gives the mean %g", none.Mean)
	}
}

// TestRankCorrelation: with equal numbers, by hand. The ranks 3, 0, 3, 1, 3 are 1, −2, 1, −1, 1 off their mean, and
// those beside them −2 to 2.
func TestRankCorrelation(t *testing.T) {
	x := []float64{500, 200, 500, 300, 500}
	near(t, "correlation", RankCorrelation(x, []float64{1, 10, 11, 12, 90}), 1/math.Sqrt(8*10), 1e-12)
	near(t, "correlation with itself", RankCorrelation(x, x), 1, 1e-12)
	if r := RankCorrelation(x, make([]float64, 5)); !math.IsNaN(r) {
		t.Errorf("the correlation with equal numbers is %g", r)
	}
}
