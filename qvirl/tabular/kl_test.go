package tabular

import (
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/graphs/graphstest"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

func TestKLDivergence(t *testing.T) {
	const n = 5
	rng := rand.New(rand.NewPCG(10, 11))
	cov, priorCov := graphstest.RandomCovariance(rng, n, 1), graphstest.RandomCovariance(rng, n, 2)
	mean, priorMean := make([]float64, n), make([]float64, n)
	for i := range mean {
		mean[i], priorMean[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	var chol mat.Cholesky
	chol.Factorize(priorCov)
	var precision mat.SymDense
	if err := chol.InverseTo(&precision); err != nil {
		t.Fatal(err)
	}
	got := graphstest.Evaluate(t, func(in []*Node) []*Node {
		kl, _ := gaussianKL(in[0], in[1], in[2], in[3], in[4])
		return []*Node{kl}
	}, graphstest.Tensor(mean, 1, n), graphstest.Tensor(mat.DenseCopyOf(cov).RawMatrix().Data, 1, n, n), graphstest.Tensor(priorMean, 1, n),
		graphstest.Tensor(mat.DenseCopyOf(&precision).RawMatrix().Data, 1, n, n), graphstest.Tensor([]float64{chol.LogDet()}, 1))[0][0]
	q, _ := distmv.NewNormal(mean, cov, nil)
	p, _ := distmv.NewNormal(priorMean, priorCov, nil)
	want := distmv.KullbackLeibler{}.DistNormal(q, p)
	if !scalar.EqualWithinAbs(got, want, 1e-4*want) { // the jitter of 1e-6 prior variances shifts it in the fifth digit
		t.Errorf("KL = %.10g, want %.10g", got, want)
	}
}
