package valuewalk

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/tabular"
)

// crude is an approximation to start from: a Gaussian over values.
type crude struct {
	irl.Posterior // none; only the problem is asked for
	problem       *irl.Problem
	mean          []float64
	factor        *mat.TriDense // lower triangular, of the covariance
}

// isotropic returns independent Gaussians of one standard deviation.
func isotropic(p *irl.Problem, std float64, mean ...float64) *crude {
	n := p.RewardDim()
	c := &crude{problem: p, mean: make([]float64, n), factor: mat.NewTriDense(n, mat.Lower, nil)}
	copy(c.mean, mean)
	for i := range n {
		c.factor.SetTri(i, i, std)
	}
	return c
}

// spoilt returns the Gaussian with the moments of a sampled posterior, but its means moved by shift standard
// deviations, and the standard deviations multiplied by spread.
func spoilt(p *Posterior, shift, spread float64) *crude {
	c := isotropic(p.Problem(), 1)
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, p.Values(), nil)
	var chol mat.Cholesky
	if !chol.Factorize(&cov) {
		panic("the covariance of the samples is singular")
	}
	chol.LTo(c.factor)
	c.factor.ScaleTri(spread, c.factor)
	for j := range c.mean {
		c.mean[j] = stat.Mean(mat.Col(nil, j, p.Values()), nil) + shift*math.Sqrt(cov.At(j, j))
	}
	return c
}

func (c *crude) Problem() *irl.Problem { return c.problem }

func (c *crude) SampleValues(rng *rand.Rand, n int) (*mat.Dense, error) {
	x, noise := mat.NewDense(n, len(c.mean), nil), mat.NewVecDense(len(c.mean), nil)
	for i := range n {
		for j := range c.mean {
			noise.SetVec(j, rng.NormFloat64())
		}
		row := mat.NewVecDense(len(c.mean), x.RawRowView(i))
		row.MulVec(c.factor, noise)
		floats.Add(x.RawRowView(i), c.mean)
	}
	return x, nil
}

func refine(t testing.TB, c RefineConfig, starts ...Approximation) []*Refined {
	t.Helper()
	posts := make([]irl.Posterior, len(starts))
	for i, s := range starts {
		posts[i] = s
	}
	posts, err := Refine(context.Background(), c, posts, nil)
	if err != nil {
		t.Fatal(err)
	}
	refined := make([]*Refined, len(posts))
	for i, p := range posts {
		refined[i] = p.(*Refined)
	}
	return refined
}

// TestLongRefinementIsExact refines a poor approximation for long and compares the moments with quadrature.
func TestLongRefinementIsExact(t *testing.T) {
	for _, test := range tractables(t) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := test.problem
			exact := quadrature(t, p, test.grid)
			start := isotropic(p, 1, 3, 3)
			c := DefaultRefine()
			c.Transitions, c.Kept, c.Samples = 40, 20, 10000
			refined := refine(t, c, start)[0]
			for i := range p.Prior.Mean {
				mean := exact.expect(exact.reward, i, func(x float64) float64 { return x })
				for _, m := range moments(mean) {
					want := exact.expect(exact.reward, i, m.f)
					// walkers are independent of each other: the spread of their means gives the error
					var means []float64
					for _, chain := range refined.RewardChains(i) {
						sum := 0.0
						for _, x := range chain {
							sum += m.f(x) / float64(len(chain))
						}
						means = append(means, sum)
					}
					got, std := stat.MeanStdDev(means, nil)
					stderr := std / math.Sqrt(float64(len(means)))
					// 4 standard errors, and 1e-4 for the grid's discretisation
					if !scalar.EqualWithinAbs(got, want, 4*stderr+1e-4*(1+math.Abs(want))) || !(stderr < 0.1) {
						t.Errorf("reward %d: %s = %.4f ± %.4f, want %.4f", i, m.name, got, stderr, want)
					}
				}
			}
			d := refined.Diagnostics()
			if !(d.Drift > 3*d.Noise) || !(d.Settling < 3*d.Noise) || !(d.PolicyDrift > 0.01) || d.Stuck > 0 {
				t.Errorf("diagnostics of a long walk from far away: %+v", d)
			}
		})
	}
}

var small struct {
	once  sync.Once
	exact *Posterior
}

// exactSmall returns the posterior of a small world, sampled once for the tests that compare with it.
func exactSmall(t testing.TB) *Posterior {
	t.Helper()
	small.once.Do(func() {
		_, problem := smallWorld(t, 70)
		small.exact = fit(t, precise(21), problem)[0]
	})
	if small.exact == nil {
		t.Fatal("the posterior of the small world could not be sampled")
	}
	return small.exact
}

