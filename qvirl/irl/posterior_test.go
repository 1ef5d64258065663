package irl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
)

// TestIntervals compares intervals with closed forms: of a Gaussian, of an exponential, which is skewed, and of the
// samples 1 to 100, of which the fifth lies at 0.045.
func TestIntervals(t *testing.T) {
	samples := make([]float64, 100)
	for i := range samples {
		samples[i] = float64(100 - i)
	}
	empirical, err := NewEmpirical(samples)
	if err != nil {
		t.Fatal(err)
	}
	const z = 1.6448536269514722 // Φ(z) = 0.95
	for _, c := range []struct {
		m         Marginal
		low, high float64
	}{
		{NewMarginal(distuv.Normal{Mu: 2, Sigma: 3}), 2 - 3*z, 2 + 3*z},
		{NewMarginal(distuv.Exponential{Rate: 4}), -math.Log(0.95) / 4, -math.Log(0.05) / 4},
		{empirical, 5.5, 95.5},
	} {
		if low, high := c.m.Interval(0.9); !scalar.EqualWithinAbs(low, c.low, 1e-10) ||
			!scalar.EqualWithinAbs(high, c.high, 1e-10) {
			t.Errorf("90 %% interval of %v: %g to %g, want %g to %g", c.m, low, high, c.low, c.high)
		}
	}
}

// TestProbabilitiesAreChecked: 95 is no probability, though samples have a smallest and a largest.
func TestProbabilitiesAreChecked(t *testing.T) {
	empirical, err := NewEmpirical([]float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(){
		"an interval of probability 95":  func() { empirical.Interval(95) },
		"an interval of probability 1.5": func() { NewMarginal(distuv.UnitNormal).Interval(1.5) },
		"the quantile at NaN":            func() { empirical.Quantile(math.NaN()) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}

func TestStagesFollowEachOther(t *testing.T) {
	var fractions []float64
	var last string
	progress := Progress(func(done, total int, status string) {
		fractions, last = append(fractions, float64(done)/float64(total)), status
	})
	first, second := progress.Stage("", 0, 1, 4), progress.Stage("walk: ", 1, 3, 4)
	first(1, 2, "half")
	first(2, 2, "whole")
	second(1, 3, "a third")
	second(3, 3, "whole")
	if want := []float64{0.125, 0.25, 0.5, 1}; !slices.Equal(fractions, want) || last != "walk: whole" {
		t.Errorf("the stages end at %v, the last one with %q; want %v", fractions, last, want)
	}
	Progress(nil).Stage("", 0, 1, 2)(1, 1, "") // nobody listens
}

// TestSharedProgress: parts that have not begun count as much as the one that reports.
func TestSharedProgress(t *testing.T) {
	var fractions []float64
	part := Progress(func(done, total int, _ string) {
		fractions = append(fractions, float64(done)/float64(total))
	}).Shared(4)
	part(2)(1, 2, "")
	part(2)(2, 2, "")
	part(0)(1, 2, "")
	if want := []float64{0.125, 0.25, 0.375}; !slices.Equal(fractions, want) {
		t.Errorf("shares %v, want %v", fractions, want)
	}
}

// TestSamplesOfValues computes rewards, Q-values and β by hand: action 0 stays, action 1 leads from state 0 to 1, which
// ends the episode.
func TestSamplesOfValues(t *testing.T) {
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}, nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ values, reward, q []float64 }{
		{[]float64{4, 6}, []float64{1, 6}, []float64{3, 4, 6, 6}}, // V: 4 = 1 + ½ · 6
		{[]float64{3, 4, 6, 5}, []float64{1, 1, 6, 5}, []float64{3, 4, 6, 5}},
	} {
		p := &Problem{MDP: m, Prior: IndependentPrior(len(c.values), 0, 1), Discount: 0.5, Beta: 1, BetaLogStd: 1}
		x := WithLogBeta(mat.NewDense(2, len(c.values), slices.Repeat(c.values, 2)), []float64{2, 3})
		s := p.SamplesOfValues(x)
		for i := range 2 {
			if !floats.EqualApprox(s.Reward.RawRowView(i), c.reward, 1e-15) ||
				!floats.EqualApprox(s.Q.RawRowView(i), c.q, 1e-15) {
				t.Errorf("values %v: rewards %v and Q %v, want %v and %v", c.values, s.Reward.RawRowView(i),
					s.Q.RawRowView(i), c.reward, c.q)
			}
		}
		if !floats.EqualApprox(s.Beta, []float64{2, 3}, 1e-15) {
			t.Errorf("β is %v, want 2 and 3", s.Beta)
		}
		policies, logs := s.Policies(2, 7), s.LogPolicies(2, 7) // each with its own β
		for i, beta := range s.Beta {
			want := 1 / (1 + math.Exp(beta))
			if got := policies.At(i, 0); !scalar.EqualWithinAbs(got, want, 1e-15) ||
				!scalar.EqualWithinAbs(logs.At(i, 0), math.Log(want), 1e-14) {
				t.Errorf("β = %g: action 0 has the probability %g and its logarithm %g, want %g", beta, got,
					logs.At(i, 0), want)
			}
		}
		if x := mat.NewDense(1, 2, nil); WithLogBeta(x, nil) != x {
			t.Error("without β, values are not what they were")
		}
	}
}
