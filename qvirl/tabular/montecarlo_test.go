package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

func monteCarloTestConfig() Config {
	c := MonteCarloConfig()
	c.Float64, c.Backend = true, "go"
	return c
}

// drawnOutputs evaluates the configured objective at the given arrays: loss, KL divergence and log-likelihood [B], and
// the gradients of the summed loss by name.
func drawnOutputs(t *testing.T, b *batch, c Config, arrays []array, rows []int32) (losses [3][]float64,
	gradients map[string][]float64) {
	t.Helper()
	choice, err := backend.Get(c.Backend)
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	if err := c.load(store.Scope(objectiveScope), arrays); err != nil {
		t.Fatal(err)
	}
	names := []string{"mean", "factor"}
	results, err := model.CallOnceN(choice.Backend, store, func(root *model.Scope, rows *Node) []*Node {
		scope := root.At(objectiveScope)
		o := newObjective(scope, rows.Graph(), rows, b.shape, c)
		out := []*Node{o.loss, o.kl, o.logLikelihood}
		for _, name := range names {
			out = append(out, Gradient(o.gradient, scope.GetVariable(name).NodeValue(rows.Graph()))[0])
		}
		return out
	}, rows)
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
		gradients[name] = data[3+i]
	}
	return [3][]float64(data[:3]), gradients
}

func arrayOf(arrays []array, name string) []float64 {
	for _, a := range arrays {
		if a.name == name {
			return a.floats
		}
	}
	return nil
}

// plainMonteCarlo computes the KL divergence and the log-likelihood of problem i as their definitions read.
func plainMonteCarlo(t *testing.T, b *batch, c Config, arrays []array, rows []int32, i int) (kl,
	logLikelihood float64) {
	t.Helper()
	n, p := b.dim, b.problems[i]
	mean := append([]float64(nil), arrayOf(arrays, "mean")[i*n:(i+1)*n]...)
	factor := mat.NewDense(n, n, append([]float64(nil), arrayOf(arrays, "factor")[i*n*n:(i+1)*n*n]...))
	for r := range n {
		for k := r + 1; k < n; k++ {
			factor.Set(r, k, 0)
		}
	}
	if c.Whiten {
		frame := b.frames[i]
		var m mat.VecDense
		m.MulVec(frame.basis, mat.NewVecDense(n, mean))
		for k := range mean {
			mean[k] = frame.unit * (m.AtVec(k) + frame.origin[k])
		}
		var f mat.Dense
		f.Mul(frame.basis, factor)
		f.Scale(frame.unit, &f)
		factor = &f
	}
	noise := arrayOf(arrays, "noise")
	x := mat.NewDense(2*len(rows), n, nil)
	for d, row := range rows {
		var gap mat.VecDense
		gap.MulVec(factor, mat.NewVecDense(n, noise[int(row)*n:(int(row)+1)*n]))
		for k := range n {
			x.Set(2*d, k, mean[k]+gap.AtVec(k))
			x.Set(2*d+1, k, mean[k]-gap.AtVec(k))
		}
	}
	samples := p.SamplesOfValues(x)
	prior, ok := distmv.NewNormal(p.Prior.Mean, p.Prior.Covariance(), nil)
	if !ok {
		t.Fatal("the prior is not positive definite")
	}
	temperature := loopTemperature * math.Sqrt(mat.Trace(p.Prior.Covariance())/float64(n))
	actions, draws := b.actions, float64(2*len(rows))
	logDet, _ := mat.LogDet(factor)
	entropy := logDet + 0.5*float64(n)*(1+math.Log(2*math.Pi))
	expected := 0.0 // of log prior + log det
	meanProb := make([]float64, len(p.Demos))
	for d := range 2 * len(rows) {
		q := samples.Q.RawRowView(d)
		policy := mdp.Boltzmann(nil, q, actions, p.Beta)
		for k, step := range p.Demos {
			prob := policy[step.State*actions+step.Action]
			logLikelihood += math.Log(prob) / draws
			meanProb[k] += prob / draws
		}
		expected += prior.LogProb(samples.Reward.RawRowView(d)) / draws
		// the softmax over the candidates: Q-values over γ where rewards depend on states alone
		scale := 1 / temperature
		if p.StateOnly() {
			scale /= p.Discount
		}
		soft := mdp.Boltzmann(nil, q, actions, scale)
		for s := range b.states {
			stay := 0.0
			for a := range actions {
				next, prob := p.MDP.Row(s, a)
				for k, to := range next {
					if int(to) == s {
						stay += soft[s*actions+a] * prob[k]
					}
				}
			}
			expected += math.Log(1-p.Discount*stay) / draws
		}
	}
	if c.LogExpected {
		logLikelihood = 0
		for _, prob := range meanProb {
			logLikelihood += math.Log(prob)
		}
	}
	return -entropy - expected, logLikelihood
}

