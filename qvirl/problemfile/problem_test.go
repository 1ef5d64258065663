package problemfile

import (
	"archive/zip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// The files in testdata were written by NumPy 2.
var wantP = []float64{.1, .9, 0, 0, 0, 0, 0, 0, 1, .5, .25, .25, 0, 0, 0, 0, 0, 0}

func TestReadsNumPyStateOnly(t *testing.T) {
	p, err := Read("testdata/stateonly.npz")
	if err != nil {
		t.Fatal(err)
	}
	if !p.StateOnly() || p.MDP.States() != 3 || p.MDP.Actions() != 2 || !p.MDP.Ends(0, 1) || !p.MDP.Terminal(2) ||
		p.MDP.Terminal(0) {
		t.Errorf("%d states, %d actions, state-only %v", p.MDP.States(), p.MDP.Actions(), p.StateOnly())
	}
	want := &irl.Problem{Prior: irl.Prior{Mean: []float64{-1, 0, 2}, Std: []float64{3, 1, .5}}, Discount: .9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 0}, {State: 1, Action: 0}}}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(irl.Problem{}, "MDP")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantP, p.MDP.Dense()); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}

func TestReadsNumPyStateAction(t *testing.T) {
	// float32, big-endian, Fortran order, empty float demos, covariance [3,2,3,2]
	p, err := Read("testdata/stateaction.npz")
	if err != nil {
		t.Fatal(err)
	}
	if p.StateOnly() || p.Discount != .5 || p.Beta != 1 || len(p.Demos) != 0 || p.Prior.Std != nil {
		t.Errorf("read %+v", p)
	}
	if diff := cmp.Diff(wantP, p.MDP.Dense(), cmpopts.EquateApprox(0, 1e-7)); diff != "" { // float32
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	if p.Prior.Cov.At(4, 4) != 1.1 || p.Prior.Cov.At(1, 4) != .1 || p.Prior.Mean[5] != 5 || p.MDP.Initial()[0] != 1 {
		t.Errorf("prior %v, initial %v", p.Prior, p.MDP.Initial())
	}
}

// The kernels that NumPy wrote are the covariances that it computes: 4·exp(−½[(Δx₁)² + (Δx₂/2)²]) with the points
// (0,0), (1,0) and (1,2), and σᵢσⱼ(1 + √3 r)exp(−√3 r) + ¼[i = j].
func TestReadsNumPyKernels(t *testing.T) {
	p, err := Read("testdata/kernel.npz")
	if err != nil {
		t.Fatal(err)
	}
	want := mat.NewSymDense(3, []float64{4, 2.42612264, 1.47151776, 0, 4, 2.42612264, 0, 0, 4})
	if !mat.EqualApprox(p.Prior.Cov, want, 1e-8) || p.Prior.Mean[2] != 2 || p.Prior.Std != nil {
		t.Errorf("prior %v", p.Prior)
	}
	if p, err = Read("testdata/kernelpairs.npz"); err != nil { // bytes in an array of one, features [3,2,3], std [3,2]
		t.Fatal(err)
	}
	r := math.Sqrt(1+1) / 1.5 // between state 0, action 0, and state 1, action 1
	if got, want := p.Prior.Cov.At(0, 3), 4*(1+math.Sqrt(3)*r)*math.Exp(-math.Sqrt(3)*r); math.Abs(got-want) > 1e-14 {
		t.Errorf("covariance[0,3] = %g, want %g", got, want)
	}
	if got := p.Prior.Cov.At(5, 5); got != 36.25 {
		t.Errorf("covariance[5,5] = %g, want 36.25", got)
	}
}

func TestReadsNumPyLowRank(t *testing.T) {
	p, err := Read("testdata/lowrank.npz")
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(p.Prior.LowRank, mat.NewDense(3, 2, []float64{1, 0, 2, 1, 0, 3})) || p.Prior.Std[1] != .5 ||
		p.Prior.Std[0] != 0 {
		t.Errorf("prior %v", p.Prior)
	}
}

// problems returns one of each kind.
func problems(t testing.TB) map[string]*irl.Problem {
	world, err := gridworld.Random(gridworld.Config{Width: 3, Height: 2, RewardStd: 1, TopFraction: .2, Slip: .1}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := world.Demonstrate(2, 3, 2, .9, 1000)
	if err != nil {
		t.Fatal(err)
	}
	cov := mat.NewSymDense(6, nil)
	for i := 0; i < 6; i++ {
		cov.SetSym(i, i, 2+float64(i))
		cov.SetSym(i, (i+1)%6, 1.0/3)
	}
	return map[string]*irl.Problem{
		"state-only": {MDP: world.MDP, Prior: irl.IndependentPrior(6, -1, 3), Discount: .9, Beta: 2,
			Demos: mdp.Flatten(steps)},
		"covariance": {MDP: world.MDP, Prior: irl.Prior{Mean: world.Reward, Cov: cov}, Discount: 0, Beta: .1},
		"low rank": {MDP: world.MDP, Discount: 0, Beta: 1, Prior: irl.Prior{Mean: world.Reward,
			LowRank: mat.NewDense(6, 2, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3})}},
		"low rank and std of pairs": {MDP: world.MDP, Prior: irl.Prior{Mean: make([]float64, 30),
			Std:     slices.Repeat([]float64{0, 2}, 15),
			LowRank: mat.NewDense(30, 1, slices.Repeat([]float64{1, 2, 3}, 10))}, Discount: 0, Beta: 1},
		"state-action": {MDP: world.MDP, Prior: irl.IndependentPrior(30, 1, 2), Discount: .9, Beta: 2,
			Demos: mdp.Flatten(steps)},
		"unknown β": {MDP: world.MDP, Prior: irl.IndependentPrior(6, -1, 3), Discount: .9, Beta: 2, BetaLogStd: .7,
			Demos: mdp.Flatten(steps)},
	}
}

func TestProblemsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	for name, p := range problems(t) {
		if err := Write(path, p); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		equal := cmp.Comparer(func(a, b *mat.Dense) bool { return a == b || a != nil && b != nil && mat.Equal(a, b) })
		equalSym := cmp.Comparer(func(a, b *mat.SymDense) bool {
			return a == b || a != nil && b != nil &&
				mat.Equal(a, b)
		})
		if diff := cmp.Diff(p, got, cmpopts.IgnoreFields(irl.Problem{}, "MDP"), equal, equalSym,
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-wrote +read):\n%s", name, diff)
		}
		// rows are normalised again
		if diff := cmp.Diff(p.MDP.Dense(), got.MDP.Dense(), cmpopts.EquateApprox(0, 1e-15)); diff != "" {
			t.Errorf("%s: transitions (-wrote +read):\n%s", name, diff)
		}
	}
}

