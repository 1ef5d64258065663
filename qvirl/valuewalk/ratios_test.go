package valuewalk

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

func (c *crude) ValueLogProbs(x *mat.Dense) ([]float64, error) {
	rows, n := x.Dims()
	constant := -0.5 * float64(n) * math.Log(2*math.Pi)
	for j := range n {
		constant -= math.Log(c.factor.At(j, j))
	}
	logs, z := make([]float64, rows), mat.NewVecDense(n, nil)
	for i := range logs {
		for j, mean := range c.mean {
			z.SetVec(j, x.At(i, j)-mean)
		}
		if err := z.SolveVec(c.factor, z); err != nil {
			return nil, err
		}
		logs[i] = constant - 0.5*mat.Dot(z, z)
	}
	return logs, nil
}

// rewardsOf returns the rewards, [rows, n], that have the values in the rows of x, [rows, dim].
func (t *target) rewardsOf(x *mat.Dense) *mat.Dense {
	rows, _ := x.Dims()
	out := mat.NewDense(rows, t.n, nil)
	for i := range rows {
		t.invert(x.RawRowView(i))
		out.SetRow(i, t.reward)
	}
	return out
}

// TestImportanceSamplingOfAGaussian has an analytic answer: with the discount 0, values are rewards, and without
// demonstrations their posterior is the prior. For a standard normal target and draws of variance v, the mean squared
// ratio is v/√(2v − 1) for v > ½, and the tail of the ratios has the shape 1 − v if that is positive.
func TestImportanceSamplingOfAGaussian(t *testing.T) {
	m, err := mdp.New(1, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(1, 0, 1), Beta: 1}
	const draws = 4000
	for _, v := range []float64{2, 1.3, 0.8, 0.1} {
		rng := mcmc.Stream(5, mcmc.Fingerprint(p), 1<<23)
		logs, err := LogRatios(t.Context(), isotropic(p, math.Sqrt(v)), rng, draws)
		if err != nil {
			t.Fatal(err)
		}
		d, err := mcmc.Smooth(logs)
		if err != nil {
			t.Fatal(err)
		}
		if v > 0.5 {
			// the ratios' largest values decide the error; 5 % is several times what seeds differ by
			if want := draws * math.Sqrt(2*v-1) / v; !scalar.EqualWithinAbs(d.ESS/want, 1, 0.05) {
				t.Errorf("variance %g: ESS %.0f of %d, want %.0f", v, d.ESS, draws, want)
			}
		}
		// the density of a Gaussian falls faster than the power law by a logarithm, which takes about 0.15 off the
		// shape
		if shape := 1 - v; v < 1 && !scalar.EqualWithinAbs(d.KHat, shape, 0.3) || v > 1 && d.KHat > 0.1 {
			t.Errorf("variance %g: k̂ = %.2f, want about %.2f", v, d.KHat, math.Max(shape, 0))
		}
		if ok := d.KHat < d.Threshold; ok != (v > 0.5) {
			t.Errorf("variance %g: k̂ %.2f, threshold %.2f", v, d.KHat, d.Threshold)
		}
	}
}

// TestLogRatiosCountTheChangeOfVariables: where to move on is best, det(I − γ P_π) is another than where to stay is.
func TestLogRatiosCountTheChangeOfVariables(t *testing.T) {
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}, {{Next: 1, Prob: 1}},
		{{Next: 1, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const discount, draws = 0.9, 20
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, 1), Beta: 1, Discount: discount}
	a := isotropic(p, 2)
	logs, err := LogRatios(t.Context(), a, rand.New(rand.NewPCG(1, 2)), draws)
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.SampleValues(rand.New(rand.NewPCG(1, 2)), draws)
	if err != nil {
		t.Fatal(err)
	}
	own, err := a.ValueLogProbs(x)
	if err != nil {
		t.Fatal(err)
	}
	of := func(i int) float64 {
		v0, v1 := x.At(i, 0), x.At(i, 1)
		r0, r1, det := v0-discount*math.Max(v0, v1), v1-discount*v1, 1-discount
		if v0 > v1 {
			det *= 1 - discount
		}
		return math.Log(det) - r0*r0/2 - r1*r1/2 - own[i]
	}
	for i, l := range logs {
		if want := of(i) - of(0); !scalar.EqualWithinAbs(l-logs[0], want, 1e-9) {
			t.Errorf("draw %d: the log ratio is %g above the first, want %g", i, l-logs[0], want)
		}
	}
}