func TestObjectivesWithDrawsMatchTheirDefinition(t *testing.T) {
	for _, stateOnly := range []bool{true, false} {
		for _, variant := range []struct {
			whiten, logExpected bool
			objective           Objective
		}{{true, false, MonteCarlo}, {false, false, MonteCarlo}, {true, true, MonteCarlo},
			{true, false, ClosedDivergence}, {false, false, ClosedDivergence}, {true, true, ClosedDivergence}} {
			whiten := variant.whiten
			for _, b := range smallBatches(t, stateOnly, whiten) {
				t.Run(fmt.Sprintf("stateOnly=%v/diagonal=%v/whiten=%v/logExpected=%v/%s", stateOnly, b.diagonal, whiten,
					variant.logExpected, variant.objective), func(t *testing.T) {
					c := monteCarloTestConfig()
					c.Whiten, c.LogExpected, c.Objective = whiten, variant.logExpected, variant.objective
					arrays := perturbed(b.arrays(c))
					rows := c.noiseRows(trainingDraws)()
					got, gradients := drawnOutputs(t, b, c, arrays, rows)
					closedForm := c
					closedForm.Objective, closedForm.LogExpected = ClosedForm, false
					closed, _ := drawnOutputs(t, b, closedForm, arrays, rows)
					for i := range b.problems {
						kl, logLikelihood := plainMonteCarlo(t, b, c, arrays, rows, i)
						if c.Objective == ClosedDivergence {
							kl = closed[1][i]
						}
						if loss := kl - logLikelihood; !scalar.EqualWithinAbs(got[0][i], loss,
							1e-9*(1+math.Abs(loss))) {
							t.Errorf("problem %d: loss %.12g, its definition gives %.12g", i, got[0][i], loss)
						}
						if !scalar.EqualWithinAbs(got[1][i], kl, 1e-9*(1+math.Abs(kl))) {
							t.Errorf("problem %d: KL divergence %.12g, its definition gives %.12g", i, got[1][i], kl)
						}
						if !scalar.EqualWithinAbs(got[2][i], logLikelihood, 1e-9*(1+math.Abs(logLikelihood))) {
							t.Errorf("problem %d: log-likelihood %.12g, its definition gives %.12g", i, got[2][i],
								logLikelihood)
						}
					}
					rng := rand.New(rand.NewPCG(16, 17))
					// small: a draw whose best action changes between the two sides would spoil the difference
					const h = 1e-6
					for name, gradient := range gradients {
						at := arrayOf(arrays, name)
						for range 4 {
							i := rng.IntN(len(at))
							if n := b.dim; name == "factor" && i%n > i/n%n {
								i = i / n * n // the upper triangle is not used
							}
							total := func(x float64) float64 {
								before := at[i]
								defer func() { at[i] = before }()
								at[i] = x
								out, _ := drawnOutputs(t, b, c, arrays, rows)
								return floats.Sum(out[0])
							}
							want := (total(at[i]+h) - total(at[i]-h)) / (2 * h)
							if !scalar.EqualWithinAbs(gradient[i], want, 1e-5*(1+math.Abs(want))) {
								t.Errorf("∂/∂%s[%d] = %.9g, finite differences give %.9g", name, i, gradient[i], want)
							}
						}
					}
				})
			}
		}
	}
}

func TestPosteriorsOfDrawsMatchQuadrature(t *testing.T) {
	p := &irl.Problem{
		MDP: chain(t), Prior: irl.Prior{Mean: []float64{0, -1}, Std: []float64{1, 2}}, Discount: 0.8, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 1}, {State: 0, Action: 1}},
	}
	mean, std := chainMoments(t, p)
	for _, objective := range []Objective{MonteCarlo, ClosedDivergence} {
		c := MonteCarloConfig()
		c.Objective, c.Backend, c.Steps = objective, "go", 1000
		g := fit(t, c, p)[0]
		if !g.Converged() {
			t.Errorf("%s: the fit did not converge", objective)
		}
		for i := range mean {
			m := g.Reward(i)
			// What a Gaussian over values errs where the posterior is not one, and the noise of training.
			if !scalar.EqualWithinAbs(m.Mean(), mean[i], 0.12*std[i]) ||
				!scalar.EqualWithinAbs(m.StdDev()/std[i], 1, 0.12) {
				t.Errorf("%s: reward %d: mean %.3f, std %.3f; quadrature gives %.3f, %.3f", objective, i, m.Mean(),
					m.StdDev(), mean[i], std[i])
			}
			if !scalar.EqualWithinAbs(m.Mean(), g.RewardMean()[i], 1e-9) ||
				!scalar.EqualWithinAbs(m.StdDev(), math.Sqrt(g.RewardCov().At(i, i)), 1e-9) {
				t.Errorf("%s: reward %d: the marginal's moments are not those of the joint distribution", objective, i)
			}
		}
	}
}

func TestMonteCarloSaveAndLoad(t *testing.T) {
	problems := smallProblems(t, true)
	c := monteCarloTestConfig()
	c.Steps, c.Rounds = 30, 1
	g := fit(t, c, problems...)[0]
	path := t.TempDir() + "/posterior.npz"
	if err := problemfile.Save(path, g); err != nil {
		t.Fatal(err)
	}
	back, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := back.Reward(3).Quantile(0.1), g.Reward(3).Quantile(0.1); got != want {
		t.Errorf("a quantile of the posterior read is %g, of the one written %g", got, want)
	}
	if got, want := back.Value(3).Mean(), g.Value(3).Mean(); got != want {
		t.Errorf("a mean value of the posterior read is %g, of the one written %g", got, want)
	}
}