// TestFloatDemos: NumPy makes floats of what a text file holds; whole ones are states and actions like any other.
func TestFloatDemos(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	want := problems(t)["state-only"]
	arrays := arraysOf(want)
	for _, kind := range []npz.Type{npz.Float64, npz.Float32} {
		floats := arrays[demos]
		floats.Type = kind
		arrays[demos] = floats
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Demos, want.Demos) {
			t.Errorf("demonstrations %v, want %v", got.Demos, want.Demos)
		}
	}
}

// TestOneStd: one number is the standard deviation of all rewards, however it is stored.
func TestOneStd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	arrays := arraysOf(problems(t)["state-action"])
	for _, shape := range [][]int{nil, {1}} {
		arrays[priorStd] = npz.Floats([]float64{2}, shape...)
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		p, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Repeat([]float64{2}, p.RewardDim()); !slices.Equal(p.Prior.Std, want) {
			t.Errorf("of the shape %v: standard deviations %v", shape, p.Prior.Std)
		}
	}
}

// TestZeroStd: a reward of standard deviation zero is known, whichever it is.
func TestZeroStd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	for _, std := range [][]float64{{0, 2, 3}, {2, 0, 3}, {0, 0, 3}} {
		if err := npz.Write(path, map[string]npz.Array{
			"transitions": npz.Floats(wantP, 3, 2, 3), "prior_mean": npz.Floats([]float64{-1, 0, 2}, 3),
			"prior_std": npz.Floats(std, 3), "demos": npz.Ints(nil, 0, 2), "discount": npz.Scalar(.9),
			"beta": npz.Scalar(2),
		}); err != nil {
			t.Fatal(err)
		}
		p, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		want := mat.NewSymDense(3, nil)
		for i, s := range std {
			want.SetSym(i, i, s*s)
		}
		if !mat.Equal(p.Prior.Covariance(), want) {
			t.Errorf("standard deviations %v: covariance %v", std, p.Prior.Covariance())
		}
		factor, err := p.Prior.Factor()
		if err != nil {
			t.Fatal(err)
		}
		free := 0
		for _, s := range std {
			if s > 0 {
				free++
			}
		}
		if _, k := factor.Dims(); k != free {
			t.Errorf("standard deviations %v: a factor of %d columns, want %d", std, k, free)
		}
	}
}

