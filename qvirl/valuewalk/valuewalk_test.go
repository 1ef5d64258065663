package valuewalk

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// brief is a configuration that samples little: for tests of anything but the samples' distribution.
func brief() Config {
	c := Default()
	c.Samples, c.Warmup, c.MaxIterations, c.Seed = 200, 100, 100, 42
	return c
}

// TestConverges checks the promise of the default configuration on a world of the paper, and that the determinant
// matters there.
func TestConverges(t *testing.T) {
	problem := paperProblem(t, 1005)
	exact := fit(t, Default(), problem)[0]
	config := Default()
	config.NoDeterminant = true
	without := fit(t, config, problem)[0]
	for _, p := range []*Posterior{exact, without} {
		d := p.Diagnostics()
		if err := d.Clean(); err != nil {
			t.Errorf("%s: %v", p.Method(), err)
		}
		r, e := d.Value.Worst()
		if d.Value.RHat[r] > 1.01 || d.Value.BulkESS[e] < 1000 || p.Len() != 5000 {
			t.Errorf("%s: R̂ %g, bulk ESS %g of %d samples", p.Method(), d.Value.RHat[r], d.Value.BulkESS[e], p.Len())
		}
		if d.Divergences > 0 || !(d.Acceptance > 0.3 && d.Acceptance < 0.95) || d.LeapfrogSteps < 2 ||
			!(d.Seconds > 0) {
			t.Errorf("%s: suspicious diagnostics %+v", p.Method(), d)
		}
	}
	difference := 0.0
	for s := 0; s < 64; s++ {
		difference += math.Abs(exact.Reward(s).Mean()-without.Reward(s).Mean()) / 64
	}
	if difference < 0.1 { // Monte Carlo error alone would give about 3/√1000 = 0.1 at worst, 0.05 on average
		t.Errorf("with and without the determinant, rewards differ by %g on average", difference)
	}
}

func TestSamplesAreDeterminedBySeedAndProblem(t *testing.T) {
	problems := make([]*irl.Problem, 3)
	for i := range problems {
		_, problems[i] = smallWorld(t, 50+uint64(i))
	}
	batch := fit(t, brief(), problems...)
	previous := runtime.GOMAXPROCS(1)
	alone := fit(t, brief(), problems[2])[0]
	runtime.GOMAXPROCS(previous)
	if !mat.Equal(batch[2].Rewards(), alone.Rewards()) || !mat.Equal(batch[2].Values(), alone.Values()) {
		t.Error("a problem's samples depend on its batch or on GOMAXPROCS")
	}
	if mat.Equal(batch[0].Rewards(), batch[1].Rewards()) {
		t.Error("two problems have the same samples")
	}
	config := brief()
	config.Seed++
	if other := fit(t, config, problems[2])[0]; mat.Equal(other.Rewards(), alone.Rewards()) {
		t.Error("two seeds give the same samples")
	}
	for _, p := range batch {
		if p.Problem() != problems[0] && p.Problem() != problems[1] && p.Problem() != problems[2] {
			t.Error("a posterior has lost its problem")
		}
	}
}