// TestRefinementApproachesTheExactPosterior checks that the distance to ValueWalk falls with the number of transitions.
func TestRefinementApproachesTheExactPosterior(t *testing.T) {
	exact := exactSmall(t)
	start := spoilt(exact, 0.7, 0.8)
	c := DefaultRefine()
	c.Kept, c.Samples = 1, 5000
	var at []float64
	for _, k := range []int{0, 1, 2, 4, 10} {
		c.Transitions = k
		at = append(at, distance(refine(t, c, start)[0].Rewards(), everyFourth(exact.Rewards())))
	}
	// two independent sets of 5000 samples are √(2/5000)·0.95 = 0.019 apart on average
	for i := 1; i < len(at); i++ {
		if !(at[i] < at[i-1]+0.01) {
			t.Errorf("distances %.3f after 0, 1, 2, 4 and 10 transitions: want them to fall", at)
		}
	}
	if !(at[0] > 0.3 && at[1] < 0.8*at[0] && at[4] < 0.035) {
		t.Errorf("distances %.3f after 0, 1, 2, 4 and 10 transitions: want a fall from above 0.3 to the Monte Carlo "+
			"error of 0.02", at)
	}
}

func everyFourth(x *mat.Dense) *mat.Dense {
	rows, n := x.Dims()
	out := mat.NewDense(rows/4, n, nil)
	for i := range rows / 4 {
		out.SetRow(i, x.RawRowView(4*i))
	}
	return out
}

