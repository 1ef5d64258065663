package matched

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// TestWarpsAreUndone checks the inverse, and its slope against central differences.
func TestWarpsAreUndone(t *testing.T) {
	const h = 1e-6
	for _, w := range []Warp{identity, {1, 2, 0.7, 1}, {-3, 0.5, -1.2, 0.6}, {0, 1, 0.1, 1.9}} {
		for _, z := range []float64{-3, -0.4, 0, 1, 2.5} {
			u := w.Of(z)
			back, slope := w.undo(u)
			if !scalar.EqualWithinAbs(back, z, 1e-10*(1+math.Abs(z))) {
				t.Errorf("%+v: %g became %g and back %g", w, z, u, back)
			}
			up, _ := w.undo(u + h)
			down, _ := w.undo(u - h)
			if want := math.Log((up - down) / (2 * h)); !scalar.EqualWithinAbs(slope, want, 1e-6) {
				t.Errorf("%+v at %g: log slope %g, want %g", w, u, slope, want)
			}
		}
	}
}

// TestFittedWarpsFindTheirOwn draws from warped normals and compares quantiles of the fit with the truth.
func TestFittedWarpsFindTheirOwn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, w := range []Warp{{1, 2, 0, 1}, {-1, 3, 0.5, 1}, {0, 1, -0.4, 0.8}, {2, 1, 0.2, 1.5}} {
		samples := make([]float64, 20000)
		for i := range samples {
			samples[i] = w.Of(rng.NormFloat64())
		}
		got, err := fitWarp(samples)
		if err != nil {
			t.Fatal(err)
		}
		spread := w.Of(1) - w.Of(-1)
		for _, z := range []float64{-2, -1, 0, 1, 2} {
			// the standard error of a quantile at 2 deviations from 20,000 samples is about 0.02 deviations; the grid
			// of quantiles that stands for the normal makes heavy tails a little too heavy
			if gap := math.Abs(got.Of(z) - w.Of(z)); gap > 0.06*spread {
				t.Errorf("%+v was fitted as %+v: at z = %g it is %.3f off, %.3f of the spread", w, got, z, gap,
					gap/spread)
			}
		}
	}
	if _, err := fitWarp(make([]float64, 50)); err == nil {
		t.Error("fitted samples that do not vary")
	}
	two := make([]float64, 400) // two peaks, as far from normal as can be
	for i := range two {
		two[i] = float64(i % 2 * 100)
	}
	if w, err := fitWarp(two); err != nil || math.IsNaN(w.Scale) || !(w.Of(3) < 400) || !(w.Of(3) > 60) {
		t.Errorf("two peaks: %+v, error %v", w, err)
	}
}

// skewed returns a problem, and samples of skewed, correlated rewards and of β.
func skewed(t *testing.T, n int) (*irl.Problem, *mat.Dense, []float64) {
	t.Helper()
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}, {{Next: 0, Prob: 1}}, nil},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.8, Beta: 2, BetaLogStd: 0.5}
	rng := rand.New(rand.NewPCG(3, 4))
	rewards, betas := mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		rewards.Set(i, 0, Warp{1, 2, 0.6, 0.9}.Of(a))
		rewards.Set(i, 1, Warp{0, 1, -0.3, 1}.Of(0.8*a+0.6*b))
		betas[i] = math.Exp(0.5 + 0.3*rng.NormFloat64() - 0.2*a)
	}
	return p, rewards, betas
}

