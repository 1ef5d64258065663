package graphs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/graphs/graphstest"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
)

// The algebra of the graph functions is tested in double precision on the pure Go backend, which every machine has;
// that the backends agree is a test of its own.

func TestClarkFollowsTheRecursion(t *testing.T) {
	const actions, states = 5, 6
	rng := rand.New(rand.NewPCG(1, 2))
	means, covs := make([][]float64, states), make([]*mat.SymDense, states)
	for s := range means {
		means[s] = make([]float64, actions)
		for a := range means[s] {
			means[s][a] = 10*float64(s%2) + 2*rng.NormFloat64()
		}
		covs[s] = graphstest.RandomCovariance(rng, actions, 1.5)
	}
	mean, cov := packed(means, covs)
	ones := make([]float64, actions*states)
	for i := range ones {
		ones[i] = 1
	}
	got := graphstest.Evaluate(t, func(in []*Node) []*Node {
		m, v, w := clarkMax(in[0], in[1], in[2], func(x *Node) *Node { return x })
		return []*Node{m, v, w}
	}, graphstest.Tensor(mean, 1, actions, states), graphstest.Tensor(cov, 1, actions, actions, states),
		graphstest.Tensor(ones, 1, actions, states))

	for s := range means {
		wantMean, wantVar, wantWeights := graphstest.Clark(means[s], covs[s])
		if !scalar.EqualWithinAbs(got[0][s], wantMean, 1e-10) || !scalar.EqualWithinAbs(got[1][s], wantVar, 1e-10) {
			t.Errorf("state %d: mean %.12g, variance %.12g; the recursion gives %.12g, %.12g", s, got[0][s], got[1][s],
				wantMean, wantVar)
		}
		for a, w := range wantWeights {
			if !scalar.EqualWithinAbs(got[2][a*states+s], w, 1e-12) {
				t.Errorf("state %d: weight %d = %g, want %g", s, a, got[2][a*states+s], w)
			}
		}
	}
}

func TestClarkIsExactForTwo(t *testing.T) {
	const draws = 400000
	cov := mat.NewSymDense(2, []float64{1.5, -0.4, -0.4, 0.7})
	means := []float64{10.2, 10.6}
	mean, packedCov := packed([][]float64{means}, []*mat.SymDense{cov})
	got := graphstest.Evaluate(t, func(in []*Node) []*Node {
		m, v, w := clarkMax(in[0], in[1], in[2], func(x *Node) *Node { return x })
		return []*Node{m, v, w}
	}, graphstest.Tensor(mean, 1, 2, 1), graphstest.Tensor(packedCov, 1, 2, 2, 1), graphstest.Tensor([]float64{1, 1}, 1,
		2, 1))
	normal, _ := distmv.NewNormal(means, cov, rand.NewPCG(3, 4))
	tops, firsts := make([]float64, draws), make([]float64, draws)
	x := make([]float64, 2)
	for i := range tops {
		normal.Rand(x)
		tops[i], firsts[i] = math.Max(x[0], x[1]), x[0]
	}
	m, v := stat.MeanVariance(tops, nil)
	if e := math.Abs(got[0][0]-m) / math.Sqrt(v/draws); e > 4 {
		t.Errorf("mean %.5f is %.1f standard errors off Monte Carlo's %.5f", got[0][0], e, m)
	}
	// the standard error of a variance is about v √(2/n) for near-Gaussian draws
	if e := math.Abs(got[1][0]-v) / (v * math.Sqrt(2.0/draws)); e > 4 {
		t.Errorf("variance %.5f is %.1f standard errors off Monte Carlo's %.5f", got[1][0], e, v)
	}
	want := stat.Covariance(tops, firsts, nil)
	linear := got[2][0]*cov.At(0, 0) + got[2][1]*cov.At(0, 1) // Eq. clark-linear
	if e := math.Abs(linear-want) / (1.5 * math.Sqrt(2.0/draws)); e > 4 {
		t.Errorf("covariance of the maximum with the first variable %.5f is %.1f standard errors off Monte Carlo's "+
			"%.5f", linear, e, want)
	}
}

