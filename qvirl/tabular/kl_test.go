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
	var lower mat.TriDense
	chol.LTo(&lower)
	f := frame{factor: &lower}
	gap := mat.NewDense(n, 1, nil)
	for i := range mean {
		gap.Set(i, 0, mean[i]-priorMean[i])
	}
	whitened := f.whitened(mat.DenseCopyOf(f.whitened(mat.DenseCopyOf(cov)).T())) // L⁻¹ Σ L⁻ᵀ
	got := graphstest.Evaluate(t, func(in []*Node) []*Node {
		kl, _ := whitenedKL(in[0], in[1], jitter(true))
		return []*Node{kl}
	}, graphstest.Tensor(f.whitened(gap).RawMatrix().Data, 1, n), graphstest.Tensor(whitened.RawMatrix().Data, 1, n,
		n))[0][0]
	q, _ := distmv.NewNormal(mean, cov, nil)
	p, _ := distmv.NewNormal(priorMean, priorCov, nil)
	want := distmv.KullbackLeibler{}.DistNormal(q, p)
	if !scalar.EqualWithinAbs(got, want, 1e-10*want) {
		t.Errorf("KL = %.10g, want %.10g", got, want)
	}
}