func TestWarpedPosteriorIsMatched(t *testing.T) {
	p, rewards, betas := skewed(t, 20000)
	w, err := NewWarped(t.Context(), p, rewards, betas, false, true)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := NewWarped(t.Context(), p, rewards, betas, true, false)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := w.Sample(rand.New(rand.NewPCG(5, 6)), 20000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		want, err := irl.NewEmpirical(mat.Col(nil, i, rewards))
		if err != nil {
			t.Fatal(err)
		}
		again, err := irl.NewEmpirical(mat.Col(nil, i, drawn.Reward))
		if err != nil {
			t.Fatal(err)
		}
		// quantiles of 20,000 samples: standard errors of 0.01 to 0.02 standard deviations, of heavy tails more
		for _, q := range []float64{0.05, 0.3, 0.5, 0.7, 0.95} {
			tolerance := 0.08 * want.StdDev()
			if got := w.Reward(i).Quantile(q); !scalar.EqualWithinAbs(got, want.Quantile(q), tolerance) ||
				!scalar.EqualWithinAbs(again.Quantile(q), got, tolerance) {
				t.Errorf("reward %d: quantile at %g is %.3f, that of draws %.3f, want %.3f", i, q, got,
					again.Quantile(q), want.Quantile(q))
			}
		}
		if g := plain.Reward(i); !scalar.EqualWithinAbs(g.Mean(), want.Mean(), 1e-9) ||
			!scalar.EqualWithinAbs(g.StdDev()/want.StdDev(), 1, 1e-9) {
			t.Errorf("reward %d of the plain Gaussian: mean %g, deviation %g, want %g and %g", i, g.Mean(), g.StdDev(),
				want.Mean(), want.StdDev())
		}
		if m := w.Reward(i); !scalar.EqualWithinAbs(m.Mean(), want.Mean(), 0.05*want.StdDev()) ||
			!scalar.EqualWithinAbs(m.StdDev()/want.StdDev(), 1, 0.1) {
			t.Errorf("reward %d: mean %g, deviation %g, want %g and %g", i, m.Mean(), m.StdDev(), want.Mean(),
				want.StdDev())
		}
	}
	if got, want := stat.Correlation(mat.Col(nil, 0, drawn.Reward), mat.Col(nil, 1, drawn.Reward), nil),
		stat.Correlation(mat.Col(nil, 0, rewards), mat.Col(nil, 1, rewards), nil); !scalar.EqualWithinAbs(got, want,
		0.03) {
		t.Errorf("correlation of rewards %.3f, want %.3f", got, want)
	}
	if got, want := w.Beta().Mean(), stat.Mean(betas, nil); !scalar.EqualWithinAbs(got/want, 1, 0.02) ||
		!scalar.EqualWithinAbs(stat.Mean(drawn.Beta, nil)/want, 1, 0.02) {
		t.Errorf("mean of β %g, of draws %g, want %g", got, stat.Mean(drawn.Beta, nil), want)
	}
	sol, err := p.MDP.Solve(drawn.Reward.RawRowView(7), p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	if !scalar.EqualWithinAbs(sol.Q[2], drawn.Q.At(7, 2), 1e-10) {
		t.Errorf("Q-value %g of a draw, want %g", drawn.Q.At(7, 2), sol.Q[2])
	}
	if v := stat.Mean(mat.Col(nil, 1, drawn.Values(2)), nil); !scalar.EqualWithinAbs(w.Value(1).Mean(), v,
		0.1*w.Value(1).StdDev()) {
		t.Errorf("mean value %g, of other draws %g", w.Value(1).Mean(), v)
	}
	same, err := w.Sample(rand.New(rand.NewPCG(matchedStream, 3)), matchedDraws)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range irl.ColumnMeans(same.Policies(2, p.Beta)) { // by the draws' own β
		if got := w.ActionProbs()[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("action probability %d is %g, that of its draws %g", i, got, want)
		}
	}
}

// TestWarpedDensity integrates the density of the rewards over β and one reward, which leaves the marginal of the
// other.
func TestWarpedDensity(t *testing.T) {
	p, rewards, betas := skewed(t, 2000)
	w, err := NewWarped(t.Context(), p, rewards, betas, false, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []float64{-2, 1, 6} {
		const steps, low, high = 120, -12.0, 12.0
		const logLow, logHigh = -1.5, 2.5
		grid := mat.NewDense(steps*steps, 3, nil)
		for i := range steps * steps {
			grid.SetRow(i, []float64{at, low + (high-low)*(float64(i%steps)+0.5)/steps,
				logLow + (logHigh-logLow)*(float64(i/steps)+0.5)/steps})
		}
		logs, err := w.RewardLogProbs(grid)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, l := range logs {
			sum += math.Exp(l) * (high - low) * (logHigh - logLow) / (steps * steps)
		}
		// the midpoint rule, and the tails beyond the grid
		if want := math.Exp(w.Reward(0).LogProb(at)); !scalar.EqualWithinAbs(sum/want, 1, 0.01) {
			t.Errorf("density of reward 0 at %g: %g integrated, %g in closed form", at, sum, want)
		}
	}
}

// load reads a stored posterior.
func load(path string) (*Warped, error) {
	p, err := problemfile.Load(path, map[string]irl.Restore{Kind: Restore})
	if err != nil {
		return nil, err
	}
	return p.(*Warped), nil
}

func TestWarpedPosteriorIsKept(t *testing.T) {
	p, rewards, betas := skewed(t, 500)
	w, err := NewWarped(t.Context(), p, rewards, betas, false, true)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "warped.npz")
	if err := problemfile.Save(path, w); err != nil {
		t.Fatal(err)
	}
	got, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := w.Reward(1).Quantile(0.8), got.Reward(1).Quantile(0.8); a == 0 || a != b || !got.Converged() ||
		got.ActionProbs()[1] != w.ActionProbs()[1] {
		t.Errorf("quantile %g became %g", a, b)
	}
	damaged := *w
	damaged.warps = slices.Clone(w.warps)
	damaged.warps[1].Scale = 0
	if err := problemfile.Save(path, &damaged); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil || !strings.Contains(err.Error(), "warps[1] = {") {
		t.Errorf("a warp without a scale: error %v", err)
	}
	known := *p
	known.BetaLogStd = 0
	for what, make := range map[string]func() (*Warped, error){
		"no β":      func() (*Warped, error) { return NewWarped(t.Context(), p, rewards, nil, false, true) },
		"a known β": func() (*Warped, error) { return NewWarped(t.Context(), &known, rewards, betas, false, true) },
		"too few": func() (*Warped, error) {
			return NewWarped(t.Context(), p, mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 7}), []float64{1, 2, 3}, false,
				true)
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), "samples to match") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewWarped(stopped, p, rewards, betas, false, true); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	twins := mat.NewDense(500, 2, nil) // rewards that determine each other
	for i := range 500 {
		twins.SetRow(i, []float64{rewards.At(i, 0), rewards.At(i, 0)})
	}
	for _, plain := range []bool{true, false} {
		same, err := NewWarped(t.Context(), p, twins, betas, plain, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Finite("action probability", same.ActionProbs()); err != nil {
			t.Error(err)
		}
		for s := range p.MDP.States() {
			if v := same.Value(s); math.IsNaN(v.Mean()) || !(v.StdDev() > 0) {
				t.Errorf("value %d: mean %g, deviation %g", s, v.Mean(), v.StdDev())
			}
		}
	}
	rewards.Set(3, 1, math.NaN())
	if _, err := NewWarped(t.Context(), p, rewards, betas, false, true); err == nil {
		t.Error("matched samples that are not numbers")
	}
}

func TestCloseReachesTheBase(t *testing.T) {
	for name, on := range map[string]func(base irl.Method) (irl.Method, error){
		"matched": func(base irl.Method) (irl.Method, error) { return New("m", base, WarpedRewards, Default()) },
		"refined": func(base irl.Method) (irl.Method, error) {
			return valuewalk.NewRefined("r", base, valuewalk.DefaultRefine())
		},
	} {
		base, err := tabular.New(tabular.AdamConfig())
		if err != nil {
			t.Fatal(err)
		}
		m, err := on(base)
		if err != nil {
			t.Fatal(err)
		}
		if err := irl.Close(m); err != nil {
			t.Fatal(err)
		}
		if _, err := base.Fit(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s: error %v after Close", name, err)
		}
	}
}
