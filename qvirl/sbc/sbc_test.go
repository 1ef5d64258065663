package sbc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// corridor is a problem of three states, the last of which ends the episode, with 12 demonstrations.
func corridor(t *testing.T) *irl.Problem {
	t.Helper()
	m, err := mdp.New(3, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 1}}, {{Next: 0, Prob: .1}, {Next: 1, Prob: .9}},
		{{Next: 0, Prob: .9}, {Next: 1, Prob: .1}}, {{Next: 1, Prob: .1}, {Next: 2, Prob: .9}},
		nil, nil,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, -1, 2), Discount: .8, Beta: 1}
	for i := range 12 {
		p.Demos = append(p.Demos, mdp.Step{State: i % 2, Action: 1})
	}
	return p
}

// importance resamples draws of the prior by their likelihood, which is exact for many: the largest weight is small
// where the demonstrations are few. β is drawn from its prior too.
func importance(_ context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
	const n, kept = 3000, 200
	rng := rand.New(rand.NewPCG(seed, 7))
	factor, err := p.Prior.Factor()
	if err != nil {
		return nil, err
	}
	rewards := mat.NewDense(n, p.RewardDim(), nil)
	for i := range n {
		rewards.SetRow(i, p.Prior.Draw(rng, factor))
	}
	all, err := p.SolveSamples(rewards)
	if err != nil {
		return nil, err
	}
	weights, beta := make([]float64, n), make([]float64, n)
	expert, counts := *p, p.DemoCounts()
	for i := range n {
		expert.Beta = p.Beta * math.Exp(p.BetaLogStd*rng.NormFloat64())
		beta[i], weights[i] = expert.Beta, expert.LogLikelihood(all.Q.RawRowView(i), counts)
	}
	top := floats.Max(weights)
	for i, w := range weights {
		weights[i] = math.Exp(w - top)
	}
	choice := distuv.NewCategorical(weights, rng)
	out := &irl.Samples{Reward: mat.NewDense(kept, p.RewardDim(), nil),
		Q: mat.NewDense(kept, p.MDP.States()*p.MDP.Actions(), nil)}
	for i := range kept {
		j := int(choice.Rand())
		out.Reward.SetRow(i, all.Reward.RawRowView(j))
		out.Q.SetRow(i, all.Q.RawRowView(j))
		if p.InfersBeta() {
			out.Beta = append(out.Beta, beta[j])
		}
	}
	return out, nil
}

// changed returns the draws of importance after a change of each reward: mean + scale·(reward − mean) + shift, with
// the mean of the draws.
func changed(scale, shift float64) Method {
	return func(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
		s, err := importance(ctx, p, seed)
		if err != nil {
			return nil, err
		}
		mean := irl.ColumnMeans(s.Reward)
		s.Reward.Apply(func(_, j int, x float64) float64 { return mean[j] + scale*(x-mean[j]) + shift }, s.Reward)
		return p.SolveSamples(s.Reward)
	}
}

// prior returns draws of the prior, whatever was demonstrated.
func prior(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
	blind := *p
	blind.Demos = nil
	return importance(ctx, &blind, seed)
}

