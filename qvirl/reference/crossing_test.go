package reference

import (
	"math"
	"slices"
	"strings"
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
			sum += math.Exp(-z*z/2 - counts[2*s]*softplus(-gap) - counts[2*s+1]*softplus(gap))
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
	for _, informed := range []bool{false, true} {
		l := target.scan(mcmc.Stream(1, 0, 0), 0.65, informed)
		for i := range knots {
			b := firstKnot + float64(i)*knotStep
			want := marginalOf(p, b) - marginalOf(p, 0)
			if got := l.f[i] - l.f[knots/2]; math.Abs(b) <= 2 && !(math.Abs(got-want) < 0.5) {
				t.Errorf("F(%g) − F(0) = %.2f, want %.2f", b, got, want)
			}
			if u := l.positions[i]; u[target.k] != b {
				t.Errorf("position %d has b = %g, want %g", i, u[target.k], b)
			}
			if (l.metrics[i] != nil) != informed {
				t.Errorf("the metric at knot %d is %v", i, l.metrics[i])
			}
		}
	}
}

func TestPeaks(t *testing.T) {
	for name, c := range map[string]struct {
		f    []float64
		want []int
	}{
		"one peak":       {[]float64{-9, -1, 0, -3, -9}, []int{2}},
		"shallow valley": {[]float64{-9, 0, -2, -1.7, -9}, []int{1}},
		"deep valley":    {[]float64{-9, 0, -7, -8, -2, -9}, []int{1, 4}},
		"three peaks":    {[]float64{-2, -20, 0, -30, -5, -40}, []int{0, 2, 4}},
		"negligible":     {[]float64{-2, -20, 0, -30, -9, -40}, []int{0, 2}},
	} {
		if got := peaks(c.f); !slices.Equal(got, c.want) {
			t.Errorf("%s: peaks at %v, want %v", name, got, c.want)
		}
	}
}

// TestPropose compares how often each knot is proposed with exp F.
func TestPropose(t *testing.T) {
	l := &ladder{f: make([]float64, knots)}
	for i := range l.f {
		l.f[i] = -math.Pow(math.Abs(float64(i-knots/2))-16, 2) / 20 // two peaks, and a valley between of depth 12.8
	}
	l.share = shares(l.f)
	from, rng, counts := knots/2+10, mcmc.Stream(1, 0, 0), make([]float64, knots)
	const draws = 100000
	for range draws {
		to, ratio, ok := l.propose(firstKnot+float64(from)*knotStep, rng)
		i := knot(to)
		counts[i]++
		if want := l.f[from] - l.f[i]; !ok || math.Abs(ratio-want) > 1e-12 {
			t.Fatalf("from knot %d to %d with a ratio of %.2f, want %.2f", from, i, ratio, want)
		}
	}
	for i, n := range counts {
		if want := draws * math.Exp(l.f[i]-floats.LogSumExp(l.f)); math.Abs(n-want) > 5*math.Sqrt(want)+1 {
			t.Errorf("knot %d was proposed %g times, want %.0f", i, n, want)
		}
	}
	for _, b := range []float64{-100, 100, math.NaN()} {
		if _, _, ok := l.propose(b, rng); ok {
			t.Errorf("proposes from b = %g", b)
		}
	}
}

// shareAbove returns the probability of b > at under exact marginals.
func shareAbove(p *irl.Problem, at float64) float64 {
	var above, all []float64
	for b := -6.; b < 6; b += 0.05 {
		all = append(all, marginalOf(p, b))
		if b > at {
			above = append(above, all[len(all)-1])
		}
	}
	return math.Exp(floats.LogSumExp(above) - floats.LogSumExp(all))
}

// TestCrossingsLeaveThePosteriorInvariant: draws of β made by crossings alone have the moments of quadrature, even
// where the scan found another marginal.
func TestCrossingsLeaveThePosteriorInvariant(t *testing.T) {
	p := stakes(t, 2, 1)
	s := prepared(t, Default(), p)
	l := s.chains[0].target.scan(mcmc.Stream(1, 0, 0), 0.65, true)
	floats.AddConst(1, l.f[30:])
	l.share = shares(l.f)
	var logs []float64
	crossed := 0
	for _, k := range s.chains {
		k.ladder = l
		for range 4000 {
			before := k.at.u[k.target.k]
			if k.cross(); k.at.u[k.target.k] != before {
				crossed++
			}
			logs = append(logs, k.at.u[k.target.k])
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
	if !(math.Abs(mean-wantMean) < 0.05*want && math.Abs(std/want-1) < 0.05) || crossed < len(logs)/4 {
		t.Errorf("b is %.3f ± %.3f, want %.3f ± %.3f; %d of %d crossings accepted", mean, std, wantMean, want, crossed,
			len(logs))
	}
}

// TestFindsBothRationalities: chains find the share of the posterior on either side of a valley in β, 12 nats deep in
// the larger problem.
func TestFindsBothRationalities(t *testing.T) {
	for seed, size := range [][2]int{{4, 2}, {10, 5}} {
		p := stakes(t, size[0], size[1])
		want := shareAbove(p, 0)
		c := Default()
		c.Seed = uint64(seed)
		post := fit(t, c, p)[0]
		ok, reason := post.Convergence()
		betas := slices.Sorted(slices.Values(post.Samples().Beta))
		share := 1 - stat.CDF(p.Beta, stat.Empirical, betas, nil)
		if !ok || !(math.Abs(share-want) < 0.05) { // four standard errors of 1000 independent draws
			t.Errorf("%v: %.3f of the draws are at a large β, want %.3f; converged: %v, %s", size, share, want, ok,
				reason)
		}
	}
}

// TestImprobableLargeBeta: a large β is too improbable for any sample, and is nearly all of the standard deviation of
// β. The other side of the choice is known to be better than any of two exits unless one of them is far out; then only
// a large β explains that the expert never errs.
func TestImprobableLargeBeta(t *testing.T) {
	to := func(s int) []mdp.Transition { return []mdp.Transition{{Next: s, Prob: 1}} }
	m, err := mdp.New(5, 2, [][]mdp.Transition{to(1), to(4), to(2), to(3), nil, nil, nil, nil, nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.DiagonalPrior([]float64{0, 0, 0, 0, 7.5}, []float64{0, 0, 1, 1.2, 0}),
		Discount: 0.9, Beta: 1, BetaLogStd: 1.5, Demos: make([]mdp.Step, 20)}
	post := fit(t, Default(), p)[0]
	if ok, reason := post.Convergence(); !ok || !strings.Contains(reason, "few large values") {
		t.Errorf("converged: %v, %s", ok, reason)
	}
	std := post.Beta().StdDev()
	if told := mcmc.BetaStd(post, std); !math.IsNaN(told) {
		t.Errorf("β has the standard deviation %g, and %.4f by quadrature", told, 0.1628)
	}
}
