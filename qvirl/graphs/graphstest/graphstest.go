// Package graphstest has what tests of graph functions share.
package graphstest

import (
	. "github.com/gomlx/gomlx/core/graph"

	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/backend"
)

// Evaluate runs f on double-precision inputs and returns its outputs flattened.
func Evaluate(t *testing.T, f func(in []*Node) []*Node, inputs ...*tensors.Tensor) [][]float64 {
	t.Helper()
	choice, err := backend.Get("go")
	if err != nil {
		t.Fatal(err)
	}
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	results, err := CallOnceN(choice.Backend, f, args...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(results))
	for i, r := range results {
		if out[i], err = tensors.CopyFlatData[float64](r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Tensor is a double-precision tensor of the given dimensions.
func Tensor(data []float64, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(data, dims...)
}

// RandomCovariance returns a well-conditioned random covariance of n variables of roughly the given scale.
func RandomCovariance(rng *rand.Rand, n int, scale float64) *mat.SymDense {
	root := mat.NewDense(n, n, nil)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			root.Set(i, j, rng.NormFloat64())
		}
		root.Set(i, i, root.At(i, i)+2)
	}
	cov := mat.NewSymDense(n, nil)
	cov.SymOuterK(scale*scale/float64(n), root)
	return cov
}

// Clark is Clark's recursion as the paper's appendix writes it, for one set of variables.
func Clark(mean []float64, cov mat.Symmetric) (meanMax, varMax float64, weights []float64) {
	phi := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	cdf := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	m, v := mean[0], cov.At(0, 0)
	withMax := make([]float64, len(mean)) // Cov(M, X_j), carried along for every j
	for j := range withMax {
		withMax[j] = cov.At(0, j)
	}
	cdfs := make([]float64, len(mean))
	for i := 1; i < len(mean); i++ {
		omega := math.Sqrt(v + cov.At(i, i) - 2*withMax[i])
		nu := (m - mean[i]) / omega
		cdfs[i] = cdf(nu)
		next := m*cdf(nu) + mean[i]*cdf(-nu) + omega*phi(nu)
		second := (m*m+v)*cdf(nu) + (mean[i]*mean[i]+cov.At(i, i))*cdf(-nu) + (m+mean[i])*omega*phi(nu)
		m, v = next, second-next*next
		for j := range withMax {
			withMax[j] = cdf(nu)*withMax[j] + cdf(-nu)*cov.At(i, j)
		}
	}
	weights = make([]float64, len(mean))
	for j := range weights {
		weights[j] = 1
		if j > 0 {
			weights[j] = 1 - cdfs[j]
		}
		for i := j + 1; i < len(mean); i++ {
			weights[j] *= cdfs[i]
		}
	}
	return m, v, weights
}