func TestClarkLeavesOutRepeatedVariables(t *testing.T) {
	// X_2 is X_0 again: leaving it out must give the maximum of X_0 and X_1, exactly Clark's for two.
	two := mat.NewSymDense(2, []float64{1, 0.3, 0.3, 2})
	three := mat.NewSymDense(3, []float64{1, 0.3, 1, 0.3, 2, 0.3, 1, 0.3, 1})
	mean, cov := packed([][]float64{{0.5, 0.2, 0.5}}, []*mat.SymDense{three})
	got := graphstest.Evaluate(t, func(in []*Node) []*Node {
		m, v, w := clarkMax(in[0], in[1], in[2], func(x *Node) *Node { return x })
		return []*Node{m, v, w}
	}, graphstest.Tensor(mean, 1, 3, 1), graphstest.Tensor(cov, 1, 3, 3, 1), graphstest.Tensor([]float64{1, 1, 0}, 1, 3,
		1))
	wantMean, wantVar, wantWeights := graphstest.Clark([]float64{0.5, 0.2}, two)
	if !scalar.EqualWithinAbs(got[0][0], wantMean, 1e-12) || !scalar.EqualWithinAbs(got[1][0], wantVar, 1e-12) {
		t.Errorf("mean %g, variance %g; want %g, %g", got[0][0], got[1][0], wantMean, wantVar)
	}
	for i, want := range append(wantWeights, 0) {
		if !scalar.EqualWithinAbs(got[2][i], want, 1e-12) {
			t.Errorf("weight %d = %g, want %g", i, got[2][i], want)
		}
	}
}

func TestMaxMeanTakesTheBestAction(t *testing.T) {
	covs := []*mat.SymDense{mat.NewSymDense(2, []float64{1, 0.5, 0.5, 4}),
		mat.NewSymDense(2, []float64{3, 0.5, 0.5, 2})}
	mean, cov := packed([][]float64{{1, 2}, {5, -1}}, covs)
	got := graphstest.Evaluate(t, func(in []*Node) []*Node {
		m, v, w := maxMean(in[0], in[1])
		return []*Node{m, v, w}
	}, graphstest.Tensor(mean, 1, 2, 2), graphstest.Tensor(cov, 1, 2, 2, 2))
	want := [][]float64{{2, 5}, {4, 3}, {0, 1, 1, 0}} // weights are [A, S]
	for i := range want {
		for j := range want[i] {
			if got[i][j] != want[i][j] {
				t.Errorf("output %d: %v, want %v", i, got[i], want[i])
				break
			}
		}
	}
}

func TestActionProbsFollowTheClosedFormAndMonteCarlo(t *testing.T) {
	const beta, draws = 2.0, 100000
	means := [][]float64{{1, 0.2, -0.5}, {0, 0, 0}, {3, -2, 30}}
	rng := rand.New(rand.NewPCG(5, 6))
	covs := []*mat.SymDense{graphstest.RandomCovariance(rng, 3, 0.6), graphstest.RandomCovariance(rng, 3, 1),
		graphstest.RandomCovariance(rng, 3, 2)}
	mean, cov := packed(means, covs)
	got := graphstest.Evaluate(t, func(in []*Node) []*Node { return []*Node{LogActionProbs(in[0], in[1], in[2])} },
		graphstest.Tensor(mean, 1, 3, 3), graphstest.Tensor(cov, 1, 3, 3, 3), graphstest.Tensor([]float64{beta}, 1, 1,
			1, 1))[0]
	for s := range means {
		normal, _ := distmv.NewNormal(means[s], covs[s], rand.NewPCG(7, uint64(s)))
		sums, x := make([]float64, 3), make([]float64, 3)
		for i := 0; i < draws; i++ {
			normal.Rand(x)
			total := 0.0
			p := make([]float64, 3)
			for a := range x {
				p[a] = math.Exp(beta * (x[a] - x[0]))
				total += p[a]
			}
			for a := range p {
				sums[a] += p[a] / total / draws
			}
		}
		for a := range means[s] {
			want := 0.0
			for b := range means[s] {
				gap := covs[s].At(a, a) + covs[s].At(b, b) - 2*covs[s].At(a, b)
				want += math.Exp(-beta * (means[s][a] - means[s][b]) / math.Sqrt(1+3/(math.Pi*math.Pi)*beta*beta*gap))
			}
			if logp := got[a*3+s]; !(math.Abs(logp+math.Log(want)) <= 1e-10) {
				t.Errorf("state %d, action %d: log p = %.12g, the formula gives %.12g", s, a, logp, -math.Log(want))
			}
			// Lu's approximation errs by a few hundredths (the paper's figure); the Monte Carlo error is below 0.002
			if p := math.Exp(got[a*3+s]); !scalar.EqualWithinAbs(p, sums[a], 0.05) {
				t.Errorf("state %d, action %d: p = %.3f, Monte Carlo gives %.3f", s, a, p, sums[a])
			}
		}
	}
}

