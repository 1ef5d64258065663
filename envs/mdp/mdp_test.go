package mdp

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"pgregory.net/rapid"
)

// randomMDP draws an MDP of up to 8 states and 4 actions, with some pairs that end the episode, some rows of a single
// successor, and successors anywhere.
func randomMDP(t *rapid.T) *MDP {
	states := rapid.IntRange(1, 8).Draw(t, "states")
	actions := rapid.IntRange(1, 4).Draw(t, "actions")
	rows := make([][]Transition, states*actions)
	for i := range rows {
		successors := rapid.IntRange(0, 3).Draw(t, "successors")
		total := 0.0
		for range successors {
			p := rapid.Float64Range(0.05, 1).Draw(t, "weight")
			rows[i] = append(rows[i], Transition{rapid.IntRange(0, states-1).Draw(t, "next"), p})
			total += p
		}
		for k := range rows[i] {
			rows[i][k].Prob /= total
		}
	}
	m, err := New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	absorbing := m.absorbing()
	hubs := slices.DeleteFunc(rapid.Permutation(m.order.state).Draw(t, "order"), func(s int32) bool {
		return slices.Contains(absorbing, s)
	})
	hubs = hubs[:rapid.IntRange(0, min(3, len(hubs))).Draw(t, "hubs")]
	m.order = m.narrowest(m.neighbours(), absorbing, hubs, func(o order) int { return o.lower + o.upper })
	return m
}

func drawVector(t *rapid.T, n int, lo, hi float64, label string) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(lo, hi), n, n).Draw(t, label)
}

// largestGap returns max |x − y|.
func largestGap(x, y []float64) float64 {
	gap := 0.0
	for i := range x {
		gap = max(gap, math.Abs(x[i]-y[i]))
	}
	return gap
}

