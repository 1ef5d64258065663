package reference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// gate is a problem in which the expert goes so many times to a hub rather than to an end that pays nothing. From the
// hub it can leave by a known −1, or by a road of so many states, the sum of whose rewards is N(mean, 1): only if that
// pays, many standard deviations out, is the hub worth it, and nearer the prior the likelihood does not change with it.
// So many rewards more lie where no demonstration leads.
func gate(t testing.TB, demos, length int, mean float64, elsewhere int) *irl.Problem {
	t.Helper()
	const hub, leave, road = 2, 3, 4
	end := road + length
	rows := make([][]mdp.Transition, 2*(end+elsewhere))
	way := func(s, first, second int) {
		rows[2*s], rows[2*s+1] = []mdp.Transition{{Next: first, Prob: 1}}, []mdp.Transition{{Next: second, Prob: 1}}
	}
	way(0, 1, hub)
	way(hub, leave, road)
	means, std := make([]float64, end+elsewhere), make([]float64, end+elsewhere)
	means[leave] = -1
	for s := road; s < end; s++ {
		means[s], std[s] = mean/float64(length), 1/math.Sqrt(float64(length))
		if s < end-1 {
			way(s, s+1, s+1)
		}
	}
	for s := end; s < end+elsewhere; s++ {
		std[s] = 1
		way(s, max(end, s-1), min(end+elsewhere-1, s+1))
	}
	p := &irl.Problem{Discount: 1 - 1e-9, Beta: 2, Prior: irl.DiagonalPrior(means, std)}
	for range demos {
		p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 1})
	}
	var err error
	if p.MDP, err = mdp.New(end+elsewhere, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// roadSum returns the mean and standard deviation of the road's sum G, of which the expert sees max(−1, G), by the sums
// over a grid.
func roadSum(demos int, mean float64) (float64, float64) {
	var grid, weights []float64
	for g := mean - 6; g < 8; g += 1e-3 {
		logLikelihood := -float64(demos) * math.Log1p(math.Exp(-2*math.Max(-1, g)))
		grid, weights = append(grid, g), append(weights, math.Exp(logLikelihood-(g-mean)*(g-mean)/2))
	}
	return stat.PopMeanStdDev(grid, weights)
}

// balance is a problem in which the expert goes either way so many times: to nothing, or along a road of ten states
// whose sum is N(0, 1).
func balance(t testing.TB, each int) *irl.Problem {
	t.Helper()
	p := gate(t, 0, 10, 0, 0)
	rows := rowsOf(p.MDP)
	rows[1][0].Next = 4 // of state 0, past the hub
	for range each {
		p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 0}, mdp.Step{State: 0, Action: 1})
	}
	var err error
	if p.MDP, err = mdp.New(p.MDP.States(), 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func rowsOf(m *mdp.MDP) [][]mdp.Transition {
	rows := make([][]mdp.Transition, m.States()*m.Actions())
	for i := range rows {
		next, prob := m.Row(i/m.Actions(), i%m.Actions())
		for k, to := range next {
			rows[i] = append(rows[i], mdp.Transition{Next: int(to), Prob: prob[k]})
		}
	}
	return rows
}

// together returns problems as one, none of which leads to another, and the first state of each.
func together(t testing.TB, parts ...*irl.Problem) (whole *irl.Problem, first []int) {
	t.Helper()
	whole = &irl.Problem{Discount: parts[0].Discount, Beta: parts[0].Beta}
	var rows [][]mdp.Transition
	var means, std []float64
	for _, p := range parts {
		offset := len(means)
		first = append(first, offset)
		for _, row := range rowsOf(p.MDP) {
			for k := range row {
				row[k].Next += offset
			}
			rows = append(rows, row)
		}
		means = append(means, p.Prior.Mean...)
		for _, v := range p.Prior.Variances() {
			std = append(std, math.Sqrt(v))
		}
		for _, step := range p.Demos {
			whole.Demos = append(whole.Demos, mdp.Step{State: offset + step.State, Action: step.Action})
		}
	}
	whole.Prior = irl.DiagonalPrior(means, std)
	var err error
	if whole.MDP, err = mdp.New(len(means), 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return whole, first
}

func TestExplanationsBehindGatesAreFound(t *testing.T) {
	type gated struct {
		demos, length int
		mean          float64
		elsewhere     int
	}
	for _, gates := range [][]gated{
		{{40, 1, -8, 0}}, {{40, 1, -8, 20}}, {{40, 1, -8, 1100}}, {{80, 40, -13, 10}}, {{80, 10, -13, 0}},
		{{80, 40, -13, 0}, {40, 1, -8, 0}, {30, 5, -6, 0}},
	} {
		parts := []*irl.Problem{balance(t, 200)} // whose rewards must not move with those of a road
		for _, g := range gates {
			parts = append(parts, gate(t, g.demos, g.length, g.mean, g.elsewhere))
		}
		p, first := together(t, parts...)
		target, found := searched(t, p)
		if len(found) == 0 {
			t.Fatalf("%+v: no mode", gates)
		}
		target.LogLikelihood(found[0].u, nil)
		for i, g := range gates {
			mean, std := roadSum(g.demos, g.mean)
			road := first[i+1] + 4
			if got := floats.Sum(target.reward[road : road+g.length]); math.Abs(got-mean) > std {
				t.Errorf("%+v: gate %d of the best mode has the sum %g, the posterior %g ± %g", gates, i, got, mean,
					std)
			}
		}
	}
}

// TestInformedRewards: demonstrations tell of the rewards of a gate's road, not of those elsewhere.
func TestInformedRewards(t *testing.T) {
	target, err := NewTarget(gate(t, 40, 2, -8, 5))
	if err != nil {
		t.Fatal(err)
	}
	var informed []int
	for _, j := range target.informed {
		informed = append(informed, target.free[j])
	}
	if !slices.Equal(informed, []int{4, 5}) {
		t.Errorf("demonstrations tell of the rewards %v, want those of the road, 4 and 5", informed)
	}
}

// TestExplanationsBehindGatesAreSampled: each of several gates opens far out, and none with another. Where one may be
// closed as well, chains go to and fro.
func TestExplanationsBehindGatesAreSampled(t *testing.T) {
	for _, c := range []struct {
		lengths, demos []int
		means          []float64
		seed           uint64
	}{
		{[]int{40, 1, 5}, []int{80, 40, 30}, []float64{-13, -8, -6}, 1},
		{[]int{1, 1, 1, 1}, []int{60, 27, 24, 20}, []float64{-9, -8, -7.5, -7}, 1},
		{[]int{1, 1, 1, 1}, []int{60, 27, 24, 20}, []float64{-9, -8, -7.5, -7}, 2},
	} {
		parts := []*irl.Problem{balance(t, 200)}
		for i, length := range c.lengths {
			parts = append(parts, gate(t, c.demos[i], length, c.means[i], 0))
		}
		p, first := together(t, parts...)
		config := Default()
		config.Seed = c.seed
		got := fit(t, config, p)[0]
		if ok, reason := got.Convergence(); !ok {
			t.Errorf("%+v: not converged: %s", c, reason)
		}
		for i, length := range c.lengths {
			road, sums := first[i+1]+4, make([]float64, got.Len())
			for k := range sums {
				sums[k] = floats.Sum(got.Rewards().RawRowView(k)[road : road+length])
			}
			mean, std := roadSum(c.demos[i], c.means[i])
			// 4,000 effective draws: a standard error of the mean of 0.016 std; MaxStdError is that of the deviation
			if m, s := stat.MeanStdDev(sums, nil); math.Abs(m-mean) > 0.08*std || math.Abs(s/std-1) > 0.12 {
				t.Errorf("%+v, gate %d: the road's sum is %g ± %g, want %g ± %g", c, i, m, s, mean, std)
			}
		}
	}
}