// TestNoTransitionsGiveTheDraws checks that the samples without a transition are draws of the approximation, with the
// rewards whose optimal values they are.
func TestNoTransitionsGiveTheDraws(t *testing.T) {
	const n = compared + 50 // more than the diagnostics compare
	for name, p := range withUnknownBeta(t) {
		start := isotropic(p, 2, 0, 1, 2)
		c := DefaultRefine()
		c.Transitions, c.Kept, c.Samples, c.Seed = 0, 1, n, 3
		refined := refine(t, c, start)[0]
		hash := mcmc.Fingerprint(p)
		want, _ := start.SampleValues(mcmc.Stream(3, hash, streamDraws), n+pilots)
		want = mat.DenseCopyOf(want.Slice(0, n, 0, p.RewardDim()))
		if !mat.Equal(refined.Values(), want) {
			t.Errorf("%s: the values are not those that were drawn", name)
		}
		for i := range n {
			sol, err := p.MDP.Solve(refined.Rewards().RawRowView(i), p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			x := sol.V
			if !p.StateOnly() {
				x = sol.Q
			}
			if !floats.EqualApprox(x, want.RawRowView(i), 1e-8) {
				t.Fatalf("%s: sample %d has the reward of the values %v, want %v", name, i, x, want.RawRowView(i))
			}
		}
		if d := refined.Diagnostics(); d.Drift != 0 || d.PolicyDrift > 1e-12 || d.Stuck != 1 || d.Acceptance != 0 ||
			d.StepSize != 0 || !(d.Noise > 0) {
			t.Errorf("%s: diagnostics %+v of no transition", name, d)
		}
	}
}

func TestRefinementIsDeterminedBySeedAndProblem(t *testing.T) {
	var starts []Approximation
	for i := range uint64(3) {
		_, p := smallWorld(t, 80+i)
		starts = append(starts, isotropic(p, 3))
	}
	c := DefaultRefine()
	c.Samples, c.Seed = 200, 9
	batch := refine(t, c, starts...)
	previous := runtime.GOMAXPROCS(1)
	alone := refine(t, c, starts[2])[0]
	runtime.GOMAXPROCS(previous)
	if !mat.Equal(batch[2].Rewards(), alone.Rewards()) || batch[2].Diagnostics().Drift != alone.Diagnostics().Drift {
		t.Error("a problem's samples depend on its batch or on GOMAXPROCS")
	}
	if batch[1].Problem() != starts[1].Problem() || mat.Equal(batch[0].Rewards(), batch[1].Rewards()) {
		t.Error("the samples of the problems are mixed up")
	}
	// the same problem twice, from different starts
	if pair := refine(t, c, starts[2], isotropic(starts[2].Problem(), 3, 5)); !mat.Equal(pair[0].Rewards(),
		alone.Rewards()) || mat.Equal(pair[1].Rewards(), alone.Rewards()) {
		t.Error("two approximations of one problem are mixed up")
	}
	c.Seed++
	if mat.Equal(refine(t, c, starts[2])[0].Rewards(), alone.Rewards()) {
		t.Error("two seeds give the same samples")
	}
}

// TestRefinedMethod fits and refines QVIRL's posterior as one method.
func TestRefinedMethod(t *testing.T) {
	_, problem := smallWorld(t, 90)
	config := tabular.Default()
	config.Backend, config.Steps, config.Rounds = "go", 200, 1
	base, err := tabular.New(config)
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultRefine()
	c.Samples = 1000
	m, err := NewRefined("qvirl-refined", base, c)
	if err != nil || m.Name() != "qvirl-refined" {
		t.Fatalf("method %v, error %v", m, err)
	}
	share := 0.0
	posts, err := m.Fit(context.Background(), []*irl.Problem{problem}, func(done, total int, status string) {
		if now := float64(done) / float64(total); now < share || status == "" {
			t.Errorf("progress fell from %g to %g: %q", share, now, status)
		} else {
			share = now
		}
	})
	if err != nil || share != 1 {
		t.Fatalf("error %v, progress %g", err, share)
	}
	p := posts[0].(*Refined)
	var _ irl.ValuePosterior = p
	d := p.Diagnostics()
	if p.Len() != 1000 || p.Chains() != 1000/c.Kept || !(d.Acceptance > 0.3 && d.StepSize > 0 && d.Seconds > 0) ||
		d.Divergences > 0 {
		t.Errorf("%d samples of %d walkers, diagnostics %+v", p.Len(), p.Chains(), d)
	}
	// the leapfrog steps and a start for each walker, and what the pilots took
	walk := d.LeapfrogSteps*float64(p.Chains()*(c.Transitions+c.Kept-1)) + float64(p.Chains())
	if rest := float64(d.Evaluations) - walk; rest < pilots*pilotSteps || rest > pilots*pilotSteps*maxRefining {
		t.Errorf("%d evaluations, of which %g in %d walkers", d.Evaluations, walk, p.Chains())
	}
	walked, err := NewRefined("walked", must(New(brief())), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := walked.Fit(context.Background(), []*irl.Problem{problem}, nil); err == nil ||
		!strings.Contains(err.Error(), "cannot be refined") {
		t.Errorf("refining ValueWalk: error %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// broken is an approximation whose draws are not numbers, or of the wrong length.
type broken struct {
	*crude
	draw func(n int) (*mat.Dense, error)
}

func (b broken) SampleValues(_ *rand.Rand, n int) (*mat.Dense, error) { return b.draw(n) }

func TestBadRefinements(t *testing.T) {
	for want, change := range map[string]func(*RefineConfig){
		"Transitions = -1": func(c *RefineConfig) { c.Transitions = -1 },
		"Kept = 0":         func(c *RefineConfig) { c.Kept = 0 },
		"Samples = 101":    func(c *RefineConfig) { c.Samples, c.Kept = 101, 10 },
		"Samples = 10,":    func(c *RefineConfig) { c.Samples, c.Kept = 10, 10 },
		"TargetAccept = 0": func(c *RefineConfig) { c.TargetAccept = 0 },
		"Trajectory = NaN": func(c *RefineConfig) { c.Trajectory = math.NaN() },
	} {
		c := DefaultRefine()
		change(&c)
		if _, err := NewRefined("x", nil, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if _, err := Refine(context.Background(), c, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Refine: error %v, want one with %q", err, want)
		}
	}
	_, p := smallWorld(t, 91)
	good := isotropic(p, 1)
	bad := *p
	bad.Demos = []mdp.Step{{State: 9}}
	c := DefaultRefine()
	c.Samples = 200
	for want, starts := range map[string][]irl.Posterior{
		"no problems": {},
		"problem 1":   {good, nil},
		"state 9":     {&crude{problem: &bad}},
		"draw 0": {broken{good, func(n int) (*mat.Dense, error) {
			return mat.NewDense(n, 9,
				repeat(math.NaN(), 9*n)), nil
		}}},
		"want [":   {broken{good, func(n int) (*mat.Dense, error) { return mat.NewDense(n, 8, nil), nil }}},
		"no draws": {broken{good, func(int) (*mat.Dense, error) { return nil, errors.New("no draws") }}},
	} {
		if _, err := Refine(context.Background(), c, starts, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Refine(ctx, c, []irl.Posterior{good}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func repeat(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}
