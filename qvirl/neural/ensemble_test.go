package neural

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

func TestMeansOfProbabilitiesTooSmallForANumber(t *testing.T) {
	got := logMean([][]float32{{float32(math.Log(0.25)), -2000}, {float32(math.Log(0.75)), -2001}})
	for i, want := range []float64{math.Log(0.5), -2000 + math.Log((1+math.Exp(-1))/2)} {
		if !scalar.EqualWithinAbs(float64(got[i]), want, 1e-6*math.Abs(want)) { // float32
			t.Errorf("the logarithm of mean probability %d is %g, want %g", i, got[i], want)
		}
	}
}