// chain is 0 → 1 → 2 with action 0, where 2 is terminal; action 1 stays.
func chain(t testing.TB) *MDP {
	t.Helper()
	m, err := New(3, 2, [][]Transition{{{1, 1}}, {{0, 1}}, {{2, 1}}, {{1, 1}}, nil, nil}, []float64{1, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNewRefuses(t *testing.T) {
	ok := [][]Transition{{{0, 1}}, {{1, 1}}}
	for _, c := range []struct {
		name            string
		states, actions int
		rows            [][]Transition
		initial         []float64
		want            string
	}{
		{"no states", 0, 1, nil, nil, "0 states"},
		{"too many pairs", 1 << 40, 1 << 40, nil, nil, "are more than"},
		{"no actions", 2, 0, nil, nil, "0 actions"},
		{"too few rows", 2, 1, ok[:1], nil, "got 1 rows"},
		{"successor", 2, 1, [][]Transition{{{0, 1}}, {{2, 1}}}, nil, "transitions[1,0]: successor 2"},
		{"negative successor", 2, 1, [][]Transition{{{-1, 1}}, {{1, 1}}}, nil, "transitions[0,0]: successor -1"},
		{"negative probability", 2, 1, [][]Transition{{{0, 1}}, {{0, -0.5}, {1, 1.5}}}, nil,
			"transitions[1,0,0] = -0.5"},
		{"NaN", 2, 1, [][]Transition{{{0, math.NaN()}}, {{1, 1}}}, nil, "transitions[0,0,0] = NaN"},
		{"sum", 1, 2, [][]Transition{{{0, 1}}, {{0, 0.9}}}, nil,
			"transitions[0,1] sums to 0.9; a row must sum to 1 within 1e-06, for which float16 is too coarse,"},
		{"initial length", 2, 1, ok, []float64{1}, "got 1 probabilities"},
		{"initial sum", 2, 1, ok, []float64{0.5, 0.4}, "initial sums to 0.9"},
		{"initial NaN", 2, 1, ok, []float64{1, math.NaN()}, "initial[1] = NaN"},
		{"initial negative", 2, 1, ok, []float64{2, -1}, "initial[1] = -1"},
	} {
		if _, err := New(c.states, c.actions, c.rows, c.initial); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got the error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := FromDense(2, 1, make([]float64, 3), nil); err == nil || !strings.Contains(err.Error(), "[2,1,2]") {
		t.Errorf("dense array of the wrong size: got the error %v", err)
	}
}

func TestNewMergesAndNormalises(t *testing.T) {
	// 1e-7 too much is rounding in a float32 file; equal successors merge; zeros vanish
	m, err := New(2, 1, [][]Transition{{{1, 0.5}, {0, 0.25}, {1, 0.25 + 1e-7}}, {{0, 0}, {1, 1}}},
		[]float64{0.25, 0.75})
	if err != nil {
		t.Fatal(err)
	}
	next, prob := m.Row(0, 0)
	if diff := cmp.Diff([]int32{1, 0}, next); diff != "" {
		t.Error(diff)
	}
	if sum := prob[0] + prob[1]; !scalar.EqualWithinAbs(sum, 1, 1e-15) || !scalar.EqualWithinAbs(prob[0], 0.75, 1e-6) {
		t.Errorf("row 0 is %v", prob)
	}
	if next, _ := m.Row(1, 0); len(next) != 1 || next[0] != 1 {
		t.Errorf("row 1 leads to %v, want [1]", next)
	}
	if diff := cmp.Diff([]float64{0.25, 0.75}, m.Initial()); diff != "" {
		t.Error(diff)
	}
}

// A row of 300,000 successors takes milliseconds; a search of the row for each of them would take half a minute.
func TestNewIsLinearInItsRows(t *testing.T) {
	const states = 150_000
	rows := make([][]Transition, states)
	for k := range 2 * states {
		rows[1] = append(rows[1], Transition{k % states, 0.5 / states})
	}
	begin := time.Now()
	m, err := New(states, 1, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	next, prob := m.Row(1, 0)
	if len(next) != states || next[states-1] != states-1 || !scalar.EqualWithinRel(prob[7], 1.0/states, 1e-9) {
		t.Errorf("%d successors, of which the last is %d", len(next), next[len(next)-1])
	}
}

func TestTerminal(t *testing.T) {
	m := chain(t)
	for s, want := range []bool{false, false, true} {
		if m.Terminal(s) != want {
			t.Errorf("Terminal(%d) = %v", s, !want)
		}
	}
	partly, err := New(1, 2, [][]Transition{{{0, 1}}, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if partly.Terminal(0) || partly.Ends(0, 0) || !partly.Ends(0, 1) {
		t.Error("a state that only one action ends is not terminal")
	}
}

func TestDenseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		back, err := FromDense(m.States(), m.Actions(), m.Dense(), m.Initial())
		if err != nil {
			t.Fatal(err)
		}
		v := drawVector(t, m.States(), -5, 5, "v")
		if gap := largestGap(m.Backup(nil, v), back.Backup(nil, v)); gap > 1e-12 {
			t.Fatalf("backups differ by %g", gap)
		}
		dense := m.Dense()
		for i, got := range m.Backup(nil, v) {
			want := 0.0
			for next, p := range dense[i*len(v) : (i+1)*len(v)] {
				want += p * v[next]
			}
			if !scalar.EqualWithinAbs(got, want, 1e-12) {
				t.Fatalf("backup %d = %g, want %g", i, got, want)
			}
		}
	})
}

// Rows whose successors follow one another, from the first or a later state on, and the same backwards and with a gap.
func TestBackupOfRuns(t *testing.T) {
	const states = 30
	var rows [][]Transition
	for s := range states {
		var row []Transition
		first := s % 3 * 5
		for k := range 10 + s%7 {
			row = append(row, Transition{first + k, 1 / float64(10+s%7)})
		}
		switch s % 4 {
		case 1:
			slices.Reverse(row)
		case 2:
			row[len(row)-1].Next = states - 1
		}
		rows = append(rows, row)
	}
	m, err := New(states, 1, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float64, states)
	for s := range v {
		v[s] = math.Sin(float64(s))
	}
	for s, got := range m.Backup(nil, v) {
		want := 0.0
		for _, to := range rows[s] {
			want += to.Prob * v[to.Next]
		}
		if !scalar.EqualWithinAbs(got, want, 1e-14) {
			t.Errorf("the backup of state %d is %g, want %g", s, got, want)
		}
		if alone := m.Expect(s, 0, v); !scalar.EqualWithinAbs(alone, want, 1e-14) {
			t.Errorf("the expectation in state %d is %g, want %g", s, alone, want)
		}
		added, wanted := slices.Clone(v), slices.Clone(v)
		m.AddRow(added, s, 0, -2)
		for _, to := range rows[s] {
			wanted[to.Next] -= 2 * to.Prob
		}
		if !floats.EqualApprox(added, wanted, 1e-14) {
			t.Errorf("with the row of state %d, %v became %v, want %v", s, v, added, wanted)
		}
	}
}

func TestExpandReward(t *testing.T) {
	m := chain(t)
	got, err := m.ExpandReward([]float64{1, 2, 3})
	if diff := cmp.Diff([]float64{1, 1, 2, 2, 3, 3}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	pairs := []float64{1, 2, 3, 4, 5, 6}
	if got, err = m.ExpandReward(pairs); err != nil || !cmp.Equal(got, pairs) || &got[0] == &pairs[0] {
		t.Errorf("a state-action reward is not copied: %v, %v", got, err)
	}
	for _, c := range []struct {
		reward []float64
		want   string
	}{
		{make([]float64, 4), "got 4 numbers, want 3"},
		{[]float64{1, math.NaN(), 2}, "reward[1] = NaN"},
		{[]float64{1, 1, math.Inf(-1)}, "reward[2] = -Inf"},
	} {
		if _, err := m.ExpandReward(c.reward); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got the error %v, want one with %q", c.reward, err, c.want)
		}
	}
}
