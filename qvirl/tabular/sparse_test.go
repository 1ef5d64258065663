package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/graphs"
)

// The sparse objective is the dense one at the covariance that its parameters stand for, whatever the rank and the
// reference policy, with the same gradient in the mean; and its gradient is that of the loss.
func TestSparseFormIsTheDense(t *testing.T) {
	count := 0
	for name, p := range unlikeProblems(t) {
		if !p.StateOnly() || !p.Prior.Independent() {
			continue
		}
		count++
		for _, rank := range []int{1, 2, p.MDP.States()} {
			for _, maximum := range []graphs.Maximum{graphs.Clark, graphs.MaxMean} {
				t.Run(fmt.Sprintf("%s/rank %d/%s", name, rank, maximum), func(t *testing.T) {
					b, err := newPart(p, true)
					if err != nil {
						t.Fatal(err)
					}
					f, err := newSparseForm(p, maximum, rank)
					if err != nil {
						t.Fatal(err)
					}
					if err := f.refer(b.frames[0].reference); err != nil {
						t.Fatal(err)
					}
					n := b.dim
					rng := rand.New(rand.NewPCG(21, uint64(n)))
					x, slope := make([]float64, n*(2+rank)), make([]float64, n*(2+rank))
					for i := range x {
						x[i] = 0.3 * rng.NormFloat64()
					}
					mean, logStd, u := f.unpack(x)
					precision := mat.NewSymDense(n, nil) // of z
					precision.SymOuterK(1, u)
					for i, v := range logStd {
						precision.SetSym(i, i, precision.At(i, i)+math.Exp(-2*v))
					}
					var chol mat.Cholesky
					var cov mat.SymDense
					var factor mat.TriDense
					if !chol.Factorize(precision) || chol.InverseTo(&cov) != nil || !chol.Factorize(&cov) {
						t.Fatal("no covariance")
					}
					chol.LTo(&factor)
					dense := newClosedForm(b, maximum)
					slopeMean := make([]float64, n)
					want := dense.evaluate(mean, &factor, slopeMean, mat.NewDense(n, n, nil))
					// what is added to residuals, in each state
					tolerance := 1e-9*math.Abs(want) + 10*leastResidual*float64(n)
					if got := f.at(x, slope); !scalar.EqualWithinAbs(got, want, tolerance) {
						t.Errorf("loss %.12g, of the dense %.12g", got, want)
					}
					for i, v := range slopeMean {
						if math.Abs(slope[i]-v) > 1e-6*maxAbs(slopeMean) {
							t.Errorf("derivative %.10g in mean %d, of the dense %.10g", slope[i], i, v)
						}
					}
					direction := make([]float64, len(x))
					for i := range direction {
						direction[i] = rng.NormFloat64()
					}
					at := func(h float64) float64 {
						moved := append([]float64(nil), x...)
						floats.AddScaled(moved, h, direction)
						return f.at(moved, nil)
					}
					const h = 1e-4
					got := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
					if want := floats.Dot(direction, slope); !scalar.EqualWithinAbsOrRel(got, want,
						1e-6*(1+math.Abs(at(0))), 1e-5) {
						t.Errorf("the loss changes by %.9g along a direction, the gradient says %.9g", got, want)
					}
				})
			}
		}
	}
	if count < 5 {
		t.Errorf("%d problems", count)
	}
}
