package valuewalk

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

func TestSample(t *testing.T) {
	_, problem := smallWorld(t, 70)
	p := fit(t, brief(), problem)[0]
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(n int) map[float64]int {
		t.Helper()
		s, err := p.Sample(rng, n)
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := s.Q.Dims(); rows != n {
			t.Fatalf("%d rows of Q, want %d", rows, n)
		}
		count := make(map[float64]int)
		for i := range n {
			count[s.Reward.At(i, 0)]++
		}
		return count
	}
	distinct := len(draw(p.Len())) // rejections repeat samples
	if distinct < p.Len()/4 {
		t.Fatalf("only %d of %d samples are distinct", distinct, p.Len())
	}
	most := 0
	for _, c := range draw(p.Len()) {
		most = max(most, c)
	}
	for _, c := range draw(p.Len() - 1) {
		if c > most {
			t.Errorf("without replacement, one value was drawn %d times, more than the %d that there are", c, most)
		}
	}
	if got := len(draw(20 * p.Len())); got != distinct {
		t.Errorf("with replacement, %d distinct values, want all %d", got, distinct)
	}
	all, err := p.Sample(rng, p.Len())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mat.Col(nil, 3, p.Rewards()), columnOf(all, 3)); diff != "" {
		t.Error("all samples are not in order")
	}
	if _, err := p.Sample(rng, 0); err == nil {
		t.Error("drew 0 samples")
	}
}

func columnOf(s *irl.Samples, i int) []float64 {
	n, _ := s.Reward.Dims()
	out := make([]float64, n)
	for k := range out {
		out[k] = s.Reward.At(k, i)
	}
	return out
}

// load reads a stored posterior of type T.
func load[T irl.Posterior](path string) (out T, err error) {
	p, err := problemfile.Load(path, map[string]irl.Restore{Kind: Restore, KindRefined: RestoreRefined})
	if err != nil {
		return out, err
	}
	return p.(T), nil
}

func TestSaveAndLoad(t *testing.T) {
	for name, problem := range smallProblems(t) {
		c := brief()
		c.NoDeterminant = true
		p := fit(t, c, problem)[0]
		path := filepath.Join(t.TempDir(), "posterior.npz")
		if err := problemfile.Save(path, p); err != nil {
			t.Fatal(err)
		}
		got, err := load[*Posterior](path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Method() != p.Method() || got.Len() != p.Len() || got.Chains() != p.Chains() {
			t.Errorf("%s: %s with %d samples in %d chains became %s with %d in %d", name, p.Method(), p.Len(),
				p.Chains(), got.Method(), got.Len(), got.Chains())
		}
		if diff := cmp.Diff(p.Diagnostics(), got.Diagnostics()); diff != "" {
			t.Errorf("%s: diagnostics (-saved +loaded):\n%s", name, diff)
		}
		if diff := cmp.Diff(p.Transitions(), got.Transitions(), cmpopts.EquateApprox(1e-7, 0)); diff != "" ||
			len(p.Transitions()) != p.Len() {
			t.Errorf("%s: transitions (-saved +loaded, in single precision):\n%s", name, diff)
		}
		before, after := p.Samples(), got.Samples()
		for i := range p.Len() {
			for j, want := range before.Q.RawRowView(i) {
				// values of order 10 rounded to float32, and rewards read off them
				if !scalar.EqualWithinAbs(after.Q.At(i, j), want, 1e-5) {
					t.Fatalf("%s: Q[%d,%d] = %g became %g", name, i, j, want, after.Q.At(i, j))
				}
			}
		}
	}
}

func TestLoadRefusesBadFiles(t *testing.T) {
	_, problem := smallWorld(t, 71)
	p := fit(t, brief(), problem)[0]
	path := filepath.Join(t.TempDir(), "posterior.npz")
	if err := problemfile.Save(path, p); err != nil {
		t.Fatal(err)
	}
	read := func() map[string]npz.Array {
		a, err := npz.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		out := make(map[string]npz.Array)
		for _, name := range a.Names() {
			if name == "posterior_kind" {
				out[name] = npz.String(Kind)
				continue
			}
			array, err := a.Array(name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = *array
		}
		return out
	}
	reshaped := func(name string, shape ...int) func(a map[string]npz.Array) {
		return func(a map[string]npz.Array) { a[name] = npz.Floats(a[name].Data, shape...) }
	}
	for want, change := range map[string]func(a map[string]npz.Array){
		`no array "posterior_value"`:     func(a map[string]npz.Array) { delete(a, "posterior_value") },
		"posterior_value[1,3] = NaN":     func(a map[string]npz.Array) { a["posterior_value"].Data[12] = math.NaN() },
		"posterior_reward[0,0] = +Inf":   func(a map[string]npz.Array) { a["posterior_reward"].Data[0] = math.Inf(1) },
		"shape [1800]":                   reshaped("posterior_value", 1800),
		"shape [600 3]":                  reshaped("posterior_reward", 600, 3),
		"do not make 7 chains":           func(a map[string]npz.Array) { a["posterior_chains"] = npz.Ints([]int{7}) },
		"posterior_chains = 1.5":         func(a map[string]npz.Array) { a["posterior_chains"] = npz.Scalar(1.5) },
		`"posterior_value_rhat" has the`: func(a map[string]npz.Array) { a["posterior_value_rhat"] = npz.Floats([]float64{1}, 1) },
		`"posterior_acceptance" has the`: func(a map[string]npz.Array) {
			a["posterior_acceptance"] = npz.Floats(nil,
				0)
		},
		"do not make 0 chains": func(a map[string]npz.Array) { a["posterior_chains"] = npz.Ints([]int{0}) },
		"0 samples do not make": func(a map[string]npz.Array) {
			a["posterior_reward"] = npz.Floats(nil, 0,
				9)
		},
		"the version 0":          func(a map[string]npz.Array) { a["posterior_version"] = npz.Ints([]int{0}) },
		"the version 2":          func(a map[string]npz.Array) { a["posterior_version"] = npz.Ints([]int{2}) },
		`kind "magic"; want one`: func(a map[string]npz.Array) { a["posterior_kind"] = npz.String("magic") },
		"no posterior":           func(a map[string]npz.Array) { delete(a, "posterior_kind") },
		"missing transitions":    func(a map[string]npz.Array) { delete(a, "transitions") },
	} {
		arrays := read()
		change(arrays)
		bad := filepath.Join(t.TempDir(), "bad.npz")
		if err := npz.Write(bad, arrays); err != nil {
			t.Fatal(err)
		}
		if _, err := load[*Posterior](bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.npz")
	for _, n := range []int{0, 10, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load[*Posterior](cut); err == nil || !strings.Contains(err.Error(), "cut.npz") {
			t.Errorf("error %v for a file cut off after %d bytes", err, n)
		}
	}
}