// TestSamplesSolveTheMDP checks that the Q-values and values of samples are optimal for their rewards.
func TestSamplesSolveTheMDP(t *testing.T) {
	for name, p := range smallProblems(t) {
		posterior := fit(t, brief(), p)[0]
		samples := posterior.Samples()
		values := samples.Values(p.MDP.Actions())
		for i := 0; i < posterior.Len(); i += 10 {
			sol, err := p.MDP.Solve(samples.Reward.RawRowView(i), p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			for j, q := range sol.Q {
				if got := samples.Q.At(i, j); !scalar.EqualWithinAbs(got, q, 1e-9*(1+math.Abs(q))) {
					t.Fatalf("%s: sample %d: Q[%d] = %g, want %g", name, i, j, got, q)
				}
			}
		}
		for s := 0; s < p.MDP.States(); s++ {
			want, err := irl.NewEmpirical(mat.Col(nil, s, values))
			if err != nil {
				t.Fatal(err)
			}
			if got := posterior.Value(s); !scalar.EqualWithinAbs(got.Mean(), want.Mean(), 1e-9) ||
				!scalar.EqualWithinAbs(got.StdDev(), want.StdDev(), 1e-9) {
				t.Errorf("%s: V(%d) = %g ± %g, want %g ± %g", name, s, got.Mean(), got.StdDev(), want.Mean(),
					want.StdDev())
			}
		}
	}
}

// TestTransitions keeps every position, so that what is known of the samples' transitions adds up to what the walk says
// of all.
func TestTransitions(t *testing.T) {
	_, problem := smallWorld(t, 50)
	c := brief()
	c.MaxIterations = c.Samples / c.Chains
	p := fit(t, c, problem)[0]
	accepted, divergent := 0.0, 0
	for _, by := range p.Transitions() {
		accepted += by.Acceptance / float64(p.Len())
		if by.Divergent {
			divergent++
		}
	}
	if d := p.Diagnostics(); !scalar.EqualWithinAbs(accepted, d.Acceptance, 1e-12) || divergent != d.Divergences {
		t.Errorf("the mean acceptance is %g, %d diverged; the walk says %+v", accepted, divergent, d)
	}
	target := must(newTarget(problem))
	k := newWalker(target, rand.New(rand.NewPCG(1, 0)), 3, true)
	k.MoveTo(p.Values().RawRowView(0))
	k.AddCurvature()
	if err := UseCurvature([]*Walker{k}); err != nil {
		t.Fatal(err)
	}
	for step, want := range map[float64]bool{1e-3: false, 1e3: true} { // of the posterior's standard deviations
		k.StepSize = step
		if k.Step(); k.Last.Divergent != want || (k.Last.Acceptance > 0.5) == want {
			t.Errorf("with steps of %g, %+v", step, k.Last)
		}
	}
	made := k.Leapfrogs
	k.StepSize = 1e-30 // of which no int has the number that a trajectory wants
	if k.Step(); k.Leapfrogs-made != maxLeapfrog {
		t.Errorf("with steps of 1e-30, a trajectory of %d, want %d", k.Leapfrogs-made, maxLeapfrog)
	}
}

func TestFitStopsWhenCancelled(t *testing.T) {
	_, problem := smallWorld(t, 60)
	config := Default()
	config.MinESS, config.MaxIterations = math.MaxFloat64, math.MaxInt32 // would run for days
	method, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	posteriors, err := method.Fit(ctx, []*irl.Problem{problem, problem, problem}, func(int, int, string) { cancel() })
	if !errors.Is(err, context.Canceled) || posteriors != nil {
		t.Errorf("error %v, posteriors %v", err, posteriors)
	}
}

func TestFitReportsProgress(t *testing.T) {
	_, a := smallWorld(t, 61)
	_, b := smallWorld(t, 62)
	method, err := New(brief())
	if err != nil {
		t.Fatal(err)
	}
	last, steps := 0.0, 0
	_, err = method.Fit(context.Background(), []*irl.Problem{a, b}, func(done, total int, status string) {
		now := float64(done) / float64(total)
		if now < last || status == "" {
			t.Errorf("reported %g, %q after %g", now, status, last)
		}
		if now > last {
			steps++
		}
		last = now
	})
	if err != nil || last != 1 || steps < 10 {
		t.Errorf("the last of %d reports was %g, error %v", steps, last, err)
	}
}

func TestBadInput(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"Chains = 0":          func(c *Config) { c.Chains = 0 },
		"Samples = 5001":      func(c *Config) { c.Samples = 5001 },
		"Samples = 4":         func(c *Config) { c.Samples = 4 },
		"Warmup = 3":          func(c *Config) { c.Warmup = 3 },
		"MinESS = NaN":        func(c *Config) { c.MinESS = math.NaN() },
		"MaxRHat = 1":         func(c *Config) { c.MaxRHat = 1 },
		"MaxIterations = 100": func(c *Config) { c.MaxIterations = 100 },
		"TargetAccept = 1":    func(c *Config) { c.TargetAccept = 1 },
		"Trajectory = NaN":    func(c *Config) { c.Trajectory = math.NaN() },
	} {
		c := Default()
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	method, err := New(brief())
	if err != nil {
		t.Fatal(err)
	}
	_, good := smallWorld(t, 63)
	bad := *good
	bad.Demos = []mdp.Step{{State: 9, Action: 0}}
	for want, problems := range map[string][]*irl.Problem{
		"no problems": nil,
		"problem 1":   {good, &bad},
		"state 9":     {&bad},
	} {
		if _, err := method.Fit(context.Background(), problems, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	singular := *good
	singular.Prior = irl.Prior{Mean: good.Prior.Mean, LowRank: mat.NewDense(9, 1, slices.Repeat([]float64{1}, 9))}
	if _, err := method.Fit(context.Background(), []*irl.Problem{&singular}, nil); !errors.Is(err,
		irl.ErrSingularPrior) {
		t.Errorf("a singular prior: error %v", err)
	}
}

// TestDiagnosticsNameTheWorst checks the verdict on a run that is far too short.
func TestDiagnosticsNameTheWorst(t *testing.T) {
	_, problem := smallWorld(t, 64)
	config := brief()
	config.Samples, config.MaxIterations, config.Warmup = 40, 10, minWarmup
	d := fit(t, config, problem)[0].Diagnostics()
	if err := d.Clean(); err == nil || !strings.Contains(err.Error(), "after 10 iterations") {
		t.Errorf("verdict %v on 10 iterations", err)
	}
}

func TestNames(t *testing.T) {
	_, problem := smallWorld(t, 65)
	for _, test := range []struct {
		noDeterminant bool
		want          string
	}{{false, "valuewalk"}, {true, "valuewalk-nodet"}} {
		c := brief()
		c.NoDeterminant = test.noDeterminant
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{test.want, test.want},
			[]string{m.Name(), fit(t, c, problem)[0].Method()}); diff != "" {
			t.Error(diff)
		}
	}
}
