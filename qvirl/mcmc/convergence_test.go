package mcmc

import (
	"math"
	"strings"
	"testing"
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
	d.Value = Convergence{[]float64{1, 1}, []float64{math.NaN(), 1500}, nil}
	if err := d.Clean(); err == nil || !strings.Contains(err.Error(), "value of state 0") {
		t.Errorf("verdict %v on an ESS that does not exist", err)
	}
}
