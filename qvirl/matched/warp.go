package matched

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat/distuv"
)

// Warp is the sinh-arcsinh function u = Location + Scale · sinh((arcsinh z + Skew) / Tail). Of a standard normal z it
// makes a distribution that is skewed to the side of Skew's sign, and with heavier tails than normal for Tail < 1.
// Location and Scale > 0 are in units of u, Skew, and Tail > 0, have none.
type Warp struct{ Location, Scale, Skew, Tail float64 }

// identity changes nothing.
var identity = Warp{0, 1, 0, 1}

// Of returns u.
func (w Warp) Of(z float64) float64 {
	if w == identity {
		return z
	}
	return w.Location + w.Scale*math.Sinh((math.Asinh(z)+w.Skew)/w.Tail)
}

// undo returns z, and the log of dz/du.
func (w Warp) undo(u float64) (z, logSlope float64) {
	if w == identity {
		return u, 0
	}
	y := (u - w.Location) / w.Scale
	a := w.Tail*math.Asinh(y) - w.Skew
	return math.Sinh(a), math.Log(w.Tail/w.Scale) + math.Log(math.Cosh(a)) - 0.5*math.Log1p(y*y)
}

// Bounds of what fitWarp finds: beyond them, two peaks or an outlier would make distributions without a spread to speak
// of.
const (
	maxSkew    = 1.5
	maxLogTail = 0.7 // tails between half and twice as heavy
)

// fitWarp returns the warp of a standard normal that has the samples' first four L-moments (Hosking, 1990,
// "L-moments"), or comes closest to their ratios. Unlike skewness and kurtosis they are not at the mercy of a few
// samples.
func fitWarp(samples []float64) (Warp, error) {
	sorted := slices.Sorted(slices.Values(samples))
	want := lMoments(sorted)
	if !(want[1] > 0) {
		return Warp{}, fmt.Errorf("they do not vary")
	}
	warped := make([]float64, len(arcsinhGrid))
	of := func(w Warp) [4]float64 {
		for i, a := range arcsinhGrid {
			warped[i] = math.Sinh((a + w.Skew) / w.Tail)
		}
		return lMoments(warped)
	}
	shape := func(v []float64) Warp {
		return Warp{0, 1, maxSkew * math.Tanh(v[0]), math.Exp(maxLogTail * math.Tanh(v[1]))}
	}
	result, err := optimize.Minimize(optimize.Problem{Func: func(v []float64) float64 {
		l := of(shape(v))
		skew, tail := l[2]/l[1]-want[2]/want[1], l[3]/l[1]-want[3]/want[1]
		if sum := skew*skew + tail*tail; !math.IsNaN(sum) {
			return sum
		}
		return math.Inf(1)
	}}, []float64{0, 0}, &optimize.Settings{FuncEvaluations: 150, Converger: &optimize.FunctionConverge{Absolute: 1e-10,
		Iterations: 10}},
		&optimize.NelderMead{SimplexSize: 0.1})
	if result == nil {
		return Warp{}, err
	}
	w := shape(result.X)
	l := of(w)
	w.Scale = want[1] / l[1]
	w.Location = want[0] - w.Scale*l[0]
	return w, nil
}

// arcsinhGrid are the inverse hyperbolic sines of quantiles of the standard normal at (i + ½)/n.
var arcsinhGrid = func() []float64 {
	out := make([]float64, 100)
	for i := range out {
		out[i] = math.Asinh(distuv.UnitNormal.Quantile((float64(i) + 0.5) / float64(len(out))))
	}
	return out
}()

// lMoments returns the first four L-moments of ascending numbers.
func lMoments(sorted []float64) [4]float64 {
	var b [4]float64 // probability-weighted moments, with the plotting positions (i + ½)/n
	n := float64(len(sorted))
	for i, x := range sorted {
		weight := x / n
		for r := range b {
			b[r] += weight
			weight *= (float64(i) + 0.5) / n
		}
	}
	return [4]float64{b[0], 2*b[1] - b[0], 6*b[2] - 6*b[1] + b[0], 20*b[3] - 30*b[2] + 12*b[1] - b[0]}
}
