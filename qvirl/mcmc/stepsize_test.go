package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestStepSize computes the first two steps of dual averaging by hand (Hoffman and Gelman, 2014: γ = 0.05, t₀ = 10,
// κ = 0.75, μ = log 10 ε₀), and finds the step size of an acceptance that is known.
func TestStepSize(t *testing.T) {
	a := NewStepSize(0.2, 0.65)
	first := math.Log(2) - 1/0.05*(0.65-0.9)/11
	h := (1-1./12)*(0.65-0.9)/11 + (0.65-0.4)/12
	second := math.Log(2) - math.Sqrt2/0.05*h
	average := math.Pow(2, -0.75)*second + (1-math.Pow(2, -0.75))*first
	for i, c := range []struct{ accept, next float64 }{{0.9, first}, {0.4, second}} {
		if got := math.Log(a.Next(c.accept)); math.Abs(got-c.next) > 1e-12 {
			t.Errorf("step %d: the logarithm of the size is %g, want %g", i, got, c.next)
		}
	}
	if got := math.Log(a.Average()); math.Abs(got-average) > 1e-12 {
		t.Errorf("the logarithm of the average is %g, want %g", got, average)
	}
	a = NewStepSize(1e-3, 0.65)
	for step, n := 1e-3, 0; n < 2000; n++ {
		step = a.Next(math.Exp(-step))
	}
	if got := a.Average(); math.Abs(got+math.Log(0.65)) > 0.02 {
		t.Errorf("the acceptance exp(−ε) is 0.65 at ε = %g, want %g", got, -math.Log(0.65))
	}
	seen, sum := map[int]int{}, 0
	rng := rand.New(rand.NewPCG(1, 0))
	for range 4000 { // of lengths from 1 to 3 in steps of 0.5
		n := Leapfrogs(rng, 2, 0.5, 100)
		seen[n]++
		sum += n
	}
	if mean := float64(sum) / 4000; len(seen) != 4 || seen[3] == 0 || seen[6] == 0 || math.Abs(mean-4.5) > 0.1 {
		t.Errorf("numbers of steps %v, of the mean %g, want 3 to 6 and 4.5", seen, mean)
	}
	if got := Leapfrogs(rng, 2, 1e-300, 100); got != 100 {
		t.Errorf("%d steps, want the limit", got)
	}
	if got := MeanStep([]float64{1, 4, 16}, func(x float64) float64 { return x }); math.Abs(got-4) > 1e-12 {
		t.Errorf("the mean of 1, 4 and 16 is %g, want 4", got)
	}
}
