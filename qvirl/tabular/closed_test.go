package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/irl"
)

// unlikeProblems are small problems that differ in kind of reward, prior, dynamics and demonstrations.
func unlikeProblems(t testing.TB) map[string]*irl.Problem {
	out := hardProblems(t)
	for _, stateOnly := range []bool{true, false} {
		for i, p := range smallProblems(t, stateOnly) {
			out[fmt.Sprintf("small %d, stateOnly=%v", i, stateOnly)] = p
		}
	}
	out["one action"] = &irl.Problem{MDP: grid(t, 3, 1), Prior: irl.IndependentPrior(9, 1, 2), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 3}}}
	return out
}

// perturbedPoint returns a mean and a factor that are neither initial nor special.
func perturbedPoint(n int) ([]float64, *mat.TriDense) {
	rng := rand.New(rand.NewPCG(12, uint64(n)))
	mean, factor := make([]float64, n), mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		mean[i] = 0.3 * rng.NormFloat64()
		for j := range i {
			factor.SetTri(i, j, 0.3*rng.NormFloat64())
		}
		factor.SetTri(i, i, 1+0.3*rng.NormFloat64())
	}
	return mean, factor
}

// The plain objective is the graph's, with its gradient, to rounding; and the gradient is that of the loss.
func TestClosedFormIsTheGraphs(t *testing.T) {
	for name, p := range unlikeProblems(t) {
		for _, maximum := range []graphs.Maximum{graphs.Clark, graphs.MaxMean} {
			if maximum == graphs.MaxMean && (name == "smooth" || name == "low rank") {
				continue // without a residual, Σ is singular to rounding there
			}
			t.Run(fmt.Sprintf("%s/%s", name, maximum), func(t *testing.T) {
				c := AdamConfig()
				c.Maximum, c.Float64, c.Backend = maximum, true, "go"
				b, err := newPart(p, Default())
				if err != nil {
					t.Fatal(err)
				}
				b.float64 = true
				n := b.dim
				mean, factor := perturbedPoint(n)
				arrays := b.arrays(c)
				dense := mat.NewDense(n, n, nil)
				dense.Copy(factor)
				setTrainable(arrays, mean, dense.RawMatrix().Data)
				readings, gradients := outputsOf(t, b, c, arrays)

				form := newClosedForm(b, maximum)
				slopeMean, slopeFactor := make([]float64, n), mat.NewDense(n, n, nil)
				loss := form.evaluate(mean, factor, slopeMean, slopeFactor)
				// rounding, times the condition of Σ under nearly singular priors
				if !scalar.EqualWithinRel(loss, readings[0].loss, 1e-8) {
					t.Errorf("loss %.12g, on the graph %.12g", loss, readings[0].loss)
				}
				sizeMean, sizeFactor := maxAbs(gradients["mean"]), maxAbs(gradients["factor"])
				for i := range n {
					if want := gradients["mean"][i]; math.Abs(slopeMean[i]-want) > 1e-7*sizeMean {
						t.Errorf("derivative %.10g in mean %d, on the graph %.10g", slopeMean[i], i, want)
					}
					for j := range i + 1 {
						if want := gradients["factor"][i*n+j]; math.Abs(slopeFactor.At(i, j)-want) > 1e-7*sizeFactor {
							t.Errorf("derivative %.10g in factor [%d,%d], on the graph %.10g", slopeFactor.At(i, j), i,
								j, want)
						}
					}
				}
				if sizeMean == 0 || sizeFactor == 0 {
					t.Error("the gradient is zero")
				}

				// along a random direction, by central differences
				rng := rand.New(rand.NewPCG(14, 15))
				direction, want := make([]float64, n), 0.0
				turned := mat.NewTriDense(n, mat.Lower, nil)
				for i := range n {
					direction[i] = rng.NormFloat64()
					want += direction[i] * slopeMean[i]
					for j := range i + 1 {
						turned.SetTri(i, j, rng.NormFloat64())
						want += turned.At(i, j) * slopeFactor.At(i, j)
					}
				}
				at := func(h float64) float64 {
					moved, factor2 := append([]float64(nil), mean...), mat.NewTriDense(n, mat.Lower, nil)
					floats.AddScaled(moved, h, direction)
					for i := range n {
						for j := range i + 1 {
							factor2.SetTri(i, j, factor.At(i, j)+h*turned.At(i, j))
						}
					}
					return form.evaluate(moved, factor2, nil, nil)
				}
				const h = 1e-5
				got := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
				if !scalar.EqualWithinAbsOrRel(got, want, 1e-6*(1+math.Abs(loss)), 1e-5) {
					t.Errorf("the loss changes by %.9g along a direction, the gradient says %.9g", got, want)
				}
			})
		}
	}
}

// L-BFGS ends no lower than Adam, by less than Adam's tolerance, and with a small part of its evaluations.
func TestLBFGSIsAsGoodAsAdam(t *testing.T) {
	problems := unlikeProblems(t)
	for _, name := range []string{"small 0, stateOnly=true", "small 1, stateOnly=true", "small 0, stateOnly=false",
		"scales", "near-singular", "offset", "beta 20"} {
		adam := AdamConfig()
		adam.Backend = "go"
		want, got := fit(t, adam, problems[name])[0], fit(t, Default(), problems[name])[0]
		if !got.Converged() || !(got.ELBO() >= want.ELBO()-adam.Tolerance) {
			t.Errorf("%s: ELBO %.4f (converged: %v), Adam's is %.4f", name, got.ELBO(), got.Converged(), want.ELBO())
		}
		if count := got.Info().Evaluations; count < 5 || count > 1000 {
			t.Errorf("%s: %d evaluations", name, count)
		}
	}
}
