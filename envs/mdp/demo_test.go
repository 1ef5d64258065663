package mdp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// chiSquare returns the p-value of counts against probabilities that sum to one.
func chiSquare(counts, prob []float64) float64 {
	total, statistic := 0.0, 0.0
	for _, c := range counts {
		total += c
	}
	for i, c := range counts {
		statistic += (c - total*prob[i]) * (c - total*prob[i]) / (total * prob[i])
	}
	return distuv.ChiSquared{K: float64(len(prob) - 1)}.Survival(statistic)
}

func TestBoltzmann(t *testing.T) {
	got := Boltzmann(nil, []float64{0, math.Log(3), 5, 5, 1000, 0}, 2, 1)
	want := []float64{0.25, 0.75, 0.5, 0.5, 1, 0}
	if gap := largestGap(got, want); gap > 1e-15 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got = Boltzmann(got, []float64{0, math.Log(3) / 2, 0, 0, 0, -1e300}, 2, 2); !scalar.EqualWithinAbs(got[1], 0.75,
		1e-15) || got[4] != 1 {
		t.Errorf("β = 2 gives %v", got)
	}
}

func TestPoliciesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		q := drawVector(t, m.States()*m.Actions(), -100, 100, "q")
		if err := m.CheckPolicy(Boltzmann(nil, q, m.Actions(), 3)); err != nil {
			t.Fatal(err)
		}
		if err := m.CheckPolicy(m.Uniform()); err != nil {
			t.Fatal(err)
		}
	})
	m := chain(t)
	if p, err := m.Deterministic([]int{0, 1, 0}); err != nil || !cmp.Equal(p, []float64{1, 0, 0, 1, 1, 0}) {
		t.Errorf("got %v, %v", p, err)
	}
	for _, bad := range [][]int{{0, 1}, {0, 2, 0}, {0, -1, 0}} {
		if _, err := m.Deterministic(bad); err == nil {
			t.Errorf("actions %v are accepted", bad)
		}
	}
}

// Demonstrated actions have the Boltzmann probabilities, first states the initial ones, and successors the dynamics'.
func TestDemonstrateFrequencies(t *testing.T) {
	m, err := New(2, 2, [][]Transition{{{0, 0.3}, {1, 0.7}}, {{0, 1}}, {{0, 0.6}, {1, 0.4}}, {{1, 1}}},
		[]float64{0.2, 0.8})
	if err != nil {
		t.Fatal(err)
	}
	q := []float64{0, 0.4, 0.2, -0.3}
	demos := m.Demonstrate(rand.New(rand.NewPCG(1, 0)), q, 2, 5000, 4)
	first, actions, successors := make([]float64, 2), make([]float64, 4), make([]float64, 4)
	for _, d := range demos {
		if len(d) != 4 {
			t.Fatalf("a trajectory has length %d, want 4: nothing ends it", len(d))
		}
		first[d[0].State]++
		for i, step := range d {
			actions[step.State*2+step.Action]++
			if i+1 < len(d) && step.Action == 0 {
				successors[step.State*2+d[i+1].State]++
			}
		}
	}
	policy := Boltzmann(nil, q, 2, 2)
	for what, p := range map[string]float64{
		"first states":          chiSquare(first, m.Initial()),
		"actions in state 0":    chiSquare(actions[:2], policy[:2]),
		"actions in state 1":    chiSquare(actions[2:], policy[2:]),
		"successors of state 0": chiSquare(successors[:2], []float64{0.3, 0.7}),
		"successors of state 1": chiSquare(successors[2:], []float64{0.6, 0.4}),
	} {
		if !(p > 1e-3) { // one in a thousand, at a fixed seed
			t.Errorf("%s: χ² test gives p = %g", what, p)
		}
	}
}

func TestRolloutEnds(t *testing.T) {
	m := chain(t)
	policy, err := m.Deterministic([]int{0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	want := Trajectory{{0, 0}, {1, 0}, {2, 1}} // the action in the terminal state is the last
	if diff := cmp.Diff(want, m.Rollout(rng, policy, 0, 10)); diff != "" {
		t.Error(diff)
	}
	if got := m.Rollout(rng, policy, 0, 2); !cmp.Equal(got, want[:2]) {
		t.Errorf("two steps are %v", got)
	}
	if got := m.Rollout(rng, policy, 0, 0); len(got) != 0 {
		t.Errorf("no steps are %v", got)
	}
	if got := Flatten([]Trajectory{want, nil, want[:1]}); !cmp.Equal(got, []Step{{0, 0}, {1, 0}, {2, 1}, {0, 0}}) {
		t.Errorf("flattened: %v", got)
	}
}

func TestCheckSteps(t *testing.T) {
	m := chain(t)
	if err := m.CheckSteps([]Step{{0, 0}, {2, 1}}); err != nil {
		t.Error(err)
	}
	for want, bad := range map[string]Step{
		"demos[1]: state 3": {3, 0}, "demos[1]: state -1": {-1, 0},
		"demos[1]: action 2": {0, 2}, "demos[1]: action -1": {0, -1},
	} {
		if err := m.CheckSteps([]Step{{0, 0}, bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got the error %v, want one with %q", bad, err, want)
		}
	}
}

// largestSource is the random source whose numbers are the largest.
type largestSource struct{}

func (largestSource) Uint64() uint64 { return math.MaxUint64 }

// TestDraw: indices come as often as their probabilities say, and one of probability zero never, also where rounding
// leaves a rest of the others' sum.
func TestDraw(t *testing.T) {
	prob := []float64{0, 0.01, 0.29, 0, 0.7, 0}
	rng, counts := rand.New(rand.NewPCG(4, 0)), make([]float64, len(prob))
	for range 100_000 {
		counts[Draw(rng, prob)]++
	}
	if counts[0]+counts[3]+counts[5] > 0 {
		t.Errorf("counts %v of the probabilities %v", counts, prob)
	}
	if p := chiSquare([]float64{counts[1], counts[2], counts[4]}, []float64{0.01, 0.29, 0.7}); !(p > 1e-3) {
		t.Errorf("counts %v of the probabilities %v: p = %g", counts, prob, p)
	}
	if got := Draw(rand.New(largestSource{}), []float64{0.5, 0.5 - 1e-9, 0}); got != 1 {
		t.Errorf("the rest is of index %d, want 1", got)
	}
}
