package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/graphs/graphstest"
	"github.com/go-birl/birl/qvirl/irl"
)

// smallProblems returns two 3×2 gridworlds with terminal states and demonstrations, with rewards of the given kind.
func smallProblems(tb testing.TB, stateOnly bool) []*irl.Problem {
	tb.Helper()
	out := make([]*irl.Problem, 2)
	for i := range out {
		c := gridworld.Config{Width: 3, Height: 2, RewardStd: 2, TerminalProb: 0.1, TopFraction: 0.2, Slip: 0.1 +
			0.1*float64(i)}
		w, err := gridworld.Random(c, uint64(2000+i))
		if err != nil {
			tb.Fatal(err)
		}
		demos, err := w.Demonstrate(3, 4, 1, 0.9, uint64(i))
		if err != nil {
			tb.Fatal(err)
		}
		n := 6
		if !stateOnly {
			n *= gridworld.Actions
		}
		out[i] = &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(n, -1+float64(i), 2), Discount: 0.9,
			Beta: 1 + float64(i), Demos: mdp.Flatten(demos)}
	}
	rng := rand.New(rand.NewPCG(1, 1)) // the second has correlated rewards
	out[1].Prior.Std, out[1].Prior.Cov = nil, graphstest.RandomCovariance(rng, len(out[1].Prior.Mean), 2)
	return out
}

// variants are the configurations that the objective is tested in.
func variants() []Config {
	var out []Config
	for _, maximum := range []graphs.Maximum{graphs.Clark, graphs.MaxMean} {
		for _, covariance := range []Covariance{FullCovariance, KernelCovariance} {
			for _, whiten := range []bool{false, true} {
				c := AdamConfig()
				c.Maximum, c.Covariance, c.Whiten = maximum, covariance, whiten
				c.Float64, c.Backend = true, "go"
				out = append(out, c)
			}
		}
	}
	return out
}

// perturbed fills the trainable arrays with numbers that are neither initial nor special.
func perturbed(arrays []array) []array {
	rng := rand.New(rand.NewPCG(12, 13))
	for _, a := range arrays {
		if a.trainable {
			for i := range a.floats {
				a.floats[i] += 0.3 * rng.NormFloat64()
			}
		}
	}
	return arrays
}

