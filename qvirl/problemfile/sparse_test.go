package problemfile

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// sparse returns the arrays of the problem of TestBadProblems, whose transitions are wantP, without the zeros: of
// coordinates, or in CSR format.
func sparse(compressed bool) map[string]npz.Array {
	m := map[string]npz.Array{
		"transitions_probs": npz.Floats([]float64{.1, .9, 1, .5, .25, .25}, 6),
		"prior_mean":        npz.Floats([]float64{-1, 0, 2}, 3), "prior_std": npz.Scalar(1),
		"demos": npz.Ints([]int{0, 0, 1, 0}, 2, 2), "discount": npz.Scalar(.9), "beta": npz.Scalar(2),
	}
	if compressed {
		m["transitions_indices"] = npz.Ints([]int{0, 1, 2, 0, 1, 2}, 6)
		m["transitions_indptr"] = npz.Ints([]int{0, 2, 2, 3, 6, 6, 6}, 7)
	} else {
		m["transitions_indices"] = npz.Ints([]int{0, 0, 0, 0, 0, 1, 1, 0, 2, 1, 1, 0, 1, 1, 1, 1, 1, 2}, 6, 3)
	}
	return m
}

func TestReadsSparseTransitions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	for _, compressed := range []bool{false, true} {
		if err := npz.Write(path, sparse(compressed)); err != nil {
			t.Fatal(err)
		}
		p, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantP, p.MDP.Dense()); diff != "" || p.MDP.Actions() != 2 || !p.MDP.Terminal(2) {
			t.Errorf("compressed %v: transitions (-want +got):\n%s", compressed, diff)
		}
	}
	pairs := sparse(false) // of which the third action has no transitions
	pairs["prior_mean"] = npz.Floats(make([]float64, 9), 3, 3)
	if err := npz.Write(path, pairs); err != nil {
		t.Fatal(err)
	}
	if p, err := Read(path); err != nil || p.MDP.Actions() != 3 || !p.MDP.Ends(0, 2) || p.MDP.Ends(1, 1) {
		t.Errorf("error %v, or wrong actions", err)
	}
}

func TestBadSparseTransitions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	for name, c := range map[string]struct {
		compressed bool
		spoil      func(m map[string]npz.Array)
		want       string
	}{
		"both layouts": {false, func(m map[string]npz.Array) { m["transitions"] = npz.Floats(wantP, 3, 2, 3) },
			"both transitions and transitions_probs"},
		"no indices": {false, func(m map[string]npz.Array) { delete(m, "transitions_indices") },
			"missing transitions_indices"},
		"no probabilities": {true, func(m map[string]npz.Array) { delete(m, "transitions_probs") },
			"missing transitions_probs"},
		"no indptr": {true, func(m map[string]npz.Array) { delete(m, "transitions_indptr") },
			"have the shapes [6] and [6], want [k] and [k, 3]"},
		"half an index": {false, func(m map[string]npz.Array) {
			m["transitions_indices"] = npz.Floats(append(make([]float64, 17), 0.5), 6, 3)
		}, "transitions_indices[5,2] = 0.5, want a whole number"},
		"state": {false, func(m map[string]npz.Array) { m["transitions_indices"].Data[15] = 3 },
			"names action 1 in state 3"},
		"successor": {false, func(m map[string]npz.Array) { m["transitions_indices"].Data[2] = 7 },
			"successor 7"},
		"actions": {false, func(m map[string]npz.Array) { m["transitions_indices"].Data[1] = 1e15 },
			"1000000000000001 actions"},
		"sum": {true, func(m map[string]npz.Array) { m["transitions_probs"].Data[0] = .5 },
			"transitions[0,0] sums to 1.4"},
		"NaN": {true, func(m map[string]npz.Array) { m["transitions_probs"].Data[0] = math.NaN() },
			"transitions_probs[0]"},
		"no rows of pairs": {true, func(m map[string]npz.Array) {
			m["transitions_indptr"] = npz.Ints([]int{0, 2, 2, 3, 6, 6}, 6)
		}, "want [k], [k] and [states·actions + 1] with 3 states"},
		"falling": {true, func(m map[string]npz.Array) { m["transitions_indptr"].Data[2] = 1 },
			"transitions_indptr[1:3] = 2, 1"},
		"beyond": {true, func(m map[string]npz.Array) { m["transitions_indptr"].Data[6] = 9 },
			"transitions_indptr[5:7] = 6, 9"},
		"short": {true, func(m map[string]npz.Array) { m["transitions_indptr"].Data[6] = 5 },
			"transitions_indptr[5:7] = 6, 5"},
		"left over": {true, func(m map[string]npz.Array) {
			m["transitions_probs"] = npz.Floats(append(m["transitions_probs"].Data, 1), 7)
			m["transitions_indices"] = npz.Floats(append(m["transitions_indices"].Data, 0), 7)
		}, "transitions_indptr[5:7] = 6, 6"},
		"no prior": {true, func(m map[string]npz.Array) { m["prior_mean"] = npz.Scalar(1) },
			"prior_mean has the shape []"},
	} {
		arrays := sparse(c.compressed)
		c.spoil(arrays)
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// A problem whose transitions with their zeros would be many comes back from a small file.
func TestLargeProblemsRoundTrip(t *testing.T) {
	c := gridworld.Paper()
	c.Width, c.Height = 40, 25
	w, err := gridworld.Random(c, 1000)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(1000, -1, 3), Discount: .9, Beta: 2}
	path := filepath.Join(t.TempDir(), "p.npz")
	if err := Write(path, p); err != nil {
		t.Fatal(err)
	}
	if need, err := MemoryNeed(path); err != nil || need > 5e6 {
		t.Errorf("reading is estimated to take %.0f bytes (error %v)", need, err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float64, 1000)
	for s := range v {
		v[s] = math.Sin(float64(s))
	}
	want, have := p.MDP.Backup(nil, v), got.MDP.Backup(nil, v)
	for i := range want {
		if math.Abs(want[i]-have[i]) > 1e-15 || p.MDP.Ends(i/5, i%5) != got.MDP.Ends(i/5, i%5) {
			t.Fatalf("row %d leads to %g on average, want %g", i, have[i], want[i])
		}
	}
}
