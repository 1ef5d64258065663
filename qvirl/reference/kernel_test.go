package reference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// gaussian is the likelihood exp(−½ (u − c)ᵀ A (u − c)), whose posterior is N(μ, (I + A)⁻¹) with (I + A) μ = A c.
type gaussian struct {
	a *mat.SymDense
	c []float64
}

func (g gaussian) Dim() int { return len(g.c) }

func (g gaussian) LogLikelihood(u, grad []float64) float64 {
	var d, ad mat.VecDense
	d.SubVec(mat.NewVecDense(len(u), u), mat.NewVecDense(len(u), g.c))
	ad.MulVec(g.a, &d)
	for i := range grad {
		grad[i] = -ad.AtVec(i)
	}
	return -0.5 * mat.Dot(&d, &ad)
}

// line is a likelihood of one number.
type line struct{ log, slope func(x float64) float64 }

func (l line) Dim() int { return 1 }

func (l line) LogLikelihood(u, grad []float64) float64 {
	if grad != nil {
		grad[0] = l.slope(u[0])
	}
	return l.log(u[0])
}

// kinked is steep on one side of a kink and flat beyond it, as the optimal value of a reward is: not smooth, and
// skewed.
var kinked = line{
	log: func(x float64) float64 { return -4 * math.Log1p(math.Exp(-3*math.Min(x, 0.7))) },
	slope: func(x float64) float64 {
		if x > 0.7 {
			return 0
		}
		return 12 / (1 + math.Exp(3*x))
	},
}

// TestShortSteps: where the posterior is so narrow that steps are unstable, N(0, 1/(1 + 10⁴)) with steps of 0.1, short
// ones still move the chain as they should.
func TestShortSteps(t *testing.T) {
	narrow := gaussian{mat.NewSymDense(1, []float64{1e4}), []float64{0}}
	for _, short := range []float64{0, shortShare} {
		h := newHamiltonian(narrow, 2, 64)
		h.step, h.short = 0.1, short
		draws := runKernel(narrow, 20000, func(at *state, rng *rand.Rand) { h.move(at, rng) })[0]
		if short == 0 {
			if slices.ContainsFunc(draws, func(x float64) bool { return x != 0 }) {
				t.Error("the chain moves without short steps: the test shows nothing")
			}
			continue
		}
		expectMean(t, "variance", draws, func(x float64) float64 { return x * x }, 1/(1+1e4))
	}
}

// counted counts the evaluations of a likelihood.
type counted struct {
	Likelihood
	evaluations *int
}

func (c counted) LogLikelihood(u, grad []float64) float64 {
	*c.evaluations++
	return c.Likelihood.LogLikelihood(u, grad)
}

// TestVanishingSteps: a trajectory of steps so short that no int has their number ends at the limit.
func TestVanishingSteps(t *testing.T) {
	for _, step := range []float64{1e-30, 0} {
		evaluations := 0
		l := counted{gaussian{mat.NewSymDense(1, []float64{1}), []float64{0}}, &evaluations}
		at, h := newState(1), newHamiltonian(l, 2, 5)
		h.step = step
		at.evaluate(l, gradientToo)
		if h.move(&at, rand.New(rand.NewPCG(1, 0))); evaluations != 1+5 {
			t.Errorf("steps of %g: %d evaluations, want one where the chain is and 5", step, evaluations)
		}
	}
}

// run starts a chain of a kernel at zero and returns so many positions, after a tenth as many more, [Dim][draws].
func runKernel(l Likelihood, draws int, move func(at *state, rng *rand.Rand)) [][]float64 {
	rng := rand.New(rand.NewPCG(11, 0))
	at := newState(l.Dim())
	at.evaluate(l, gradientToo)
	out := make([][]float64, l.Dim())
	for i := range draws + draws/10 {
		move(&at, rng)
		for j, x := range at.u {
			if i >= draws/10 {
				out[j] = append(out[j], x)
			}
		}
	}
	return out
}