// TestIgnored names what is no array of a problem.
func TestIgnored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	for name, p := range problems(t) {
		arrays := arraysOf(p)
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		if got, err := Ignored(path); err != nil || len(got) > 0 {
			t.Errorf("%s: %v (error %v), want none", name, got, err)
		}
		arrays["beta_logstd"], arrays["note"] = npz.Scalar(1), npz.Scalar(2)
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		if got, err := Ignored(path); err != nil || !slices.Equal(got, []string{"beta_logstd", "note"}) {
			t.Errorf("%s: %v (error %v), want beta_logstd and note", name, got, err)
		}
	}
	arrays := arraysOf(problems(t)["state-only"])
	arrays[stateFeats], arrays[lengthscale], arrays[rowStarts] = npz.Scalar(1), npz.Scalar(1), npz.Scalar(0)
	if err := npz.Write(path, arrays); err != nil {
		t.Fatal(err)
	}
	_, sparse := arrays[probs]
	want := []string{lengthscale, stateFeats, rowStarts}
	if sparse {
		want = want[:2]
	}
	if got, err := Ignored(path); err != nil || !slices.Equal(got, want) {
		t.Errorf("without a kernel: %v (error %v)", got, err)
	}
	arrays[posteriorKind], arrays["posterior_samples"] = npz.String("prior"), npz.Scalar(1)
	for name := range ofAnswers {
		arrays[name] = npz.Scalar(1)
	}
	if err := npz.Write(path, arrays); err != nil {
		t.Fatal(err)
	}
	if got, err := Ignored(path); err != nil || !slices.Equal(got, want) {
		t.Errorf("of an answer: %v (error %v), want %v", got, err, want)
	}
	if _, err := Ignored(path + "x"); err == nil {
		t.Error("no error")
	}
}

// A small file may claim an array that would fill the memory, and deflate can make good that claim.
func TestArraysAreLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	entry := func(name string, method uint16, content []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	header := "{'descr': '<f8', 'fortran_order': False, 'shape': (12000, 1, 12000), }\n"
	entry("transitions", zip.Deflate, append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(header)), 0},
		header...))
	for _, name := range []string{"prior_mean", "prior_std", "demos", "discount", "beta"} {
		entry(name, zip.Store, nil)
	}
	entry("padding", zip.Store, make([]byte, 2<<20)) // 2 MiB could hold a thousandfold when inflated
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil ||
		!strings.Contains(err.Error(), `"transitions": its shape [12000 1 12000] is of more than 134217728`) {
		t.Errorf("error %v", err)
	}
}

// kernel returns what gives a problem a kernel prior, but for the arrays given: nil for missing. Its name is a number,
// for want of texts that can be written.
func kernel(but map[string]*npz.Array) func(map[string]npz.Array) {
	return func(m map[string]npz.Array) {
		m["prior_kernel"], m["prior_lengthscale"] = npz.Scalar(1), npz.Scalar(1)
		m["state_features"] = npz.Floats(make([]float64, 6), 3, 2)
		for name, a := range but {
			if delete(m, name); a != nil {
				m[name] = *a
			}
		}
	}
}

