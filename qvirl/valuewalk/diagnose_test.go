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

// diagnosed refines and diagnoses an approximation.
func diagnosed(t *testing.T, c RefineConfig, a Density) *Diagnosis {
	t.Helper()
	d, err := Diagnose(refine(t, c, a)[0], 5)
	if err != nil {
		t.Fatal(err)
	}
	return d
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
	c := DefaultRefine()
	c.Samples = 1000
	for _, v := range []float64{2, 1.3, 0.8, 0.1} {
		d := diagnosed(t, c, isotropic(p, math.Sqrt(v)))
		if v > 0.5 {
			// the ratios' largest values decide the error; 5 % is several times what seeds differ by
			if want := float64(d.Draws) * math.Sqrt(2*v-1) / v; !scalar.EqualWithinAbs(d.ESS/want, 1, 0.05) {
				t.Errorf("variance %g: ESS %.0f of %d, want %.0f", v, d.ESS, d.Draws, want)
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

func TestVerdicts(t *testing.T) {
	exact := exactSmall(t)
	c := DefaultRefine()
	c.Samples = 5000
	hasty := c
	hasty.Transitions, hasty.Kept, hasty.Samples = 1, 4, 2000
	good := resampled{spoilt(exact, 0, 1), exact.Values()}
	for _, test := range []struct {
		name    string
		config  RefineConfig
		start   Density
		verdict Verdict
		reason  string
	}{
		{"the true distribution", c, good, Trust, "no more than"},
		{"means off by half a deviation", c, spoilt(exact, 0.5, 1), Improve, "refinement moves the"},
		{"deviations halved", c, spoilt(exact, 0, 0.5), Improve, "refinement moves the"},
		{"far away, and a hasty refinement", hasty, spoilt(exact, 8, 1), DoNotUse, "come to rest"},
	} {
		d := diagnosed(t, test.config, test.start)
		if d.Verdict != test.verdict || !strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s: %+v", test.name, d)
		}
		if !(d.Noise > 0 && d.Drift > 0 && d.ESS >= 1) {
			t.Errorf("%s: %+v", test.name, d)
		}
	}
	// a drift that the refinement measures is the distance to the exact posterior
	start := spoilt(exact, 0.5, 1)
	d := diagnosed(t, c, start)
	base, err := newTarget(exact.Problem())
	if err != nil {
		t.Fatal(err)
	}
	x, err := start.SampleValues(rand.New(rand.NewPCG(1, 2)), 5000)
	if err != nil {
		t.Fatal(err)
	}
	if want := distance(base.rewardsOf(x), everyFourth(exact.Rewards())); !scalar.EqualWithinAbs(d.Drift/want, 1,
		0.15) {
		t.Errorf("drift %.3f, but the distance to the exact posterior is %.3f", d.Drift, want)
	}
}

func TestVerdictRule(t *testing.T) {
	clean := Diagnosis{KHat: 1, Threshold: 0.7, Drift: 0.05, Noise: 0.03, Settling: 0.04, PolicyDrift: 0.02}
	for want, change := range map[string]func(*Diagnosis){
		"trust: refinement":                   func(d *Diagnosis) {},
		"refine: refinement moves the reward": func(d *Diagnosis) { d.Drift = 0.2 },
		"refine: refinement moves the policy": func(d *Diagnosis) { d.PolicyDrift = 0.2 },
		"do not use: 20 % of":                 func(d *Diagnosis) { d.Stuck = 0.2 },
		"do not use: the refinement":          func(d *Diagnosis) { d.Settling = 0.2 },
		// most of it is Monte Carlo error
		"trust: refinement moves": func(d *Diagnosis) { d.Drift, d.Noise = 0.12, 0.1 },
	} {
		d := clean
		change(&d)
		d.judge()
		if got := string(d.Verdict) + ": " + d.Reason; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBadDiagnoses(t *testing.T) {
	_, p := smallWorld(t, 91)
	c := DefaultRefine()
	c.Transitions, c.Kept, c.Samples = 1, 25, 50
	mine := isotropic(p, 1)
	refined := refine(t, c, mine)[0]
	if refined.Start() != mine {
		t.Error("the start is lost")
	}
	singular := refine(t, c, closed{mine})[0]
	bare := refine(t, c, struct{ Approximation }{mine})[0]
	c.Transitions, c.Kept = 0, 1
	still := refine(t, c, mine)[0]
	for want, f := range map[string]func() (*Diagnosis, error){
		"no transition":  func() (*Diagnosis, error) { return Diagnose(still, 1) },
		"is singular":    func() (*Diagnosis, error) { return Diagnose(singular, 1) },
		"has no density": func() (*Diagnosis, error) { return Diagnose(bare, 1) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// closed is an approximation whose density cannot be computed.
type closed struct{ *crude }

func (closed) ValueLogProbs(*mat.Dense) ([]float64, error) {
	return nil, errors.New("the covariance is singular")
}