func TestInverseAndLogDeterminant(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{1, 2, 7, 8, 9, 16, 27, 33, 64} {
		t.Run(fmt.Sprint("n=", n), func(t *testing.T) {
			a, b := graphstest.RandomCovariance(rng, n, 3), graphstest.RandomCovariance(rng, n, 0.01)
			x := append(mat.DenseCopyOf(a).RawMatrix().Data, mat.DenseCopyOf(b).RawMatrix().Data...)
			got := graphstest.Evaluate(t, func(in []*Node) []*Node {
				inverse, logDet := SPDInverse(in[0])
				return []*Node{inverse, logDet}
			}, graphstest.Tensor(x, 2, n, n))
			for k, m := range []*mat.SymDense{a, b} {
				var chol mat.Cholesky
				chol.Factorize(m)
				var want mat.SymDense
				if err := chol.InverseTo(&want); err != nil {
					t.Fatal(err)
				}
				inverse := mat.NewDense(n, n, got[0][k*n*n:(k+1)*n*n])
				var diff mat.Dense
				diff.Sub(inverse, &want)
				if e := mat.Norm(&diff, math.Inf(1)) / mat.Norm(&want, math.Inf(1)); e > 1e-10 {
					t.Errorf("matrix %d: relative error of the inverse %g", k, e)
				}
				if e := math.Abs(got[1][k] - chol.LogDet()); e > 1e-9 {
					t.Errorf("matrix %d: error of the log-determinant %g", k, e)
				}
			}
		})
	}
}

// TestInverseOfNearlySingularMatrices is of rewards of transitions that resemble each other: condition numbers of 10⁵,
// and beside the symmetric part another as large as the rounding of single precision leaves.
func TestInverseOfNearlySingularMatrices(t *testing.T) {
	for _, n := range []int{8, 29, 64} {
		rng := rand.New(rand.NewPCG(8, uint64(n)))
		root := mat.NewDense(n, 5, nil)
		for i := range root.RawMatrix().Data {
			root.RawMatrix().Data[i] = rng.NormFloat64()
		}
		var s mat.SymDense
		s.SymOuterK(1, root)
		for i := range n {
			s.SetSym(i, i, s.At(i, i)+1e-3)
		}
		skewed := mat.DenseCopyOf(&s)
		for i := range n {
			for j := range i {
				e := 1e-6 * rng.NormFloat64()
				skewed.Set(i, j, s.At(i, j)+e)
				skewed.Set(j, i, s.At(i, j)-e)
			}
		}
		got := graphstest.Evaluate(t, func(in []*Node) []*Node {
			inverse, logDet := SPDInverse(in[0])
			return []*Node{inverse, logDet}
		}, graphstest.Tensor(skewed.RawMatrix().Data, 1, n, n))
		var chol mat.Cholesky
		if !chol.Factorize(&s) {
			t.Fatal("the test's matrix is not positive definite")
		}
		if want := chol.LogDet(); !scalar.EqualWithinAbs(got[1][0], want, 1e-8) {
			t.Errorf("n = %d: log-determinant %g, want %g", n, got[1][0], want)
		}
		var want mat.SymDense
		if err := chol.InverseTo(&want); err != nil {
			t.Fatal(err)
		}
		var off mat.Dense
		off.Sub(mat.NewDense(n, n, got[0]), &want)
		if d := mat.Norm(&off, 2) / mat.Norm(&want, 2); d > 1e-7 { // 10⁵ times the rounding of a double, with room
			t.Errorf("n = %d: the inverse is %g off, in relation to itself", n, d)
		}
	}
}

// packed holds the moments of several sets of A variables in the layout of clarkMax: one problem, one state a set.
func packed(means [][]float64, covs []*mat.SymDense) (mean, cov []float64) {
	states, actions := len(means), len(means[0])
	mean, cov = make([]float64, actions*states), make([]float64, actions*actions*states)
	for s := range means {
		for a := 0; a < actions; a++ {
			mean[a*states+s] = means[s][a]
			for b := 0; b < actions; b++ {
				cov[(a*actions+b)*states+s] = covs[s].At(a, b)
			}
		}
	}
	return mean, cov
}