func TestBadProblems(t *testing.T) {
	good := func() map[string]npz.Array {
		return map[string]npz.Array{
			"transitions": npz.Floats(append([]float64(nil), wantP...), 3, 2, 3),
			"prior_mean":  npz.Floats([]float64{-1, 0, 2}, 3), "prior_std": npz.Floats([]float64{3, 1, .5}, 3),
			"demos": npz.Ints([]int{0, 0, 1, 0}, 2, 2), "discount": npz.Scalar(.9), "beta": npz.Scalar(2),
		}
	}
	path := filepath.Join(t.TempDir(), "p.npz")
	if err := npz.Write(path, good()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(map[string]npz.Array)
		want  string
	}{
		"missing arrays": {func(m map[string]npz.Array) { delete(m, "beta"); delete(m, "prior_std") },
			"missing beta, prior_std (or prior_cov, prior_low_rank, or prior_kernel); it holds demos, discount, " +
				"prior_mean, transitions"},
		"two priors": {func(m map[string]npz.Array) { m["prior_cov"] = npz.Floats(make([]float64, 9), 3, 3) },
			"both prior_std and prior_cov"},
		"rank": {func(m map[string]npz.Array) { m["transitions"] = npz.Floats(wantP, 6, 3) },
			"transitions has the shape [6 3]"},
		"not square": {func(m map[string]npz.Array) { m["transitions"] = npz.Floats(wantP, 2, 3, 3) },
			"transitions has the shape [2 3 3], want [states, actions, states], as transpose(1, 0, 2) gives"},
		"no states": {func(m map[string]npz.Array) { m["transitions"] = npz.Floats(nil, 0, 2, 0) },
			"transitions has the shape"},
		"NaN": {func(m map[string]npz.Array) { m["transitions"].Data[10] = math.NaN() },
			"transitions[1,1,1] = NaN"},
		"row sum": {func(m map[string]npz.Array) { m["transitions"].Data[0] = .2 },
			"transitions[0,0] sums to 1.1"},
		"negative": {func(m map[string]npz.Array) { m["transitions"].Data[0], m["transitions"].Data[1] = -.1, 1.1 },
			"transitions[0,0,0] = -0.1"},
		"prior shape": {func(m map[string]npz.Array) { m["prior_mean"] = npz.Floats(make([]float64, 2), 2) },
			"prior_mean has the shape [2]"},
		"std shape": {func(m map[string]npz.Array) { m["prior_std"] = npz.Floats(make([]float64, 6), 3, 2) },
			"prior_std has the shape [3 2]"},
		"β's std": {func(m map[string]npz.Array) { m["beta_log_std"] = npz.Scalar(-1) }, "log β = -1"},
		"zero stds": {func(m map[string]npz.Array) { m["prior_std"] = npz.Scalar(0) },
			"all rewards would be known; give at least one a standard deviation"},
		"negative std beside a zero": {func(m map[string]npz.Array) {
			m["prior_std"].Data[0], m["prior_std"].Data[1] = 0, -1
		}, "prior std[1] = -1"},
		"infinite": {func(m map[string]npz.Array) { m["prior_mean"].Data[1] = math.Inf(1) },
			"prior_mean[1] = +Inf"},
		"demos shape": {func(m map[string]npz.Array) { m["demos"] = npz.Ints([]int{0, 0, 0, 1}, 4) },
			"demos has the shape [4]"},
		"demos by trajectory": {func(m map[string]npz.Array) { m["demos"] = npz.Ints([]int{0, 0, 0, 1}, 1, 2, 2) },
			"demos has the shape [1 2 2], want [n, 2]: a state and an action in each row, as reshape(-1, 2) gives"},
		"SciPy's own file": {func(m map[string]npz.Array) {
			clear(m)
			for _, name := range []string{"data", "indices", "indptr", "shape", "format"} {
				m[name] = npz.Ints([]int{1}, 1)
			}
		}, "indptr of the CSR matrix as transitions_probs, transitions_indices and transitions_indptr"},
		"half a demo": {func(m map[string]npz.Array) { m["demos"] = npz.Floats([]float64{0, 0, 1, 0.5}, 2, 2) },
			"demos[1,1] = 0.5, want a whole number"},
		"truth values as demos": {func(m map[string]npz.Array) {
			m["demos"] = npz.Array{Shape: []int{1, 2}, Data: []float64{0, 1}, Type: npz.Bool}
		}, "demos holds truth values"},
		"demo state":  {func(m map[string]npz.Array) { m["demos"].Data[2] = 3 }, "demos[1]: state 3"},
		"demo action": {func(m map[string]npz.Array) { m["demos"].Data[1] = -1 }, "demos[0]: action -1"},
		"discount":    {func(m map[string]npz.Array) { m["discount"] = npz.Scalar(1) }, "discount = 1"},
		"two betas": {func(m map[string]npz.Array) { m["beta"] = npz.Floats([]float64{1, 2}, 2) },
			"beta has the shape [2]"},
		"beta": {func(m map[string]npz.Array) { m["beta"] = npz.Scalar(0) }, "β = 0"},
		"initial": {func(m map[string]npz.Array) { m["initial"] = npz.Floats([]float64{1, 1, 0}, 3) },
			"initial sums to 2"},
		"initial size": {func(m map[string]npz.Array) { m["initial"] = npz.Floats([]float64{1, 0}, 2) },
			"initial has the shape [2]"},
		"cov shape": {func(m map[string]npz.Array) {
			delete(m, "prior_std")
			m["prior_cov"] = npz.Floats(make([]float64, 3), 3)
		},
			"prior_cov has the shape [3]"},
		"no lengthscale": {kernel(map[string]*npz.Array{"prior_lengthscale": nil}),
			"missing prior_lengthscale (of prior_kernel)"},
		"no output std": {kernel(map[string]*npz.Array{"prior_std": nil}), "missing prior_std (of prior_kernel)"},
		"no features":   {kernel(map[string]*npz.Array{"state_features": nil}), `no array "state_features"`},
		"kernel and cov": {kernel(map[string]*npz.Array{"prior_cov": {Shape: []int{0}}}),
			"both prior_cov and prior_kernel"},
		"number for kernel": {kernel(nil),
			`array "prior_kernel": its dtype is "<f8" and its shape [], want texts`},
		"features' shape": {kernel(map[string]*npz.Array{"state_features": {Shape: []int{3},
			Data: make([]float64, 3)}}),
			"state_features has the shape [3], want that of prior_mean, [3], and one more axis"},
		"lengthscale's shape": {kernel(map[string]*npz.Array{"prior_lengthscale": {Shape: []int{1, 1},
			Data: []float64{1}}}),
			"prior_lengthscale has the shape [1 1]"},
		"low rank's shape": {func(m map[string]npz.Array) {
			m["prior_low_rank"] = npz.Floats(make([]float64, 4), 2, 2)
		}, "prior_low_rank has the shape [2 2]"},
		"low rank's numbers": {func(m map[string]npz.Array) {
			m["prior_low_rank"] = npz.Floats([]float64{0, 1, math.NaN()}, 3, 1)
		}, "prior_low_rank[2,0] = NaN"},
		"tiny std": {func(m map[string]npz.Array) { m["prior_std"].Data[2] = 1e-300 },
			"prior std[2] = 1e-300, want a number from"},
		"asymmetric": {func(m map[string]npz.Array) {
			delete(m, "prior_std")
			m["prior_cov"] = npz.Floats([]float64{1, .5, 0, 0, 1, 0, 0, 0, 1}, 3, 3)
		}, "prior_cov is not symmetric: 0.5 at [0 1], 0 at [1 0]"},
		"indefinite": {func(m map[string]npz.Array) {
			delete(m, "prior_std")
			m["prior_cov"] = npz.Floats([]float64{1, 2, 0, 2, 1, 0, 0, 0, 1}, 3, 3)
		}, "smallest eigenvalue is -1"},
	} {
		arrays := good()
		c.spoil(arrays)
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one with the path and %q", name, err, c.want)
		}
	}
	if err := os.Truncate(path, 200); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("truncated file: error %v", err)
	}
	if err := Write(path, &irl.Problem{}); err == nil {
		t.Error("a problem without MDP was written")
	}
}

