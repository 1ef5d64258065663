package zoo

import (
	"math"
	"slices"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"
)

// judged is a case of two states and two actions with a made-up exact answer.
func judged() *Case {
	exact := summary.Summary{
		RewardMean: []float64{1, -2}, RewardStd: []float64{1, 1e-6}, ValueMean: []float64{10,
			20}, ValueStd: []float64{2, 3},
		Policy: []float64{0.5, 0.5, 0.9, 0.1}, BetaMean: 2, BetaStd: 0.5,
		Error: &summary.Summary{RewardMean: []float64{0.001, 1e-9}, RewardStd: []float64{0.001, 1e-9},
			ValueMean: []float64{0.002, 0.003},
			ValueStd:  []float64{0.002, 0.003}, Policy: []float64{1e-4, 1e-4, 1e-4,
				1e-4}, BetaMean: 5e-4, BetaStd: 5e-4},
	}
	return &Case{Name: "made up", Exact: &Answer{Summary: exact}, Problem: &irl.Problem{
		MDP: ring(2, 0.1), Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.9, Beta: 2, BetaLogStd: 0.5}}
}

// copyOf returns the exact answer of a case as a method would give it, without errors.
func copyOf(c *Case) *summary.Summary {
	s := c.Exact.Summary
	return &summary.Summary{RewardMean: slices.Clone(s.RewardMean), RewardStd: slices.Clone(s.RewardStd),
		ValueMean: slices.Clone(s.ValueMean),
		ValueStd:  slices.Clone(s.ValueStd), Policy: slices.Clone(s.Policy), BetaMean: s.BetaMean, BetaStd: s.BetaStd}
}

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*summary.Summary)
		right  bool
		figure func(*Errors) float64
		want   float64
	}{
		"itself": {func(s *summary.Summary) {}, true,
			func(e *Errors) float64 { return e.Mean + e.Std + e.PolicyTV + e.ValueStd + e.BetaMean }, 0},
		"mean within": {func(s *summary.Summary) { s.RewardMean[0] += 0.1 }, true,
			func(e *Errors) float64 { return e.Mean }, 0.1},
		"mean beyond": {func(s *summary.Summary) { s.RewardMean[0] += 0.11 }, false,
			func(e *Errors) float64 { return e.Mean }, 0.11},
		"known mean beyond": {func(s *summary.Summary) { s.RewardMean[1] += 2e-7 }, false,
			func(e *Errors) float64 { return e.Mean }, 0.2},
		"std within": {func(s *summary.Summary) { s.RewardStd[0] = 1.1 }, true,
			func(e *Errors) float64 { return e.Std }, 0.1},
		"std beyond": {func(s *summary.Summary) { s.RewardStd[1] = 0.85e-6 }, false,
			func(e *Errors) float64 { return e.Std }, 0.15},
		"value mean": {func(s *summary.Summary) { s.ValueMean[1] += 0.6 }, false,
			func(e *Errors) float64 { return e.ValueMean }, 0.2},
		"value std": {func(s *summary.Summary) { s.ValueStd[1] = 0 }, false,
			func(e *Errors) float64 { return e.ValueStd }, 1},
		"beta mean": {func(s *summary.Summary) { s.BetaMean = 3 }, false,
			func(e *Errors) float64 { return e.BetaMean }, 2},
		"unknown beta std": {func(s *summary.Summary) { s.BetaStd = math.NaN() }, true,
			func(e *Errors) float64 { return e.BetaStd }, 0},
		"beta std": {func(s *summary.Summary) { s.BetaStd = 1 }, false,
			func(e *Errors) float64 { return e.BetaStd }, 1},
		"policy within": {func(s *summary.Summary) { s.Policy[0], s.Policy[1] = 0.52, 0.48 }, true,
			func(e *Errors) float64 { return e.PolicyTV }, 0.02},
		"policy beyond": {func(s *summary.Summary) { s.Policy[0], s.Policy[1] = 0.53, 0.47 }, false,
			func(e *Errors) float64 { return e.PolicyTV }, 0.03},
		"policy mean of states": {func(s *summary.Summary) { s.Policy[0], s.Policy[1] = 0.53, 0.47 }, false,
			func(e *Errors) float64 { return e.PolicyTVMean }, 0.015},
		"zeros": {func(s *summary.Summary) { clear(s.RewardMean); clear(s.RewardStd) }, false,
			func(e *Errors) float64 { return e.Std }, 1},
		"NaN": {func(s *summary.Summary) { s.ValueMean[0] = math.NaN() }, false,
			func(e *Errors) float64 { return e.ValueMean }, math.Inf(1)},
		"infinite": {func(s *summary.Summary) { s.RewardStd[0] = math.Inf(1) }, false,
			func(e *Errors) float64 { return e.Std }, math.Inf(1)},
		"samples' own error": {func(s *summary.Summary) {
			s.RewardMean[0] += 0.25 // 0.1 and four errors of 0.05
			s.Error = &summary.Summary{RewardMean: []float64{0.05, 0}, RewardStd: []float64{0, 0},
				ValueMean: []float64{0, 0},
				ValueStd:  []float64{0, 0}, Policy: make([]float64, 4)}
		}, true, func(e *Errors) float64 { return e.Mean }, 0.25},
		"the squares of both errors add": {func(s *summary.Summary) {
			s.ValueMean[0] += 2 * 0.107 // beyond 0.1 and 4 √2 errors of 0.002/2, within 0.1 and 4 · 2
			s.Error = &summary.Summary{RewardMean: []float64{0, 0}, RewardStd: []float64{0, 0},
				ValueMean: []float64{0.002, 0}, ValueStd: []float64{0, 0}, Policy: make([]float64, 4)}
		}, false, func(e *Errors) float64 { return e.ValueMean }, 0.107},
		"an error that is no number": {func(s *summary.Summary) {
			s.RewardMean[0] += 0.5
			nan := math.NaN()
			s.Error = &summary.Summary{RewardMean: []float64{nan, nan}, RewardStd: []float64{nan, nan},
				ValueMean: []float64{nan, nan}, ValueStd: []float64{nan, nan}, Policy: []float64{nan, nan, nan, nan}}
		}, false, func(e *Errors) float64 { return e.Mean }, 0.5},
		"too few samples": {func(s *summary.Summary) {
			s.RewardMean[0] += 0.5 // excused by an error of 0.2, if that were believed
			s.Error = &summary.Summary{RewardMean: []float64{0.2, 0}, RewardStd: []float64{0, 0},
				ValueMean: []float64{0, 0},
				ValueStd:  []float64{0, 0}, Policy: make([]float64, 4)}
		}, false, func(e *Errors) float64 { return e.Mean }, 0.5},
	} {
		c := judged()
		s := copyOf(c)
		test.change(s)
		e, err := Judge(c, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e.Right() != test.right {
			t.Errorf("%s: right = %v (%s), want %v", name, e.Right(), e.Wrong, test.right)
		}
		if got := test.figure(e); math.Abs(got-test.want) > 1e-6 && got != test.want {
			t.Errorf("%s: error %g, want %g", name, got, test.want)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	c := judged()
	s := copyOf(c)
	s.Policy = s.Policy[:3]
	if _, err := Judge(c, s); err == nil {
		t.Error("three action probabilities of four were taken")
	}
	c.Exact = nil
	if _, err := Judge(c, copyOf(judged())); err == nil {
		t.Error("a case without an exact answer was judged")
	}
}