// smallBatches returns small problems packed by the kinds of prior that a program is compiled for.
func smallBatches(t *testing.T, stateOnly, whiten bool) []*batch {
	t.Helper()
	problems := smallProblems(t, stateOnly)
	kinds := [][]*irl.Problem{problems}
	if stateOnly {
		independent, correlated := *problems[1], *problems[0]
		independent.Prior = irl.IndependentPrior(6, 0.5, 3)
		correlated.Prior.Std, correlated.Prior.Cov = nil, graphstest.RandomCovariance(rand.New(rand.NewPCG(2, 2)), 6, 1)
		kinds = [][]*irl.Problem{{problems[0], &independent}, {problems[1], &correlated}}
	}
	var out []*batch
	for _, kind := range kinds {
		var parts []*batch
		for _, p := range kind {
			part, err := newPart(p, Config{Whiten: whiten})
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		b := join(parts)
		b.float64 = true
		out = append(out, b)
	}
	return out
}

// outputsOf evaluates the objective and the gradient of its summed loss at the given arrays.
func outputsOf(t *testing.T, b *batch, c Config, arrays []array) (out []*reading, gradients map[string][]float64) {
	t.Helper()
	choice, err := backend.Get(c.Backend)
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	scope := store.Scope(objectiveScope)
	if err := c.load(scope, arrays); err != nil {
		t.Fatal(err)
	}
	var names []string
	results, err := model.CallOnceN(choice.Backend, store, func(root *model.Scope, g *Graph) []*Node {
		o := newObjective(root.At(objectiveScope), g, nil, b.shape, c)
		out := []*Node{o.loss, o.mean, o.spread, o.weights, o.rise, o.residual, o.logProbs}
		for _, a := range arrays {
			if a.trainable {
				names = append(names, a.name)
				out = append(out, Gradient(o.gradient, root.At(objectiveScope).GetVariable(a.name).NodeValue(g))[0])
			}
		}
		return out
	})
	if err != nil {
		t.Fatal(err)
	}
	data := make([][]float64, len(results))
	for i, r := range results {
		if data[i], err = tensors.CopyFlatData[float64](r); err != nil {
			t.Fatal(err)
		}
	}
	gradients = map[string][]float64{}
	for i, name := range names {
		gradients[name] = data[7+i]
	}
	for i := range b.size {
		of := func(k int) []float64 { return part(data[k], i, b.size) }
		out = append(out, &reading{loss: of(0)[0], mean: of(1), spread: of(2), weights: of(3), rise: of(4),
			residual: of(5), logProbs: of(6)})
	}
	return out, gradients
}

func TestGradientsMatchFiniteDifferences(t *testing.T) {
	for _, stateOnly := range []bool{true, false} {
		for _, c := range variants() {
			for _, b := range smallBatches(t, stateOnly, c.Whiten) {
				t.Run(fmt.Sprintf("stateOnly=%v/diagonal=%v/%s/%s/whiten=%v", stateOnly, b.diagonal, c.Maximum,
					c.Covariance, c.Whiten), func(t *testing.T) {
					arrays := perturbed(b.arrays(c))
					_, gradients := outputsOf(t, b, c, arrays)
					total := func() float64 {
						out, _ := outputsOf(t, b, c, arrays)
						return out[0].loss + out[1].loss
					}
					rng := rand.New(rand.NewPCG(14, 15))
					const h = 1e-5
					for _, a := range arrays {
						if !a.trainable {
							continue
						}
						for trial := 0; trial < 4; trial++ {
							i := rng.IntN(len(a.floats))
							if n := b.dim; a.name == "factor" && i%n > i/n%n {
								i = i / n * n // the upper triangle is not used
							}
							at := a.floats[i]
							a.floats[i] = at + h
							up := total()
							a.floats[i] = at - h
							down := total()
							a.floats[i] = at
							want := (up - down) / (2 * h)
							if got := gradients[a.name][i]; !scalar.EqualWithinAbs(got, want,
								1e-6*(1+math.Abs(want))*10) {
								t.Errorf("∂/∂%s[%d] = %.9g, finite differences give %.9g", a.name, i, got, want)
							}
						}
					}
				})
			}
		}
	}
}

// TestRewardMomentsFollowThePropositions recomputes the reward's moments from those of the values, state by state and
// with dense algebra, as the paper's propositions write them.
func TestRewardMomentsFollowThePropositions(t *testing.T) {
	for _, stateOnly := range []bool{true, false} {
		for _, c := range variants() {
			if c.Covariance == KernelCovariance {
				continue
			}
			for _, b := range smallBatches(t, stateOnly, c.Whiten) {
				t.Run(fmt.Sprintf("stateOnly=%v/diagonal=%v/%s/whiten=%v", stateOnly, b.diagonal, c.Maximum, c.Whiten),
					func(t *testing.T) {
						out, _ := outputsOf(t, b, c, perturbed(b.arrays(c)))
						for k, p := range b.problems {
							g, err := b.posterior(k, c, &course{curves: make([][]CurvePoint, b.size),
								converged: make([]bool, b.size), best: out}, FitInfo{})
							if err != nil {
								t.Fatal(err)
							}
							around := g.around.(*full)
							wantMean, wantCov := rewardMoments(p, g.meanX, around.covX, c.Maximum)
							var joint mat.Dense // covariance of rewards as Sample draws them
							joint.Mul(around.joint, around.joint.T())
							for i := range b.dim {
								if got := g.meanR[i]; !scalar.EqualWithinAbs(got, wantMean[i], 1e-9) {
									t.Fatalf("problem %d: μ_R[%d] = %.12g, want %.12g", k, i, got, wantMean[i])
								}
								for j := range b.dim {
									got := around.covR.At(i, j)
									if !scalar.EqualWithinAbs(got, wantCov.At(i, j), 1e-9) ||
										!scalar.EqualWithinAbs(joint.At(i, j), got, 1e-9) {
										t.Fatalf("problem %d: Σ_R[%d,%d] = %.12g, of the joint distribution %.12g, "+
											"want "+
											"%.12g", k, i, j, got, joint.At(i, j), wantCov.At(i, j))
									}
								}
							}
						}
					})
			}
		}
	}
}

// rewardMoments is Prop. reward-gaussian for all rewards jointly, in plain dense algebra.
func rewardMoments(p *irl.Problem, meanX []float64, covX *mat.Dense, maximum graphs.Maximum) ([]float64, *mat.Dense) {
	m := p.MDP
	states, actions, n := m.States(), m.Actions(), len(meanX)
	weights := mat.NewDense(states, n, nil) // row s: the surrogate of the maximum taken in s
	meanMax, lift := make([]float64, states), make([]float64, states)
	for s := 0; s < states; s++ {
		var rows []mat.Vector
		for a := 0; a < actions; a++ {
			row := mat.NewVecDense(n, nil)
			if p.StateOnly() {
				next, prob := m.Row(s, a)
				for k, to := range next {
					row.SetVec(int(to), prob[k])
				}
			} else {
				row.SetVec(s*actions+a, 1)
			}
			repeated := false
			for _, earlier := range rows {
				repeated = repeated || mat.Equal(earlier, row)
			}
			if !repeated {
				rows = append(rows, row)
			}
		}
		mean, cov := make([]float64, len(rows)), mat.NewSymDense(len(rows), nil)
		for i, r := range rows {
			mean[i] = mat.Dot(r, mat.NewVecDense(n, meanX))
			for j := i; j < len(rows); j++ {
				cov.SetSym(i, j, mat.Inner(r, covX, rows[j]))
			}
		}
		w := make([]float64, len(rows))
		var varMax float64
		if maximum == graphs.Clark {
			meanMax[s], varMax, w = graphstest.Clark(mean, cov)
		} else {
			best := 0
			for i := range mean {
				if mean[i] > mean[best] {
					best = i
				}
			}
			w[best], meanMax[s], varMax = 1, mean[best], cov.At(best, best)
		}
		wv := mat.NewVecDense(len(w), w)
		lift[s] = math.Max(varMax-mat.Inner(wv, cov, wv), 0)
		for i, r := range rows {
			for j := 0; j < n; j++ {
				weights.Set(s, j, weights.At(s, j)+w[i]*r.AtVec(j))
			}
		}
	}
	// R = x − T M with M ≈ weights·x, plus independent residuals of M
	step := mat.NewDense(n, states, nil)
	for i := 0; i < n; i++ {
		if p.StateOnly() {
			if !m.Terminal(i) {
				step.Set(i, i, p.Discount)
			}
			continue
		}
		next, prob := m.Row(i/actions, i%actions)
		for k, to := range next {
			step.Set(i, int(to), p.Discount*prob[k])
		}
	}
	mean := append([]float64(nil), meanX...)
	for i := range mean {
		for s := 0; s < states; s++ {
			mean[i] -= step.At(i, s) * meanMax[s]
		}
	}
	var bellman, half, cov, residualHalf, residual mat.Dense
	bellman.Mul(step, weights)
	bellman.Scale(-1, &bellman)
	for i := 0; i < n; i++ {
		bellman.Set(i, i, bellman.At(i, i)+1)
	}
	half.Mul(&bellman, covX)
	cov.Mul(&half, bellman.T())
	residualHalf.Mul(step, mat.NewDiagDense(states, lift))
	residual.Mul(&residualHalf, step.T())
	cov.Add(&cov, &residual)
	return mean, &cov
}
