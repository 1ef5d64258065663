package variational

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
)

func TestSampledLikelihood(t *testing.T) {
	const runs, draws, actions, n, beta, skew, tail = 2, 3, 3, 2, 1.5, 0.4, 0.9
	plain := newPlainWarp(skew, tail)
	rng := rand.New(rand.NewPCG(10, 10))
	out, noise := random(rng, 0.7, runs, n, actions, 2+exampleEmbedding), random(rng, 1, runs, draws, actions, n)
	for i, x := range out.data { // embeddings are in single precision
		out.data[i] = float64(float32(x))
	}
	action := array{dims: []int{runs, actions, n}, data: []float64{1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0}}
	constant := func(g *Graph, a array) *Node {
		return ConstTensor(g, tensors.FromFlatDataAndDimensions(a.data, a.dims...))
	}
	likelihood := func(in *Node) *Node {
		w := newWarp(Const(in.Graph(), []float64{skew, skew}),
			Const(in.Graph(), []float64{math.Log(tail), math.Log(tail)}))
		return sampledLogLikelihood(newValues(in, w), constant(in.Graph(), action), constant(in.Graph(), noise), beta)
	}
	got := evaluate(t, func(in []*Node) []*Node { return []*Node{likelihood(in[0])} }, out)[0]
	for run := range runs {
		want := 0.0
		for i := range n {
			points := make([]point, actions)
			for a := range points {
				row := out.data[((run*n+i)*actions+a)*4:][:4]
				points[a] = point{mean: row[outMean], std: math.Exp(row[outLogStd]),
					embedding: npz.Narrow[float32](row[outEmbedding:])}
			}
			j := valuesOf(points, plain)
			var chol mat.Cholesky
			if !chol.Factorize(j.latent) {
				t.Fatal("the values' covariance is singular")
			}
			var factor mat.TriDense
			chol.LTo(&factor)
			for d := range draws {
				q, taken, sum := make([]float64, actions), 0.0, 0.0
				for a := range q {
					z := 0.0
					for b := range a + 1 {
						z += factor.At(a, b) * noise.data[((run*draws+d)*actions+b)*n+i]
					}
					q[a] = j.value(a, z)
					sum += math.Exp(beta * q[a])
					taken += q[a] * action.data[(run*actions+a)*n+i]
				}
				want += (beta*taken - math.Log(sum)) / draws
			}
		}
		if !scalar.EqualWithinAbs(got[run], want, 1e-10) {
			t.Errorf("run %d: %g, want %g", run, got[run], want)
		}
	}
	checkGradients(t, func(in []*Node) (value, surrogate *Node) { return likelihood(in[0]), likelihood(in[0]) }, out)
	for i := range out.data { // values that differ by their means alone
		if i%4 >= outEmbedding {
			out.data[i] = 0
		}
	}
	for i, x := range evaluate(t, func(in []*Node) []*Node {
		return Gradient(ReduceAllSum(likelihood(in[0])), in[0])
	}, out)[0] {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("input %d: the derivative is %g where values are fully correlated", i, x)
		}
	}
}