// expectMean fails unless the mean of f over a chain's draws is the exact one within 4 Monte Carlo standard errors.
func expectMean(t *testing.T, what string, draws []float64, f func(float64) float64, exact float64) {
	t.Helper()
	mapped := make([]float64, len(draws))
	for i, x := range draws {
		mapped[i] = f(x)
	}
	mean, std := stat.MeanStdDev(mapped, nil)
	size := mcmc.ESS([][]float64{mapped})
	if !(size > 200) {
		t.Errorf("%s: effective sample size %.0f of %d draws", what, size, len(draws))
	}
	if err := std / math.Sqrt(size); !(math.Abs(mean-exact) <= 4*err) {
		t.Errorf("%s: %.4f ± %.4f, want %.4f", what, mean, err, exact)
	}
}

// kernelsOf are the kernels that need nothing but a likelihood.
func kernelsOf(l Likelihood, mass *mat.SymDense) map[string]func(at *state, rng *rand.Rand) {
	plain, massive, mixed := newHamiltonian(l, 2, 64), newHamiltonian(l, 2, 64), newHamiltonian(l, 2, 64)
	plain.step, massive.step, massive.metric = 0.4, 0.4, newMetric(mass)
	mixed.step, mixed.short = 0.4, 0.5
	exchanging := newSlice(l)
	exchanging.pair = func(rng *rand.Rand) [2][]int {
		i := rng.IntN(l.Dim())
		return [2][]int{{i}, {(i + 1) % l.Dim()}}
	}
	moving, goals := newSlice(l), make([]int, l.Dim())
	for j := range goals {
		goals[j] = j
	}
	return map[string]func(at *state, rng *rand.Rand){
		"Hamiltonian":                    func(at *state, rng *rand.Rand) { plain.move(at, rng) },
		"Hamiltonian with a mass matrix": func(at *state, rng *rand.Rand) { massive.move(at, rng) },
		"Hamiltonian of two step sizes":  func(at *state, rng *rand.Rand) { mixed.move(at, rng) },
		"single":                         newSlice(l).single,
		"sweep":                          newSlice(l).sweep,
		"sweep with exchanges":           exchanging.sweep,
		"single, and goals that move": func(at *state, rng *rand.Rand) {
			for k := 0; k < 8 && l.Dim() > 1; k++ {
				moving.exchange(moved(goals, at.u, rng), at, rng)
			}
			moving.single(at, rng)
		},
	}
}

func TestKernelsOnAGaussian(t *testing.T) {
	g := gaussian{mat.NewSymDense(3, []float64{2, 1, 0.3, 1, 1.5, -0.2, 0.3, -0.2, 0.5}), []float64{1, -2, 0.5}}
	var precision mat.SymDense
	precision.AddSym(g.a, mat.NewDiagDense(3, []float64{1, 1, 1}))
	var covariance mat.Dense
	if err := covariance.Inverse(&precision); err != nil {
		t.Fatal(err)
	}
	var force, mean mat.VecDense
	force.MulVec(g.a, mat.NewVecDense(3, g.c))
	mean.MulVec(&covariance, &force)
	for name, move := range kernelsOf(g, &precision) {
		draws := runKernel(g, 20000, move)
		for i, x := range draws {
			expectMean(t, name+": mean", x, func(x float64) float64 { return x }, mean.AtVec(i))
			for j, y := range draws {
				product := make([]float64, len(x))
				for k := range x {
					product[k] = (x[k] - mean.AtVec(i)) * (y[k] - mean.AtVec(j))
				}
				expectMean(t, name+": covariance", product, func(x float64) float64 { return x }, covariance.At(i, j))
			}
		}
	}
}

