package reference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// stakes is a problem of bandits with two actions: in some states little is at stake and the expert is consistent, in
// others much and he contradicts himself. Under a small β he errs everywhere; under a large one he never does, and what
// is much under the prior is tied.
func stakes(t testing.TB, low, high int) *irl.Problem {
	t.Helper()
	const lowStd, highStd, times = 0.1, 10, 3
	states := low + high
	m, err := mdp.New(states, 2, make([][]mdp.Transition, 2*states), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2*states, 0, lowStd), Beta: 3, BetaLogStd: 1.5}
	for s := range states {
		other := 0
		if s >= low {
			p.Prior.Std[2*s], p.Prior.Std[2*s+1], other = highStd, highStd, 1
		}
		for range times { // six decisions, of one action, or three of each
			p.Demos = append(p.Demos, mdp.Step{State: s}, mdp.Step{State: s, Action: other})
		}
	}
	return p
}

// marginalOf returns log p(b | D) of bandits of two actions up to a constant by quadrature over the gap of rewards,
// d ~ N(0, σ₁² + σ₂²), of each state.
func marginalOf(p *irl.Problem, b float64) float64 {
	const nodes = 40001
	beta, f, counts := p.Beta*math.Exp(p.BetaLogStd*b), -b*b/2, p.DemoCounts()
	for s := range p.MDP.States() {
		std, sum := math.Hypot(p.Prior.Std[2*s], p.Prior.Std[2*s+1]), 0.0
		for i := range nodes {
			z := 16*float64(i)/(nodes-1) - 8
			gap := beta * std * z
			sum += math.Exp(-z*z/2 - counts[2*s]*math.Log1p(math.Exp(-gap)) - counts[2*s+1]*math.Log1p(math.Exp(gap)))
		}
		f += math.Log(sum)
	}
	return f
}

// TestScan compares F with quadrature, relative to its value at b = 0.
func TestScan(t *testing.T) {
	p := stakes(t, 2, 1)
	target, err := NewTarget(p)
	if err != nil {
		t.Fatal(err)
	}
	f, positions := target.scan(mcmc.Stream(1, 0, 0), 0.65)
	if len(f) != knots || len(positions) != knots {
		t.Fatalf("%d knots and %d positions, want %d", len(f), len(positions), knots)
	}
	for i := range f {
		b := firstKnot + float64(i)*knotStep
		want := marginalOf(p, b) - marginalOf(p, 0)
		if got := f[i] - f[knots/2]; math.Abs(b) <= 2 && !(math.Abs(got-want) < 0.5) {
			t.Errorf("F(%g) − F(0) = %.2f, want %.2f", b, got, want)
		}
		if u := positions[i]; u[target.k] != b {
			t.Errorf("position %d has b = %g, want %g", i, u[target.k], b)
		}
	}
}

func TestNewBridge(t *testing.T) {
	for name, c := range map[string]struct {
		f, h  []float64
		peaks []int
	}{
		"one peak":       {[]float64{-9, -1, 0, -3, -9}, nil, []int{2}},
		"shallow valley": {[]float64{-9, 0, -2, -1, -9}, nil, []int{1}},
		"deep valley":    {[]float64{-9, 0, -7, -8, -2, -9}, []float64{0, 0, 2, 3, 0, 0}, []int{1, 4}},
		"three peaks":    {[]float64{-2, -20, 0, -30, -5, -40}, []float64{0, 15, 0, 22, 0, 0}, []int{0, 2, 4}},
		"negligible":     {[]float64{-2, -20, 0, -30, -9, -40}, []float64{0, 15, 0, 0, 0, 0}, []int{0, 2}},
	} {
		h, peaks := newBridge(c.f)
		if !floats.Equal(h, c.h) || len(peaks) != len(c.peaks) {
			t.Fatalf("%s: %v and peaks at %v, want %v and %v", name, h, peaks, c.h, c.peaks)
		}
		for i, at := range peaks {
			if at != c.peaks[i] {
				t.Errorf("%s: peaks at %v, want %v", name, peaks, c.peaks)
			}
		}
	}
	h := bridge(make([]float64, knots))
	h[10], h[11] = 2, 5
	b := firstKnot + 10.25*knotStep
	if height, slope := h.at(b); math.Abs(height-2.75) > 1e-12 || math.Abs(slope-3/knotStep) > 1e-12 {
		t.Errorf("height %g and slope %g, want 2.75 and %g", height, slope, 3/knotStep)
	}
	for _, b := range []float64{-100, firstKnot, -firstKnot, 100, math.NaN()} {
		if height, slope := h.at(b); height != 0 || slope != 0 {
			t.Errorf("height %g and slope %g at %g, want none", height, slope, b)
		}
	}
}

// TestBridgedSamplesAreOfThePosterior gives chains a bridge that no problem asks for, and compares β with quadrature.
func TestBridgedSamplesAreOfThePosterior(t *testing.T) {
	p := stakes(t, 2, 1)
	s := &sampling{config: Default(), problem: p, job: &mcmc.Job{}}
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	high := make(bridge, knots)
	for i := 20; i < 50; i++ {
		high[i] = 1.5
	}
	var logs []float64
	for _, k := range s.chains {
		k.target.bridge, k.at.known = high, position
		k.share = [kernels]float64{hamiltonianKernel: 0.2, sliceKernel: 0.2, sweepKernel: 0.6}
		for range 200 {
			k.sample()
		}
		for n := k.trace.Len(); n < 4000; n = k.trace.Len() {
			if k.sample(); k.trace.Len() > n {
				logs = append(logs, k.at.u[k.target.k])
			}
		}
	}
	var weights, bs []float64
	for b := -6.; b < 6; b += 0.05 {
		bs, weights = append(bs, b), append(weights, marginalOf(p, b))
	}
	total := floats.LogSumExp(weights)
	for i, w := range weights {
		weights[i] = math.Exp(w - total)
	}
	mean, std := stat.MeanStdDev(logs, nil)
	wantMean, wantVariance := stat.PopMeanVariance(bs, weights)
	want := math.Sqrt(wantVariance)
	if math.Abs(mean-wantMean) > 0.1*want || math.Abs(std/want-1) > 0.1 {
		t.Errorf("b is %.3f ± %.3f, want %.3f ± %.3f", mean, std, wantMean, want)
	}
}

// TestFindsBothRationalities: where a tenth of the posterior or more is on either side of a valley in β, chains that
// are of one side alone do not count as converged.
func TestFindsBothRationalities(t *testing.T) {
	p := stakes(t, 10, 5)
	c := Default()
	c.MaxIterations = 4000
	for seed := range uint64(3) {
		c.Seed = seed
		post := fit(t, c, p)[0].(*Posterior)
		ok, _ := post.Convergence()
		betas := slices.Sorted(slices.Values(post.Samples().Beta))
		share := 1 - stat.CDF(1, stat.Empirical, betas, nil)
		if ok && (share < 0.1 || share > 0.95) { // 0.89
			t.Errorf("seed %d: converged with %.2f of the draws at a large β", seed, share)
		}
	}
}