// resampled is an approximation that draws from samples of the exact posterior.
type resampled struct {
	*crude // for the density
	values *mat.Dense
}

func (r resampled) SampleValues(rng *rand.Rand, n int) (*mat.Dense, error) {
	rows, dim := r.values.Dims()
	x := mat.NewDense(n, dim, nil)
	for i := range n {
		x.SetRow(i, r.values.RawRowView(rng.IntN(rows)))
	}
	return x, nil
}

// TestDrift: how far a refinement moves an approximation, and whether it came to rest.
func TestDrift(t *testing.T) {
	exact := exactSmall(t)
	c := DefaultRefine()
	c.Samples = 5000
	hasty := c
	hasty.Transitions, hasty.Kept, hasty.Samples = 1, 4, 2000
	good := resampled{spoilt(exact, 0, 1), exact.Values()}
	for _, test := range []struct {
		name         string
		config       RefineConfig
		start        Approximation
		atRest, near bool
	}{
		{"the true distribution", c, good, true, true},
		{"means off by half a deviation", c, spoilt(exact, 0.5, 1), true, false},
		{"deviations halved", c, spoilt(exact, 0, 0.5), true, false},
		{"far away, and a hasty refinement", hasty, spoilt(exact, 8, 1), false, false},
	} {
		refined := refine(t, test.config, test.start)[0]
		if refined.Start() != test.start {
			t.Errorf("%s: the start is lost", test.name)
		}
		d := refined.Diagnostics()
		if near := d.Drift < 0.1; near != test.near || !(d.Noise > 0 && d.Drift > 0) {
			t.Errorf("%s: %+v", test.name, d)
		}
		if ok, reason := refined.Convergence(); ok != test.atRest || ok != (reason == "") {
			t.Errorf("%s: at rest %t, %q", test.name, ok, reason)
		}
	}
	// a drift that the refinement measures is the distance to the exact posterior
	start := spoilt(exact, 0.5, 1)
	drift := refine(t, c, start)[0].Diagnostics().Drift
	base, err := newTarget(exact.Problem())
	if err != nil {
		t.Fatal(err)
	}
	x, err := start.SampleValues(rand.New(rand.NewPCG(1, 2)), 5000)
	if err != nil {
		t.Fatal(err)
	}
	if want := distance(base.rewardsOf(x), everyFourth(exact.Rewards())); !scalar.EqualWithinAbs(drift/want, 1, 0.15) {
		t.Errorf("drift %.3f, but the distance to the exact posterior is %.3f", drift, want)
	}
}

// TestRest: the limits of Convergence.
func TestRest(t *testing.T) {
	clean := RefineDiagnostics{StepSize: 1, Noise: 0.03, Settling: 0.04}
	for want, change := range map[string]func(*RefineDiagnostics){
		"":                   func(d *RefineDiagnostics) {},
		"20 % of":            func(d *RefineDiagnostics) { d.Stuck = 0.2 },
		"between its halves": func(d *RefineDiagnostics) { d.Settling = 0.2 },
		"no transition":      func(d *RefineDiagnostics) { d.StepSize = 0 },
		// 1.2 and 1.4 times the Monte Carlo error of halves, √2 times that of all samples
		" ":                  func(d *RefineDiagnostics) { d.Noise, d.Settling = 0.1, 0.17 },
		"move by 0.20 stand": func(d *RefineDiagnostics) { d.Noise, d.Settling = 0.1, 0.198 },
	} {
		p := Refined{diagnostics: clean}
		change(&p.diagnostics)
		want = strings.TrimSpace(want)
		if ok, reason := p.Convergence(); ok != (want == "") || !strings.Contains(reason, want) {
			t.Errorf("at rest %t, %q, want %q", ok, reason, want)
		}
	}
}