// The exact posterior passes at all but few of 16 seeds, since a false alarm has probability 0.01: three or more in 16
// have 0.0005. What is 30 % too narrow or too wide, or shifted by 0.6 of the prior's standard deviation, fails; so
// does the prior.
func TestExactPassesAndOthersFail(t *testing.T) {
	p := corridor(t)
	alarms := 0
	for seed := range uint64(16) {
		r, err := Check(t.Context(), p, importance, Options{Problems: 100, Seed: seed}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK {
			alarms++
		}
	}
	if alarms > 2 {
		t.Errorf("%d false alarms in 16 checks", alarms)
	}
	for name, method := range map[string]Method{
		"too narrow": changed(.7, 0), "too wide": changed(1.4, 0), "too high": changed(1, 1.2),
		"too low": changed(1, -1.2), "prior": prior,
	} {
		for seed := range uint64(3) {
			r, err := Check(t.Context(), p, method, Options{Problems: 100, Seed: seed}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.OK || !strings.Contains(r.String(), "NOT calibrated") {
				t.Errorf("%s, seed %d: %v", name, seed, r)
			}
			if name == "prior" && !strings.Contains(r.WorstQuantity, "log-likelihood") {
				t.Errorf("the prior, seed %d: %v", seed, r)
			}
		}
	}
}

// The reason says in which direction the posterior is off, for each quantity apart and for all together.
func TestReasons(t *testing.T) {
	const problems = 60
	for want, truth := range map[string]func(rng *rand.Rand) float64{ // among standard normal draws
		"too narrow there": func(rng *rand.Rand) float64 { return 2 * rng.NormFloat64() },
		"too wide there":   func(rng *rand.Rand) float64 { return rng.NormFloat64() / 2 },
		"too high there":   func(rng *rand.Rand) float64 { return rng.NormFloat64() - 1 },
		"too low there":    func(rng *rand.Rand) float64 { return rng.NormFloat64() + 1 },
		"another shape there": func(rng *rand.Rand) float64 { // of the right mean and variance, but never far from ±1
			return math.Copysign(1, rng.NormFloat64()) + .01*rng.NormFloat64()
		},
		"may be chance": func(rng *rand.Rand) float64 { return rng.NormFloat64() },
	} {
		rng := rand.New(rand.NewPCG(2, 2))
		for _, wrong := range []int{1, 4} { // quantities whose truth is not like the draws
			q := &quantities{names: []string{"a", "b", "c", "d"}, groups: []group{{"all", 0, 4}}}
			ranks := make([][]uint8, problems)
			for i := range ranks {
				ranks[i] = make([]uint8, 4*(1+Draws))
				for k := range 4 {
					x := make([]float64, 1+Draws)
					for j := range x {
						x[j] = rng.NormFloat64()
					}
					if k < wrong {
						x[0] = truth(rng)
					}
					for j, r := range rank(x, rng) {
						ranks[i][4*j+k] = r
					}
				}
			}
			r := test(q, ranks, rng)
			if !strings.HasSuffix(r.Reason, want) || r.OK != strings.HasPrefix(want, "may") || !r.OK && wrong == 1 &&
				r.WorstQuantity != "a" {
				t.Errorf("%d quantities, %q: %+v", wrong, want, r)
			}
		}
	}
}

// β is ranked with the rest: its exact posterior passes, its prior does not where the demonstrations tell of it.
func TestUnknownBeta(t *testing.T) {
	p := corridor(t)
	p.BetaLogStd = 1
	p.Prior = irl.IndependentPrior(3, 0, 1)
	p.Prior.Mean[2] = 4
	for range 3 {
		p.Demos = append(p.Demos, p.Demos...)
	}
	r, err := Check(t.Context(), p, importance, Options{Problems: 60, Seed: 1}, nil)
	if err != nil || !r.OK {
		t.Errorf("the exact posterior: %v, error %v", r, err)
	}
	narrow := func(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
		s, err := importance(ctx, p, seed)
		if err == nil {
			for i := range s.Beta {
				s.Beta[i] = p.Beta * math.Sqrt(s.Beta[i]/p.Beta)
			}
		}
		return s, err
	}
	if r, err = Check(t.Context(), p, narrow, Options{Problems: 60, Seed: 1}, nil); err != nil || r.OK {
		t.Errorf("a wrong β: %v, error %v", r, err)
	}
}

// Singular priors, known rewards, state-action rewards and problems without demonstrations are problems too.
func TestKindsOfProblems(t *testing.T) {
	for name, change := range map[string]func(*irl.Problem){
		"singular": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.LowRank = nil,
				mat.NewDense(3, 1, []float64{1, 2, 0})
		},
		"state-action": func(p *irl.Problem) { p.Prior = irl.IndependentPrior(6, 1, 1) },
		"no demos":     func(p *irl.Problem) { p.Demos = nil },
		"no demos, β":  func(p *irl.Problem) { p.Demos, p.BetaLogStd = nil, 1 },
		"scales":       func(p *irl.Problem) { p.Prior.Std = []float64{1e-6, 1, 1e3} },
		"offset":       func(p *irl.Problem) { p.Prior = irl.IndependentPrior(3, 1e6, 1) },
	} {
		p := corridor(t)
		change(p)
		r, err := Check(t.Context(), p, importance, Options{Problems: 50, Seed: 3}, nil)
		if err != nil || r.PValue < 0.005 { // at a fixed seed; the least that there is is 0.001
			t.Errorf("%s: %v, error %v", name, r, err)
		}
	}
}

func TestDeterminedBySeed(t *testing.T) {
	p := corridor(t)
	var reports []*Report
	var told atomic.Int64
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, o := range []struct {
		seed    uint64
		workers int
	}{{5, 1}, {5, 4}, {6, 4}} {
		runtime.GOMAXPROCS(o.workers)
		r, err := Check(t.Context(), p, importance, Options{Problems: 30, Seed: o.seed},
			func(done, total int, _ string) {
				if told.Add(1); done < 1 || done > total || total != 30 {
					t.Errorf("%d of %d done", done, total)
				}
			})
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	if diff := cmp.Diff(reports[0], reports[1]); diff != "" {
		t.Errorf("one worker and four (-one +four):\n%s", diff)
	}
	if cmp.Equal(reports[0], reports[2]) {
		t.Error("two seeds have the same report")
	}
	if told.Load() != 90 {
		t.Errorf("progress was told %d times, want 90", told.Load())
	}
}

// The last quantities of a draw are the log-likelihood at its own β, and that.
func TestQuantitiesOfUnknownBeta(t *testing.T) {
	p := corridor(t)
	p.BetaLogStd = 1
	samples, err := p.SolveSamples(mat.NewDense(2, 3, []float64{0, 1, 2, 1, 0, 3}))
	if err != nil {
		t.Fatal(err)
	}
	samples.Beta = []float64{0.5, 3}
	q := newQuantities(p, stream(1, 0))
	got := make([]float64, len(q.names))
	for i, beta := range samples.Beta {
		q.of(p, p.DemoCounts(), samples, i, got)
		policy, want := mdp.Boltzmann(nil, samples.Q.RawRowView(i), p.MDP.Actions(), beta), 0.0
		for _, d := range p.Demos {
			want += math.Log(policy[d.State*p.MDP.Actions()+d.Action])
		}
		if last := got[len(got)-2:]; math.Abs(last[0]-want) > 1e-12 || last[1] != beta {
			t.Errorf("draw %d: log-likelihood %g and β = %g, want %g and %g", i, last[0], last[1], want, beta)
		}
	}
}

// The expert decides in the demonstrated states, as the Boltzmann policy of the drawn reward says.
func TestDemonstrations(t *testing.T) {
	p := corridor(t)
	p.Prior, p.Beta = irl.IndependentPrior(3, 0, 1e-9), 2
	p.Prior.Mean = []float64{0, 0, 1}
	p.Demos = nil
	for range 500 {
		p.Demos = append(p.Demos, mdp.Step{State: 1, Action: 0})
	}
	sol, err := p.MDP.Solve(p.Prior.Mean, p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	want := 1 / (1 + math.Exp(2*(sol.Q[2]-sol.Q[3]))) // P(action 1 in state 1)
	var right, all atomic.Int64
	var seeds sync.Map
	_, err = Check(t.Context(), p, func(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
		if _, used := seeds.LoadOrStore(seed, true); used {
			t.Errorf("two problems are solved with the seed %d", seed)
		}
		for _, d := range p.Demos {
			if d.State != 1 {
				t.Errorf("a decision in state %d", d.State)
			}
			right.Add(int64(d.Action))
		}
		all.Add(int64(len(p.Demos)))
		return prior(ctx, p, seed)
	}, Options{Problems: 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(all.Load())
	if got := float64(right.Load()) / n; n != 10_000 || math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
		t.Errorf("action 1 in %.4f of %.0f decisions, want %.4f", got, n, want)
	}
}

func TestBadMethods(t *testing.T) {
	p := corridor(t)
	dull := errors.New("dull")
	draws := func(n, rewards int, fill float64) Method {
		return func(context.Context, *irl.Problem, uint64) (*irl.Samples, error) {
			s := &irl.Samples{Reward: mat.NewDense(n, rewards, nil), Q: mat.NewDense(n, 6, nil)}
			s.Q.Set(5, 5, fill)
			return s, nil
		}
	}
	for want, m := range map[string]Method{
		"simulated problem": func(context.Context, *irl.Problem, uint64) (*irl.Samples, error) {
			return nil,
				dull
		},
		"no draws": func(context.Context, *irl.Problem, uint64) (*irl.Samples, error) {
			return nil,
				nil
		},
		"rewards [98,3]":           draws(98, 3, 0),
		"rewards [99,4]":           draws(99, 4, 0),
		"Q-values that are not fi": draws(99, 3, math.NaN()),
	} {
		if _, err := Check(t.Context(), p, m, Options{Problems: 20}, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if r, err := Check(t.Context(), p, draws(99, 3, 0), Options{Problems: 20}, nil); err != nil || r.OK {
		t.Errorf("draws of zeros: %v, error %v", r, err)
	}
	if _, err := Check(t.Context(), p, importance, Options{Problems: 19}, nil); err == nil ||
		!strings.Contains(err.Error(), "19 problems") {
		t.Errorf("too few problems: error %v", err)
	}
	if _, err := Check(t.Context(), &irl.Problem{}, importance, Options{Problems: 20}, nil); err == nil {
		t.Error("a problem without MDP was accepted")
	}
	p.BetaLogStd = 1
	if _, err := Check(t.Context(), p, draws(99, 3, 0), Options{Problems: 20}, nil); err == nil ||
		!strings.Contains(err.Error(), "0 draws of β") {
		t.Errorf("no β: error %v", err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := Check(ctx, p, func(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
		calls++
		cancel()
		return importance(ctx, p, seed)
	}, Options{Problems: 20}, nil)
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("cancelled: error %v after %d calls", err, calls)
	}
}

// Ranks are a permutation in the order of the numbers, random only among those that are equal but for rounding.
func TestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	first := map[uint8]int{}
	for range 3000 {
		got := rank([]float64{5, -2, 5 + 1e-13, 9, 5 - 1e-13}, rng)
		if got[1] != 0 || got[3] != 4 || got[0]+got[2]+got[4] != 1+2+3 {
			t.Fatalf("ranks %v", got)
		}
		first[got[0]]++
	}
	for r := uint8(1); r <= 3; r++ { // binomial with p = 1/3
		if n := float64(first[r]); math.Abs(n-1000) > 4*math.Sqrt(3000*2.0/9) {
			t.Errorf("rank %d in %g of 3000, want 1000", r, n)
		}
	}
}

// Ranks that are all there once have every statistic at its expectation, and tails are those of the binomial
// distribution by hand.
func TestStatistics(t *testing.T) {
	histogram := make([]int, 2*(Draws+1))
	for i := range histogram {
		histogram[i] = 1
	}
	for i, got := range summarise(histogram) {
		if want := expectation(i%statistics, Draws+1); math.Abs(got-want) > 1e-10 {
			t.Errorf("statistic %d is %g, want %g", i, got, want)
		}
	}
	tail := newTails(20)
	for i, e := range events {
		if e.below == 50 { // of 20 coins, 3 or fewer heads: (1 + 20 + 190 + 1140)/2²⁰
			if got, want := math.Exp(-tail.minusLog(i, 3)), 2*1351.0/(1<<20); math.Abs(got/want-1) > 1e-12 {
				t.Errorf("two-sided tail of 3 heads of 20: %g, want %g", got, want)
			}
			if math.Abs(tail.minusLog(i, 3)-tail.minusLog(i, 17)) > 1e-12 || tail.minusLog(i, 10) != 0 {
				t.Errorf("tails are not symmetric, or the middle is not probable")
			}
		}
	}
	if got := math.Exp(-tail.minusLog(location, -1.96*math.Sqrt(20*meanSquare))); math.Abs(got-.05) > 1e-4 {
		t.Errorf("two-sided tail of −1.96 standard deviations: %g", got)
	}
	// the 97.5 % point with 20 degrees of freedom
	if got := math.Exp(-tail.minusLog(spread, 34.17)); math.Abs(got-.05) > 1e-4 {
		t.Errorf("two-sided tail of χ² = 34.17: %g", got)
	}
}

// TestFarthest: means stray in units of their own standard deviation.
func TestFarthest(t *testing.T) {
	const problems = 100
	means := mat.NewDense(2, 5, []float64{ // locations, and spreads, which hardly vary
		3, -3, 3, 3, -3,
		problems + 0.02, problems, problems, problems - 0.01, problems,
	})
	largest, row := farthest(means, problems)
	for b, want := range []float64{2, 1, 1, 1, 1} {
		if row != 1 || !scalar.EqualWithinAbs(largest[b], want, 1e-9) {
			t.Errorf("replicate %d is %g off, want %g; the first in row %d, want 1", b, largest[b], want, row)
		}
	}
}
