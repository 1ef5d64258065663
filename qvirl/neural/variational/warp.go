package variational

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/integrate/quad"
)

// Marginals names the family of the optimal values' marginal distributions.
type Marginals string

const (
	// Normal marginals are the paper's.
	Normal Marginals = "normal"
	// SinhArcsinh marginals are normal ones whose skewness and tails are learnt (Jones and Pewsey 2009), the same for
	// all values.
	SinhArcsinh Marginals = "sinh-arcsinh"
)

// The parameters of SinhArcsinh: S(z) = sinh((arsinh z + skew)/tail) is z itself where skew is 0 and tail is 1.
const (
	paramSkew    = "warp.skew"
	paramLogTail = "warp.log_tail"
)

const (
	// warpTerms is the number of powers of the latent correlation that the warped values' correlation is made of.
	warpTerms = 4
	// warpNodes is the number of nodes of the quadrature over a standard normal variable.
	warpNodes = 32
)

// warp makes a value Q = μ + σ W(z) of a standard normal z, with W(z) = (S(z) − m)/s standardised: mean and standard
// deviation stay what the network says. Values whose z correlate by k correlate by Σ_j h_j² k^j, with h_j the
// coefficients of W in normalised Hermite polynomials; the h_j of the first warpTerms are scaled so that the sum is 1
// at k = 1.
type warp struct {
	skew, tail, mean, std *Node   // [runs]
	coefficients          []*Node // h_1, …, [runs]
}

// newWarp returns the warp of parameters [runs].
func newWarp(skew, logTail *Node) *warp {
	g, dtype := skew.Graph(), skew.DType()
	row := func(x []float64) *Node {
		// [1, nodes]
		return ExpandAxes(ConvertDType(ConstTensor(g, tensors.FromFlatDataAndDimensions(x, len(x))), dtype), 0)
	}
	z, weights := normalQuadrature()
	w := &warp{skew: skew, tail: Exp(logTail)}
	integral := func(x *Node) *Node { return ReduceSum(Mul(x, row(weights)), -1) }
	s := w.shape(row(z)) // [runs, nodes]
	w.mean = integral(s)
	centred := Sub(s, ExpandAxes(w.mean, -1))
	w.std = Sqrt(integral(Square(centred)))
	square := ZerosLike(w.std)
	for j := 1; j <= warpTerms; j++ {
		h := integral(Mul(centred, row(hermite(z, j))))
		w.coefficients = append(w.coefficients, h)
		square = Add(square, Square(h))
	}
	for j, h := range w.coefficients {
		w.coefficients[j] = Div(h, Sqrt(square))
	}
	return w
}

// shape returns S(z) for z [runs, …].
func (w *warp) shape(z *Node) *Node {
	axes := z.Rank() - 1
	x := Div(Add(arsinh(z), expand(w.skew, axes)), expand(w.tail, axes))
	return MulScalar(Sub(Exp(x), Exp(Neg(x))), 0.5)
}

// apply returns W(z) for z [runs, draws, n].
func (w *warp) apply(z *Node) *Node {
	return Div(Sub(w.shape(z), expand(w.mean, 2)), expand(w.std, 2))
}

// correlation returns the correlations that the latent ones k [runs, …] become.
func (w *warp) correlation(k *Node) *Node {
	power, sum := k, ZerosLike(k)
	for j, h := range w.coefficients {
		if j > 0 {
			power = Mul(power, k)
		}
		sum = Add(sum, Mul(expand(Square(h), k.Rank()-1), power))
	}
	return sum
}

// arsinh is sign(z) log(|z| + √(z² + 1)), which does not cancel.
func arsinh(z *Node) *Node {
	size := Abs(z)
	return Mul(Sign(z), Log(Add(size, Sqrt(OnePlus(Square(z))))))
}

// expand returns x [runs] with axes of length 1 after the first.
func expand(x *Node, axes int) *Node { return InsertAxes(x, slices.Repeat([]int{-1}, axes)...) }

// normalQuadrature returns nodes and weights of expectations over a standard normal variable.
func normalQuadrature() (z, weights []float64) {
	z, weights = make([]float64, warpNodes), make([]float64, warpNodes)
	quad.Hermite{}.FixedLocations(z, weights, math.Inf(-1), math.Inf(1)) // for the weight exp(−x²)
	for i := range z {
		z[i] *= math.Sqrt2
		weights[i] /= math.Sqrt(math.Pi)
	}
	return z, weights
}

// hermite returns the Hermite polynomial of degree j at each z, normalised: of variance 1 for a standard normal
// variable.
func hermite(z []float64, j int) []float64 {
	out := make([]float64, len(z))
	for i, x := range z {
		before, now, factorial := 0.0, 1.0, 1.0
		for d := range j {
			before, now = now, x*now-float64(d)*before
			factorial *= float64(d + 1)
		}
		out[i] = now / math.Sqrt(factorial)
	}
	return out
}

// parts returns the combination of warped values as a sum of independent ones of unwarped values: k^j is the
// correlation of points √j times as far apart. A nil warp changes nothing.
func (w *warp) parts(values combination) []combination {
	if w == nil {
		return []combination{values}
	}
	out := make([]combination, len(w.coefficients))
	for j, h := range w.coefficients {
		out[j] = combination{weight: Mul(expand(h, 2), values.weight), point: MulScalar(values.point,
			math.Sqrt(float64(j+1)))}
	}
	return out
}
