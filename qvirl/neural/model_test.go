package neural

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/backend"
)

func goBackend(t *testing.T) compute.Backend {
	t.Helper()
	choice, err := backend.Get("go")
	if err != nil {
		t.Fatal(err)
	}
	return choice.Backend
}

func TestStoredModelsPredictTheSame(t *testing.T) {
	task := testTask(1)
	m := fit(t, testConfig(), classifier{}, task)[0]
	states := task.HeldOut[0].Observations
	want, err := m.Predict(states)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "deep", "model")
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load[classifier](dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.Predict(states)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.LogProbs, want.LogProbs) || !slices.Equal(got.Values, want.Values) || len(got.Values) != 51*2 {
		t.Errorf("after loading %v, before %v", got, want)
	}
	if loaded.Spec() != m.Spec() || loaded.Name() != "test" || loaded.Seconds() != m.Seconds() ||
		len(loaded.Curve()) != len(m.Curve()) {
		t.Errorf("after loading %+v, before %+v", loaded.Spec(), m.Spec())
	}
	for i := 0; i < len(want.LogProbs); i += 2 {
		if sum := math.Exp(float64(want.LogProbs[i])) +
			math.Exp(float64(want.LogProbs[i+1])); !scalar.EqualWithinAbs(sum, 1, 1e-5) {
			t.Fatalf("the probabilities of state %d sum to %g", i/2, sum)
		}
	}
	if _, err := m.Predict(states[:4]); err == nil {
		t.Error("no error for 4 numbers as observations of 3")
	}

	spoilt := *m
	spoilt.trained = slices.Clone(m.trained)
	spoilt.trained[0] = float32(math.NaN())
	if err := spoilt.Save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Load[classifier](dir, "go"); err == nil || !strings.Contains(err.Error(), "is not finite") ||
		!strings.Contains(err.Error(), weightsFile) {
		t.Errorf("error %v for a weight that is no number", err)
	}
	if err := os.Remove(filepath.Join(dir, weightsFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load[classifier](dir, "go"); err == nil || !strings.Contains(err.Error(), weightsFile) {
		t.Errorf("error %v without weights", err)
	}
	if _, err := Load[classifier](t.TempDir(), "go"); err == nil || !strings.Contains(err.Error(), "holds no model") {
		t.Errorf("error %v for an empty folder", err)
	}
	unfinished := t.TempDir()
	if err := os.Mkdir(filepath.Join(unfinished, CheckpointDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Load[classifier](unfinished, "go"); err == nil ||
		!strings.Contains(err.Error(), "checkpoint is of a training that has not ended") {
		t.Errorf("error %v for an interrupted training", err)
	}
}

// TestWeightsOfAnotherModelAreRefused, as an interruption leaves them that comes while one model is stored in the place
// of another. Models that were stored without a digest of their weights are read as before.
func TestWeightsOfAnotherModelAreRefused(t *testing.T) {
	models := fit(t, testConfig(), classifier{}, testTask(2))
	dir, other := t.TempDir(), t.TempDir()
	for i, dir := range []string{dir, other} {
		if err := models[i].Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(other, weightsFile), filepath.Join(dir, weightsFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load[classifier](dir, "go"); err == nil || !strings.Contains(err.Error(), "another model") ||
		!strings.Contains(err.Error(), weightsFile) {
		t.Errorf("error %v, want one that names the weights", err)
	}
	path := filepath.Join(dir, DescriptionFile)
	var d map[string]any
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	delete(d, "sha256")
	if err == nil {
		text, err = json.Marshal(d)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load[classifier](dir, "go"); err != nil {
		t.Errorf("error %v for a model stored without a digest", err)
	}
}

// TestModelsThatCannotBeAreRefused: a description that was edited to what no training makes is not predicted from.
func TestModelsThatCannotBeAreRefused(t *testing.T) {
	m := fit(t, testConfig(), classifier{}, testTask(1))[0]
	dir := t.TempDir()
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, DescriptionFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for field, values := range map[string][]string{
		"beta": {"0", "-1"}, "discount": {"7", "1", "-0.5"}, "std": {"[1, 0, 1]", "[1, -2, 1]", "[1]"},
		"mean":        {"[1, 2]"},
		"actions":     {"1"},
		"observation": {"0"},
	} {
		for _, value := range values {
			var d map[string]any
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			part := d["spec"].(map[string]any)
			if field == "std" || field == "mean" {
				part = d["scale"].(map[string]any)
			}
			if _, ok := part[field]; !ok {
				t.Fatalf("the description has no %s: %s", field, text)
			}
			part[field] = json.RawMessage(value)
			spoilt, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, spoilt, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Load[classifier](dir, "go"); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s = %s: error %v, want one that names %s", field, value, err, path)
			}
		}
	}
}

func TestPredictionsDoNotDependOnHowManyThereAre(t *testing.T) {
	task := testTask(1)
	m := fit(t, testConfig(), classifier{}, task)[0]
	random := rand.New(rand.NewPCG(1, 1))
	states := make([]float32, 3*2500) // more than the largest block
	for i := range states {
		states[i] = float32(random.NormFloat64())
	}
	all, err := m.Predict(states)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 100, 2400} {
		one, err := m.Predict(states[3*i : 3*i+3])
		if err != nil {
			t.Fatal(err)
		}
		for a := range 2 {
			if !(math.Abs(float64(one.LogProbs[a]-all.LogProbs[2*i+a])) <= 1e-5) { // float32
				t.Errorf("state %d: %v by itself, %v among others", i, one.LogProbs, all.LogProbs[2*i:2*i+2])
			}
		}
	}
}

func TestScoresOfKnownProbabilities(t *testing.T) {
	logOf := func(p ...float64) (out []float32) {
		for _, x := range p {
			out = append(out, float32(math.Log(x)))
		}
		return out
	}
	// Four states with 0.75 : 0.25, in which the likely action was taken three times, are calibrated; two with 0.95 :
	// 0.05, in which it was taken once, are off by 0.45 in both bins.
	probs := slices.Concat(logOf(.75, .25), logOf(.75, .25), logOf(.75, .25), logOf(.75, .25), logOf(.95, .05),
		logOf(.95, .05))
	s := scores(probs, []int{0, 0, 0, 1, 0, 1}, 2)
	if want := (3*math.Log(.75) + math.Log(.25) + math.Log(.95) +
		math.Log(.05)) / 6; !scalar.EqualWithinAbs(s.LogLikelihood, want, 1e-6) {
		t.Errorf("log-likelihood %g, want %g", s.LogLikelihood, want)
	}
	if want := 4 * 0.45 / 12; !scalar.EqualWithinAbs(s.ECE, want, 1e-6) {
		t.Errorf("ECE %g, want %g", s.ECE, want)
	}
	if !scalar.EqualWithinAbs(s.Accuracy, 4.0/6, 1e-9) || s.Transitions != 6 {
		t.Errorf("%+v, want 4 of 6 most probable actions", s)
	}
	// a model that holds all actions for equally probable has named none
	if tied := scores(logOf(.5, .5), []int{0}, 2); tied.Accuracy != 0 {
		t.Errorf("%+v of a model that prefers no action", tied)
	}
}

// TestHeldOutTransitionsAreEvenlySpaced, where there are more than are looked at.
func TestHeldOutTransitionsAreEvenlySpaced(t *testing.T) {
	const n = 3 * heldOutLimit
	d := demo.Trajectory{Observations: make([]float32, n+1), Actions: make([]int, n)}
	for i := range n {
		d.Observations[i], d.Actions[i] = float32(i), i
	}
	h := newHeldOut([]demo.Trajectory{d}, []*Data{{Scale: &Scale{Mean: []float32{0}, Std: []float32{1}}, Actions: n}})
	if len(h.actions) != heldOutLimit || len(h.states) != 1 {
		t.Fatalf("%d transitions in %d blocks, want %d in one", len(h.actions), len(h.states), heldOutLimit)
	}
	states, err := tensors.CopyFlatData[float32](h.states[0])
	if err != nil {
		t.Fatal(err)
	}
	for k, a := range h.actions {
		if a != 3*k+2 || states[k] != float32(a) {
			t.Fatalf("transition %d is number %d, from state %g, want number %d", k, a, states[k], 3*k+2)
		}
	}
}

func TestScoreLooksAtWhatTheFilterChooses(t *testing.T) {
	task := testTask(1)
	m := fit(t, testConfig(), classifier{}, task)[0]
	n := 0
	s, err := Score(m, task.HeldOut, func(o []float32) bool {
		n++
		return o[0] > 1 // in the environment's units
	})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, d := range task.HeldOut {
		for k := range d.Actions {
			if d.Observation(k)[0] > 1 {
				count++
			}
		}
	}
	if s.Transitions != count || n != 80 || count == 0 {
		t.Errorf("%d of %d transitions, want %d", s.Transitions, n, count)
	}
	if _, err := Score(m, task.HeldOut, func([]float32) bool { return false }); err == nil {
		t.Error("no error without transitions")
	}
	bad := testTask(1).HeldOut
	bad[1].Actions[2] = 5
	if _, err := Score(m, bad, nil); err == nil || !strings.Contains(err.Error(), "trajectory 1: action[2] is 5") {
		t.Errorf("error %v for an action out of range", err)
	}
}

func TestApprenticeTakesTheBestActionOrSamples(t *testing.T) {
	task := testTask(1)
	m := fit(t, testConfig(), classifier{}, task)[0]
	obs := gym.Array{DType: "float32", Shape: []int{400, 3}, Bytes: make([]byte, 400*3*4)} // all zero
	p, err := m.Predict(make([]float32, 3))
	if err != nil {
		t.Fatal(err)
	}
	generators := make([]*rand.Rand, 400)
	seed := func() {
		for i := range generators {
			generators[i] = rand.New(rand.NewPCG(uint64(i), 0))
		}
	}
	seed()
	best := 0
	if p.Values[1] > p.Values[0] {
		best = 1
	}
	greedy, err := Policy(m, false)(obs, generators)
	if err != nil || slices.Contains(greedy, 1-best) {
		t.Errorf("the apprentice takes %v, want %d always (error %v)", greedy[:10], best, err)
	}
	seed()
	sampled, err := Policy(m, true)(obs, generators)
	if err != nil {
		t.Fatal(err)
	}
	ones := 0.0
	for _, a := range sampled {
		ones += float64(a)
	}
	want := math.Exp(float64(p.LogProbs[1]))
	if got := ones / 400; !scalar.EqualWithinAbs(got, want, 4*math.Sqrt(want*(1-want)/400)) { // four standard errors
		t.Errorf("action 1 is taken in %g of all cases, its probability is %g", got, want)
	}
	m.calibration = &Calibration{Trust: 0, Frequencies: []float64{want, 1 - want}}
	seed()
	if again, err := Policy(m, true)(obs, generators); err != nil || !slices.Equal(again, sampled) {
		t.Errorf("calibration changes what the apprentice draws (error %v)", err)
	}
}

// TestImpossibleActionsAreNotDrawn, whatever rounding leaves of the sum of the others' probabilities.
func TestImpossibleActionsAreNotDrawn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for range 100 {
		if a := draw([]float32{float32(math.Inf(-1)), -0.7, float32(math.Inf(-1))}, random); a != 1 {
			t.Fatalf("action %d was drawn, want 1", a)
		}
	}
}

// TestPredictionsHoldNoMemory: a prediction copies no weights to the device and keeps nothing there. The garbage
// collector, which does not see a device's memory, is off.
func TestPredictionsHoldNoMemory(t *testing.T) {
	names := []string{"go"}
	if len(backend.Plugins()) > 0 {
		names = append(names, "xla")
	}
	for _, name := range names {
		c := testConfig()
		c.Hidden, c.Steps, c.Backend = []int{512, 512}, 1, name
		task := testTask(1)
		m := fit(t, c, classifier{}, task)[0]
		weights := uint64(4 * len(m.trained))
		predict := func(times int) {
			for range times {
				if _, err := m.Predict(task.HeldOut[0].Observations[:3]); err != nil {
					t.Fatal(err)
				}
			}
		}
		predict(50)
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		const times = 200
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resident := residentBytes(t)
		predict(times)
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / times; got >= weights/4 {
			t.Errorf("%s: a prediction of a state allocates %d bytes, its weights have %d", name, got, weights)
		}
		if grown := residentBytes(t) - resident; grown > int64(times*weights/4) {
			t.Errorf("%s: %d predictions add %d bytes to the process, weights have %d", name, times, grown, weights)
		}
	}
}

// residentBytes returns how much memory the process holds; 0 where the system does not tell.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