// walked returns the walk of 400 walkers with standard normal rewards and values, which are so much higher in the later
// half of each walker's samples, or of every other walker.
func walked(t *testing.T, kept int, later, odd float64) *refinement {
	t.Helper()
	const walkers = 400
	_, p := smallWorld(t, 93)
	base, err := newTarget(p)
	if err != nil {
		t.Fatal(err)
	}
	r := &refinement{config: RefineConfig{Kept: kept, Samples: walkers * kept}, problem: p, base: base,
		walkers: walkers, draws: mat.NewDense(walkers*kept, base.n, nil), samples: mcmc.NewPosterior(p, walkers, kept)}
	rng, x := rand.New(rand.NewPCG(1, 0)), make([]float64, base.n)
	for i := range walkers * kept {
		for k := range x {
			x[k] = rng.NormFloat64() + odd*float64(i/kept%2)
			if i%kept >= (kept+1)/2 {
				x[k] += later
			}
		}
		r.samples.SetValues(i, x, x)
	}
	return r
}

// TestDiagnosisOfWalkers: Settling is the distance from the first half of each walker's samples to the second, and
// Noise that between one half of the walkers and the other, over √2.
func TestDiagnosisOfWalkers(t *testing.T) {
	for _, c := range []struct{ later, odd, settling, noise float64 }{{0.5, 0, 0.5, 0},
		{0, 0.5, 0, 0.5 / math.Sqrt2}} {
		d := walked(t, 5, c.later, c.odd).diagnose() // the middle of an odd number is in neither half
		// 800 or 1,000 samples a side: a Monte Carlo error of 0.05
		if math.Abs(d.Settling-c.settling) > 0.08 || math.Abs(d.Noise-c.noise) > 0.08 {
			t.Errorf("later samples %g higher, odd walkers' %g: settling %.3f, noise %.3f, want about %g and %.3f",
				c.later, c.odd, d.Settling, d.Noise, c.settling, c.noise)
		}
	}
}

// TestSettled: means may move by 0.15 standard deviations, or by half as much again as from walkers to walkers.
func TestSettled(t *testing.T) {
	for _, c := range []struct {
		kept       int
		later, odd float64
		settled    bool
	}{{4, 0, 0, true}, {4, 0.3, 0, false}, {4, 0.3, 0.3, true}, {4, 0.8, 0.3, false}, {1, 0, 0.8, true}} {
		if got := walked(t, c.kept, c.later, c.odd).settled(); got != c.settled {
			t.Errorf("%+v: settled %t", c, got)
		}
	}
}

func TestBadRatios(t *testing.T) {
	_, p := smallWorld(t, 91)
	mine := isotropic(p, 1)
	for want, of := range map[string]Approximation{"is singular": closed{mine},
		"there is no density": struct{ Approximation }{mine}} {
		_, err := LogRatios(t.Context(), of, rand.New(rand.NewPCG(1, 0)), 10)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// closed is an approximation whose density cannot be computed.
type closed struct{ *crude }

func (closed) ValueLogProbs(*mat.Dense) ([]float64, error) {
	return nil, errors.New("the covariance is singular")
}

// TestStuckWalkersHaveNotSettled: their halves are equal, and say nothing.
func TestStuckWalkersHaveNotSettled(t *testing.T) {
	r := &refinement{walkers: 20, groups: []group{{}, {stuck: 2}}, config: RefineConfig{Kept: 2},
		samples: exactSmall(t).Posterior}
	if r.settled() {
		t.Error("a walk of which a tenth of the walkers never moved has settled")
	}
}
