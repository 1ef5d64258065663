package variational

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats/scalar"
)

func TestWarpIsStandardised(t *testing.T) {
	const draws, k = 400_000, 0.6
	for _, c := range []struct{ skew, tail float64 }{{0.4, 1.1}, {-0.3, 0.9}, {0, 1.3}} {
		w := newPlainWarp(c.skew, c.tail)
		rng := rand.New(rand.NewPCG(11, 11))
		var mean, square, third, product, spread float64
		for range draws {
			z := rng.NormFloat64()
			a, b := w.apply(z), w.apply(k*z+math.Sqrt(1-k*k)*rng.NormFloat64())
			mean += a / draws
			square += a * a / draws
			third += a * a * a / draws
			product += a * b / draws
			spread += a * a * b * b / draws
		}
		// heavy tails: a standard error of 0.004 at most
		if !(math.Abs(mean) <= 4/math.Sqrt(draws)) || !scalar.EqualWithinAbs(square, 1, 0.02) {
			t.Errorf("%+v: draws have mean %g and second moment %g", c, mean, square)
		}
		if !(math.Abs(third) <= 0.05) && (third > 0) != (c.skew > 0) {
			t.Errorf("%+v: draws have the third moment %g", c, third)
		}
		tolerance := 4*math.Sqrt(spread/draws) + 0.005 // for the terms that the sum leaves out
		if got := w.correlation(k); !scalar.EqualWithinAbs(got, product, tolerance) || c.skew != 0 &&
			math.Abs(product-k) < 1e-3 {
			t.Errorf("%+v: correlation %g, draws give %g ± %g", c, got, product, tolerance)
		}
	}
	same := newPlainWarp(0, 1)
	for _, x := range []float64{-2, 0.3, 1} {
		if !scalar.EqualWithinAbs(same.apply(x), x, 1e-9) {
			t.Errorf("without skewness %g becomes %g", x, same.apply(x))
		}
	}
	if got := same.correlation(k); !scalar.EqualWithinAbs(got, k, 1e-9) {
		t.Errorf("without skewness the correlation %g becomes %g", k, got)
	}
}

func TestWarpInTheGraph(t *testing.T) {
	skew, logTail := array{[]float64{0.4, -0.2}, []int{2}}, array{[]float64{0.1, -0.1}, []int{2}}
	z := array{[]float64{-2, -0.5, 0.1, 1.5, 0, 3}, []int{2, 1, 3}}
	got := evaluate(t, func(in []*Node) []*Node {
		w := newWarp(in[0], in[1])
		return []*Node{w.apply(in[2]), w.correlation(Abs(MulScalar(in[2], 0.2)))}
	}, skew, logTail, z)
	for i, x := range z.data {
		w := newPlainWarp(skew.data[i/3], math.Exp(logTail.data[i/3]))
		if want := w.apply(x); !scalar.EqualWithinAbs(got[0][i], want, 1e-10) {
			t.Errorf("%g becomes %g, want %g", x, got[0][i], want)
		}
		if want := w.correlation(math.Abs(0.2 * x)); !scalar.EqualWithinAbs(got[1][i], want, 1e-10) {
			t.Errorf("the correlation %g becomes %g, want %g", 0.2*x, got[1][i], want)
		}
	}
}
