package valuewalk

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

// betaQuadrature returns the posterior of log β and its weights on a grid of 81 points over 4 prior standard deviations
// on each side, and the posterior mean of each reward: at each point, the evidence and the mean by quadrature over
// rewards.
func betaQuadrature(t *testing.T, p *irl.Problem, n int) (points, weights, reward []float64) {
	t.Helper()
	const size = 81
	reward = make([]float64, p.RewardDim())
	total := 0.0
	for i := range size {
		z := -4 + 8*(float64(i)+0.5)/size
		fixed := *p
		fixed.BetaLogStd = 0
		fixed.Beta = p.Beta * math.Exp(p.BetaLogStd*z)
		evidence, mean := 0.0, make([]float64, p.RewardDim())
		for j := range n * n {
			a, b := -6+12*(float64(j%n)+0.5)/float64(n), -6+12*(float64(j/n)+0.5)/float64(n)
			r := []float64{p.Prior.Mean[0] + p.Prior.Std[0]*a, p.Prior.Mean[1] + p.Prior.Std[1]*b}
			sol, err := p.MDP.Solve(r, p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			w := math.Exp(-0.5*(a*a+b*b) + logLikelihood(&fixed, sol.Q))
			evidence += w
			for k := range mean {
				mean[k] += w * r[k]
			}
		}
		w := math.Exp(-0.5 * z * z)
		points, weights = append(points, math.Log(fixed.Beta)), append(weights, w*evidence)
		total += w * evidence
		for k := range reward {
			reward[k] += w * mean[k]
		}
	}
	for i := range weights {
		weights[i] /= total
	}
	for k := range reward {
		reward[k] /= total
	}
	return points, weights, reward
}

// betaProblem is a problem with two rewards and an unknown β, on which the demonstrations say something: nearly all
// agree.
func betaProblem(t *testing.T) *irl.Problem {
	p := *tractables(t)[0].problem
	p.BetaLogStd = 0.8
	for range 3 {
		p.Demos = append(p.Demos, p.Demos[0], p.Demos[3])
	}
	return &p
}

// TestBetaAgreesWithQuadrature compares the posterior of β and of the rewards with quadrature, sampled by ValueWalk and
// refined from far away.
func TestBetaAgreesWithQuadrature(t *testing.T) {
	p := betaProblem(t)
	points, weights, reward := betaQuadrature(t, p, 60)
	moment := func(f func(float64) float64) float64 {
		sum := 0.0
		for i, b := range points {
			sum += weights[i] * f(b)
		}
		return sum
	}
	mean := moment(func(b float64) float64 { return b })
	variance := moment(func(b float64) float64 { return (b - mean) * (b - mean) })
	if shift := (mean - math.Log(p.Beta)) / p.BetaLogStd; math.Abs(shift) < 0.1 {
		t.Fatalf("the demonstrations move log β by %.3f prior standard deviations: too little to test", shift)
	}
	check := func(what string, betas [][]float64, rewards func(i int) [][]float64) {
		for _, m := range []betaMoment{{"mean of log β", mean, math.Log},
			{"variance of log β", variance, func(b float64) float64 {
				return (math.Log(b) - mean) * (math.Log(b) -
					mean)
			}}} {
			got, stderr := estimate(betas, m.f)
			// 4 Monte Carlo standard errors, and 1e-3 for the grids' discretisation
			if !scalar.EqualWithinAbs(got, m.want, 4*stderr+1e-3) || !(stderr < 0.05) {
				t.Errorf("%s: %s %.4f ± %.4f, want %.4f", what, m.name, got, stderr, m.want)
			}
		}
		for i, want := range reward {
			got, stderr := estimate(rewards(i), func(r float64) float64 { return r })
			if !scalar.EqualWithinAbs(got, want, 4*stderr+1e-2) || !(stderr < 0.1) { // the grid of rewards is coarser
				t.Errorf("%s: mean of reward %d %.4f ± %.4f, want %.4f", what, i, got, stderr, want)
			}
		}
	}
	sampled := fit(t, precise(4), p)[0]
	check("ValueWalk", sampled.ByChain(sampled.Betas()), sampled.RewardChains)
	if m := sampled.Beta(); !scalar.EqualWithinAbs(math.Log(m.Quantile(0.5)), mean, 0.1) {
		t.Errorf("median of β %g, mean of log β %g", m.Quantile(0.5), mean)
	}
	c := DefaultRefine()
	c.Transitions, c.Kept, c.Samples = 30, 20, 20000
	refined := refine(t, c, isotropic(p, 1, 3, 3))[0] // takes β as known: it has no column of log β
	check("refined", refined.ByChain(refined.Betas()), refined.RewardChains)
}

type betaMoment struct {
	name string
	want float64
	f    func(float64) float64
}

// TestBetaIsKeptWithTheSamples saves and loads posteriors with an unknown β, and draws policies from them.
func TestBetaIsKeptWithTheSamples(t *testing.T) {
	p := betaProblem(t)
	c := brief()
	c.MaxIterations = 1000
	sampled := fit(t, c, p)[0]
	path := filepath.Join(t.TempDir(), "posterior.npz")
	if err := problemfile.Save(path, sampled); err != nil {
		t.Fatal(err)
	}
	loaded, err := load[*Posterior](path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampled.Betas(), loaded.Betas()) + cmp.Diff(sampled.Diagnostics(),
		loaded.Diagnostics()); diff != "" || len(loaded.Betas()) != loaded.Len() {
		t.Errorf("β and diagnostics (-saved +loaded):\n%s", diff)
	}
	if d := loaded.Diagnostics(); len(d.Beta.RHat) != 1 || !(d.Beta.BulkESS[0] > 50) {
		t.Errorf("diagnostics of β: %+v", d.Beta)
	}
	s := sampled.Samples()
	policies := s.Policies(2, math.NaN()) // the β given does not count
	for i, beta := range s.Beta[:20] {
		want := 1 / (1 + math.Exp(beta*(s.Q.At(i, 1)-s.Q.At(i, 0))))
		if !scalar.EqualWithinAbs(policies.At(i, 0), want, 1e-12) {
			t.Fatalf("policy of sample %d: %g, want %g at β = %g", i, policies.At(i, 0), want, beta)
		}
	}
}

// TestRefinedPosteriorsAreKept saves and loads a refined posterior.
func TestRefinedPosteriorsAreKept(t *testing.T) {
	for name, p := range withUnknownBeta(t) {
		c := DefaultRefine()
		c.Samples = 40 * c.Kept
		start := isotropic(p, 1)
		refined := refine(t, c, start)[0]
		path := filepath.Join(t.TempDir(), "refined.npz")
		if err := problemfile.Save(path, refined); err != nil {
			t.Fatal(err)
		}
		loaded, err := load[*Refined](path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(refined.Diagnostics(), loaded.Diagnostics()) + cmp.Diff(refined.Betas(),
			loaded.Betas()); diff != "" || loaded.Chains() != 40 {
			t.Errorf("%s: %d walkers (-saved +loaded):\n%s", name, loaded.Chains(), diff)
		}
		// samples are kept in single precision
		if a, b := refined.Reward(1).Mean(), loaded.Reward(1).Mean(); a == 0 || !scalar.EqualWithinAbs(a, b, 1e-5) {
			t.Errorf("%s: mean %g became %g", name, a, b)
		}
		if loaded.Start() != nil {
			t.Errorf("%s: a start that was not stored", name)
		}
	}
}
