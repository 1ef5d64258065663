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
