package zoo

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/summary"
	"gonum.org/v1/gonum/floats"
)

func all(t *testing.T) []Case {
	t.Helper()
	cases, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestStoredProblemsAreThoseThatTheSeedsMake(t *testing.T) {
	stored := all(t)
	made, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != len(made) || len(made) < 60 {
		t.Fatalf("%d problems stored, %d made, want the same number, at least 60", len(stored), len(made))
	}
	families := map[string]int{}
	for i, c := range made {
		if s := stored[i]; s.Name != c.Name || s.Family != c.Family || s.Sentence != c.Sentence ||
			!equal(s.Problem, c.Problem) {
			t.Errorf("the stored problem %s differs from the one that is made, %s", s.Name, c.Name)
		}
		families[c.Family]++
	}
	for family, n := range families {
		if n < 3 {
			t.Errorf("the family %s has %d members, want at least 3", family, n)
		}
	}
}

func TestFilesAreSmall(t *testing.T) {
	size := int64(0)
	err := fs.WalkDir(embedded, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", size); size > 3<<20 {
		t.Errorf("the files take %d bytes, want at most 3 MiB", size)
	}
}

func TestAnswersAreEstablished(t *testing.T) {
	answered := 0
	for _, c := range all(t) {
		a := c.Exact
		if a == nil {
			t.Logf("%s has no answer", c.Name)
			continue
		}
		answered++
		if !(a.EffectiveSize >= 20_000) && !strings.Contains(a.Recipe, "agrees") || !(a.KHat < 0.5) {
			t.Errorf("%s: effective size %.0f, k̂ %.2f", c.Name, a.EffectiveSize, a.KHat)
		}
		for i, sd := range a.RewardStd {
			// data may move a mean, and widen a marginal a little, but not for nothing; more where it is far from home
			// in one of several explanations, and at home in the others
			widest := 1.5
			if c.Family == "explanations" {
				widest = 2
			}
			prior := math.Sqrt(c.Problem.Prior.Covariance().At(i, i))
			if !(sd > 0 && sd < widest*prior) || !(a.Error.RewardMean[i] < 0.02*sd) ||
				!(a.Error.RewardStd[i] < 0.02*sd) {
				t.Errorf("%s: reward %d: %g ± %g, errors %g and %g, prior %g", c.Name, i, a.RewardMean[i], sd,
					a.Error.RewardMean[i], a.Error.RewardStd[i], prior)
			}
		}
		for s := range c.Problem.MDP.States() {
			row := a.Policy[s*c.Problem.MDP.Actions() : (s+1)*c.Problem.MDP.Actions()]
			if floats.Min(row) < 0 || math.Abs(floats.Sum(row)-1) > 1e-9 {
				t.Errorf("%s: the policy in state %d is %g", c.Name, s, row)
			}
			if !(a.ValueStd[s] > 0) || !(a.Error.ValueMean[s] < 0.02*a.ValueStd[s]) {
				t.Errorf("%s: value of state %d: %g ± %g, error %g", c.Name, s, a.ValueMean[s], a.ValueStd[s],
					a.Error.ValueMean[s])
			}
			if c.Problem.MDP.Terminal(s) && c.Problem.StateOnly() &&
				math.Abs(a.ValueMean[s]-a.RewardMean[s]) > 5*math.Hypot(a.Error.ValueMean[s], a.Error.RewardMean[s]) {
				t.Errorf("%s: the end %d is worth %g, its reward is %g", c.Name, s, a.ValueMean[s], a.RewardMean[s])
			}
		}
		if c.Problem.InfersBeta() != (a.BetaStd > 0) {
			t.Errorf("%s: β = %g ± %g", c.Name, a.BetaMean, a.BetaStd)
		}
	}
	if answered < 60 {
		t.Errorf("%d problems have an answer, want at least 60", answered)
	}
}

// find returns the case of a name.
func find(t *testing.T, name string) Case {
	t.Helper()
	for _, c := range all(t) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no case %s", name)
	return Case{}
}

// near reports whether a − b is within 4.5 of its Monte Carlo errors: some hundred comparisons are made.
func near(a, b, errA, errB float64) bool {
	return math.Abs(a-b) <= 4.5*math.Hypot(errA, errB)+1e-9*math.Abs(a)
}

func TestWhatSaysNothingLeavesThePrior(t *testing.T) {
	for name, states := range map[string][]int{"none-3x3": nil, "none-wide": nil, "beta-none": nil, "same-actions": nil,
		"one-action": nil, "unreachable": {4, 5, 6, 7}} {
		c := find(t, name)
		if states == nil {
			for s := range c.Problem.MDP.States() {
				states = append(states, s)
			}
		}
		for _, s := range states {
			a, p := c.Exact, c.Problem.Prior
			if !near(a.RewardMean[s], p.Mean[s], a.Error.RewardMean[s], 0) ||
				!near(a.RewardStd[s], p.Std[s], a.Error.RewardStd[s], 0) {
				t.Errorf("%s: reward %d: %g ± %g, prior %g ± %g", name, s, a.RewardMean[s], a.RewardStd[s], p.Mean[s],
					p.Std[s])
			}
		}
	}
}

// The corridor in another unit has the same answer in it, from other random numbers.
func TestUnit(t *testing.T) {
	a, b := find(t, "corridor").Exact, find(t, "unit-micro").Exact
	for i := range a.RewardMean {
		for _, q := range [][4]float64{
			{a.RewardMean[i], 1e6 * b.RewardMean[i], a.Error.RewardMean[i], 1e6 * b.Error.RewardMean[i]},
			{a.RewardStd[i], 1e6 * b.RewardStd[i], a.Error.RewardStd[i], 1e6 * b.Error.RewardStd[i]},
			{a.ValueMean[i], 1e6 * b.ValueMean[i], a.Error.ValueMean[i], 1e6 * b.Error.ValueMean[i]},
			{a.Policy[i], b.Policy[i], a.Error.Policy[i], b.Error.Policy[i]},
		} {
			if !near(q[0], q[1], q[2], q[3]) {
				t.Errorf("%d: %g and %g differ by more than their errors %g and %g allow", i, q[0], q[1], q[2], q[3])
			}
		}
	}
}

func TestUpdateKeepsWhatIsThere(t *testing.T) {
	cases, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	cases = cases[:3]
	dir, asked := t.TempDir(), 0
	answer := func(_ context.Context, c Case) (*Answer, error) {
		if asked++; c.Name == cases[1].Name {
			return nil, nil
		}
		s := summary.Summary{RewardMean: []float64{1, 2, 3}, RewardStd: []float64{1, 1, 1}, ValueMean: []float64{4, 5,
			6},
			ValueStd: []float64{1, 1, 1}, Policy: []float64{.5, .5, .5, .5, .5, .5}}
		errors := s
		s.Error = &errors
		return &Answer{Summary: s, Recipe: "made up", EffectiveSize: 7}, nil
	}
	for range 2 {
		if err := Update(t.Context(), dir, cases, answer); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 4 { // three, and the one without an answer again
		t.Errorf("asked for %d answers, want 4", asked)
	}
	got, err := Read(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[1].Exact != nil || got[2].Exact == nil || got[2].Exact.ValueMean[2] != 6 ||
		got[2].Exact.EffectiveSize != 7 {
		t.Errorf("read back %+v", got)
	}
	// A problem that changes loses its answer; a file that changes is noticed.
	cases[0].Problem.Beta = 3
	if err := Update(t.Context(), dir, cases, answer); err != nil {
		t.Fatal(err)
	}
	if asked != 6 {
		t.Errorf("asked for %d answers after a change, want 6", asked)
	}
	if err := os.Rename(filepath.Join(dir, problemFolder, cases[0].Name+".npz"),
		filepath.Join(dir, problemFolder, cases[2].Name+".npz")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(os.DirFS(dir)); err == nil {
		t.Error("a problem's file was replaced by another's, and nobody noticed")
	}
	if err := Update(t.Context(), dir, cases, answer); err == nil || asked != 6 {
		t.Errorf("a problem's file is missing: error %v, and %d answers computed anew", err, asked-6)
	}
}