func TestKernelsOnAKinkedLine(t *testing.T) {
	mass := mat.NewSymDense(1, []float64{2.5})
	moments := map[string]func(x float64) float64{
		"mean": func(x float64) float64 { return x }, "square": func(x float64) float64 { return x * x },
		"P(x < 0.2)": func(x float64) float64 { return indicator(x < 0.2) },
		"P(x < 0.7)": func(x float64) float64 { return indicator(x < 0.7) },
		"P(x < 1.5)": func(x float64) float64 { return indicator(x < 1.5) },
	}
	for name, move := range kernelsOf(kinked, mass) {
		draws := runKernel(kinked, 20000, move)
		for what, f := range moments {
			sum, total := 0.0, 0.0
			for x := -9.9995; x < 10; x += 0.001 {
				w := math.Exp(kinked.log(x) - x*x/2)
				sum, total = sum+w*f(x), total+w
			}
			expectMean(t, name+": "+what, draws[0], f, sum/total)
		}
	}
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// fork is a world of two states in which action 1 leads to state 1, which ends the episode: two rewards by state.
func fork(t testing.TB) *mdp.MDP {
	t.Helper()
	rows := [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.2}, {Next: 1, Prob: 0.8}}, nil, nil}
	m, err := mdp.New(2, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestKernelsOnProblems lets each kernel of a chain sample alone, and compares rewards and values with quadrature. In
// the problem without demonstrations, and in the one with large β, the likelihood is constant over wide ranges.
func TestKernelsOnProblems(t *testing.T) {
	m := fork(t)
	toEnd := []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 1}, {State: 0, Action: 0}}
	for name, p := range map[string]*irl.Problem{
		"plain": {MDP: m, Prior: irl.IndependentPrior(2, 0, 2), Discount: 0.9, Beta: 1, Demos: toEnd},
		"correlated": {MDP: m, Prior: irl.Prior{Mean: []float64{1, 0}, Cov: mat.NewSymDense(2, []float64{4, 3, 3, 9})},
			Discount: 0.9, Beta: 1, Demos: toEnd},
		"no demos": {MDP: m, Prior: irl.IndependentPrior(2, 0, 2), Discount: 0.9, Beta: 1},
		"β 1e4":    {MDP: m, Prior: irl.IndependentPrior(2, 0, 2), Discount: 0.9, Beta: 1e4, Demos: toEnd[:1]},
		"β inferred": {MDP: m, Prior: irl.IndependentPrior(2, 0, 2), Discount: 0.9, Beta: 1, BetaLogStd: 0.5,
			Demos: toEnd},
		"β inferred, mean": {MDP: m, Prior: irl.Prior{Mean: []float64{2, -1}, Std: []float64{1, 2}}, Discount: 0.9,
			Beta: 1, BetaLogStd: 0.5, Demos: toEnd},
	} {
		exact := quadrature(t, p)
		for kernel, kernelName := range []string{"Hamiltonian", "slice", "walk"} {
			config := Default()
			config.Seed = 3
			s := prepared(t, config, p)
			k := s.chains[0]
			k.hamiltonian.step, k.hamiltonian.limit = 0.3, 32
			if k.walker == nil {
				t.Fatalf("%s: no walk", name)
			}
			for range 50 { // the walk needs a mass matrix
				k.move(singleKernel)
				k.walker.MoveTo(k.draw[k.target.n:])
				k.walker.AddCurvature()
			}
			if err := valuewalk.UseCurvature([]*valuewalk.Walker{k.walker}); err != nil {
				t.Fatal(err)
			}
			k.walker.StepSize = 0.5
			var draws [4][]float64
			for i := range 22000 {
				k.move(kernel)
				if i >= 2000 {
					for j := range draws {
						draws[j] = append(draws[j], k.draw[j])
					}
				}
			}
			for j, mean := range append(append([]float64(nil), exact.RewardMean...), exact.ValueMean...) {
				std := append(append([]float64(nil), exact.RewardStd...), exact.ValueStd...)[j]
				what := name + ": " + kernelName + ": " + []string{"reward 0", "reward 1", "value 0", "value 1"}[j]
				expectMean(t, what+": mean", draws[j], func(x float64) float64 { return x }, mean)
				expectMean(t, what+": variance", draws[j], func(x float64) float64 { return (x - mean) * (x - mean) },
					std*std)
			}
		}
	}
}

// Steps much longer than the posterior is wide end a trajectory as a divergence, short ones are accepted.
func TestDivergence(t *testing.T) {
	g := gaussian{mat.NewSymDense(2, []float64{4, 0, 0, 9}), []float64{1, 2}}
	for step, want := range map[float64]bool{1e-3: false, 50: true} {
		h := newHamiltonian(g, 1, 20)
		h.step = step
		at := newState(2)
		if h.move(&at, rand.New(rand.NewPCG(1, 0))); h.last.Divergent != want || (h.last.Acceptance > 0.5) == want {
			t.Errorf("steps of %g: %+v", step, h.last)
		}
	}
}