// TestMemoryNeed: by the headers alone, and not less than what reading takes.
func TestMemoryNeed(t *testing.T) {
	const states, actions = 300, 4
	path := filepath.Join(t.TempDir(), "dense.npz")
	p := make([]float64, states*actions*states)
	for i := range p {
		p[i] = 1. / states
	}
	if err := npz.Write(path, map[string]npz.Array{
		"transitions": npz.Floats(p, states, actions, states),
		"prior_mean":  npz.Floats(make([]float64, states), states),
		"prior_std":   npz.Scalar(1), "demos": npz.Ints(nil, 0, 2), "discount": npz.Scalar(0.9), "beta": npz.Scalar(1),
	}); err != nil {
		t.Fatal(err)
	}
	need, err := MemoryNeed(path)
	if want := 40. * states * actions * states; err != nil || need < want || need > 1.01*want {
		t.Errorf("%.0f bytes (error %v), want a little more than %.0f", need, err, want)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	problem, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // of what the array has left while it grew
	runtime.ReadMemStats(&after)
	if took := float64(after.HeapAlloc) - float64(before.HeapAlloc); took > need || took < need/10 {
		t.Errorf("reading took %.0f bytes, estimated %.0f", took, need)
	}
	runtime.KeepAlive(problem)
	if _, err := MemoryNeed(path + "x"); err == nil {
		t.Error("no error")
	}
}

// TestMemoryNeedOfKernels: the covariance of a kernel counts, which the file does not hold; the factor of a linear one
// is no larger than the features.
func TestMemoryNeedOfKernels(t *testing.T) {
	const states = 20_000
	path := filepath.Join(t.TempDir(), "p.npz")
	for name, want := range map[string]float64{"rbf": 24 * states * states, "linear": 24 * 2 * states} {
		if err := npz.Write(path, map[string]npz.Array{
			"prior_mean": npz.Floats(make([]float64, states), states), "prior_kernel": npz.String(name),
			"state_features": npz.Floats(make([]float64, states), states, 1),
		}); err != nil {
			t.Fatal(err)
		}
		if need, err := MemoryNeed(path); err != nil || need < want || need > 1.01*want {
			t.Errorf("%s: %.0f bytes (error %v), want a little more than %.0f", name, need, err, want)
		}
	}
}
