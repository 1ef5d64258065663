package neural

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/irl"
)

// noisyTask is testTask with one action in so many drawn at random: networks that remember them are too sure of
// themselves.
func noisyTask(runs, every int) *Task {
	t := testTask(runs)
	random := rand.New(rand.NewPCG(3, 3))
	blur := func(trajectories []demo.Trajectory) {
		for i := range trajectories {
			for k := range trajectories[i].Actions {
				if random.IntN(every) == 0 {
					trajectories[i].Actions[k] = random.IntN(2)
				}
			}
		}
	}
	for r := range t.Runs {
		blur(t.Runs[r].Demos)
	}
	blur(t.HeldOut)
	return t
}

func TestStackIsTheGreatestPosteriorDensity(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 5, 200} {
		first, second := make([]float64, n), make([]float64, n)
		for i := range first {
			first[i], second[i] = random.Float64(), 0.3
		}
		density := func(w float64) float64 {
			sum := math.Log(w) + math.Log(1-w)
			for i := range first {
				sum += math.Log(w*first[i] + (1-w)*second[i])
			}
			return sum
		}
		best := 0.5
		for w := 0.0005; w < 1; w += 0.001 {
			if density(w) > density(best) {
				best = w
			}
		}
		if got := stack(first, second); !scalar.EqualWithinAbs(got, best, 0.001) { // the grid's step
			t.Errorf("%d actions: the weight is %g, on a grid %g", n, got, best)
		}
	}
	if got := stack([]float64{0.2, 0.7}, []float64{0.2, 0.7}); !scalar.EqualWithinAbs(got, 0.5, 1e-9) {
		t.Errorf("equal models: the weight is %g, want 0.5", got)
	}
}

// TestPartsAreForeseenOnce holds the parts of a run against its transitions, which the first number of their state
// identifies.
func TestPartsAreForeseenOnce(t *testing.T) {
	for _, lengths := range [][]int{{11}, {2}, {7, 5}, {4, 3, 6, 1, 2, 5, 9}} {
		const folds, m = 3, 2
		var run Run
		all := 0
		for _, n := range lengths {
			d := demo.Trajectory{Terminated: true, Seed: 5}
			var s Successors
			for k := range n + 1 {
				d.Observations = append(d.Observations, float32(all+k), 0)
				if k < n {
					d.Actions = append(d.Actions, (all+k)%2)
					s.Observations, s.Terminated = append(s.Observations, float32(all+k), 1),
						append(s.Terminated, (all+k)%2 == 1)
				}
			}
			all += n
			run.Demos, run.Successors = append(run.Demos, d), append(run.Successors, s)
		}
		times := make([]int, all)
		for k := range folds {
			rest, successors, foresee := without(run, k, folds)
			here := make([]int, all)
			for i, pieces := range [][]demo.Trajectory{rest, foresee} {
				for p, d := range pieces {
					if len(d.Observations) != m*(d.Len()+1) || d.Seed != demo.NoSeed {
						t.Fatalf("%v: a piece of %d transitions has %d numbers and the seed %d", lengths, d.Len(),
							len(d.Observations), d.Seed)
					}
					for j, a := range d.Actions {
						at := int(d.Observations[m*j])
						here[at]++
						times[at] += i
						if a != at%2 || int(d.Observations[m*(j+1)]) != at+1 {
							t.Fatalf("%v: transition %d has the action %d and leads to %g", lengths, at, a,
								d.Observations[m*(j+1)])
						}
						if i == 0 && (successors[p].Observations[m*j] != float32(at) ||
							successors[p].Terminated[j] != (at%2 == 1)) {
							t.Fatalf("%v: transition %d has the successors of another", lengths, at)
						}
					}
					last := int(d.Observations[m*d.Len()])
					ends, sum := false, 0
					for _, n := range lengths {
						sum += n
						ends = ends || last == sum
					}
					if d.Terminated != ends {
						t.Errorf("%v: a piece up to state %d: terminated is %v", lengths, last, d.Terminated)
					}
				}
			}
			if i := slices.IndexFunc(here, func(n int) bool { return n != 1 }); i >= 0 {
				t.Errorf("%v: part %d: transition %d is there %d times", lengths, k, i, here[i])
			}
		}
		if i := slices.IndexFunc(times, func(n int) bool { return n != 1 }); i >= 0 {
			t.Errorf("%v: transition %d is predicted %d times", lengths, i, times[i])
		}
	}
}

// TestCalibrationIsThatOfModelsOfParts makes the models of the parts one by one.
func TestCalibrationIsThatOfModelsOfParts(t *testing.T) {
	c := testConfig()
	c.Folds = 3
	task := noisyTask(2, 2)
	plain := c
	plain.Folds = 0
	own := fit(t, plain, classifier{}, task)
	observations := task.HeldOut[0].Observations
	for r, m := range fit(t, c, classifier{}, task) {
		var first, second []float64
		for k := range c.Folds {
			rest, _, foresee := without(task.Runs[r], k, c.Folds)
			part := *task
			part.Runs = []Run{{Demos: rest, Seed: task.Runs[r].Seed + uint64(k+1)*foldSeeds}}
			judge := fit(t, plain, classifier{}, &part)[0]
			count, total := make([]float64, task.Actions), 0.0
			for _, d := range rest {
				for _, a := range d.Actions {
					count[a]++
					total++
				}
			}
			for _, d := range foresee {
				p, err := judge.Predict(d.Observations[:d.Len()*task.Observation])
				if err != nil {
					t.Fatal(err)
				}
				for i, a := range d.Actions {
					first = append(first, math.Exp(float64(p.LogProbs[2*i+a])))
					second = append(second, (count[a]+frequencyPrior)/(total+2*frequencyPrior))
				}
			}
		}
		got := m.Calibration()
		// programs of one run and of five round otherwise
		if want := stack(first, second); got == nil || !scalar.EqualWithinAbs(got.Trust, want, 1e-4) {
			t.Fatalf("run %d: the calibration is %+v, want a trust of %g", r, got, want)
		}
		for a, f := range got.Frequencies {
			count, total := frequencyPrior, frequencyPrior*task.Actions
			for _, d := range task.Runs[r].Demos {
				for _, taken := range d.Actions {
					total++
					if taken == a {
						count++
					}
				}
			}
			if want := float64(count) / float64(total); !scalar.EqualWithinAbs(f, want, 1e-12) {
				t.Errorf("run %d: the frequency of action %d is %g, want %g", r, a, f, want)
			}
		}
		calibrated, err := m.Predict(observations)
		if err != nil {
			t.Fatal(err)
		}
		before, err := own[r].Predict(observations)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(calibrated.Own, before.LogProbs) || !slices.Equal(before.Own, before.LogProbs) ||
			!slices.Equal(calibrated.Values, before.Values) {
			t.Errorf("run %d: calibration changed the model", r)
		}
		for i, l := range calibrated.LogProbs {
			want := got.Trust*math.Exp(float64(before.LogProbs[i])) + (1-got.Trust)*got.Frequencies[i%2]
			if !scalar.EqualWithinAbs(math.Exp(float64(l)), want, 1e-6) {
				t.Fatalf("run %d: the probability %d is %g, want %g", r, i, math.Exp(float64(l)), want)
			}
		}
	}
}

// TestCalibrationHoldsBackConfidence lets a network remember actions half of which are random.
func TestCalibrationHoldsBackConfidence(t *testing.T) {
	c := testConfig()
	c.Steps, c.Folds = 1500, 4
	task := noisyTask(3, 1) // nothing is to be learnt
	for r, m := range fit(t, c, classifier{}, task) {
		calibrated, err := Score(m, task.HeldOut, nil)
		if err != nil {
			t.Fatal(err)
		}
		own := calibrated.Uncalibrated
		if own.LogLikelihood > -1 || calibrated.LogLikelihood < -0.8 { // a guess has −0.69
			t.Errorf("run %d: log-likelihood %g, and %g before calibration: want about that of a guess, and much less",
				r, calibrated.LogLikelihood, own.LogLikelihood)
		}
	}
}

func TestCalibrationIsStoredAndResumed(t *testing.T) {
	c := testConfig()
	c.Folds = 2
	task := noisyTask(1, 2)
	want := fit(t, c, classifier{}, task)[0]
	l, err := NewLearner("test", c, classifier{})
	if err != nil {
		t.Fatal(err)
	}
	task.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	ctx, cancel := context.WithCancel(context.Background())
	stop := irl.Progress(func(done, total int, status string) {
		if strings.HasPrefix(status, "calibration: ") {
			cancel()
		}
	})
	if _, err := l.Fit(ctx, task, stop); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	models, err := l.Fit(context.Background(), task, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := models[0].(*Fitted)
	if g, w := got.Calibration(), want.Calibration(); g.Trust != w.Trust ||
		!slices.Equal(g.Frequencies, w.Frequencies) || !slices.Equal(got.trained, want.trained) {
		t.Errorf("resumed, the calibration is %+v, want %+v", g, w)
	}
	dir := t.TempDir()
	if err := got.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load[classifier](dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	if g, w := loaded.Calibration(), want.Calibration(); g.Trust != w.Trust ||
		!slices.Equal(g.Frequencies, w.Frequencies) {
		t.Errorf("read again, the calibration is %+v, want %+v", g, w)
	}
	path := filepath.Join(dir, DescriptionFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	d["calibration"].(map[string]any)["trust"] = 1.5
	if text, err = json.Marshal(d); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load[classifier](dir, "go"); err == nil || !strings.Contains(err.Error(), "trust 1.5") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("error %v for a trust of 1.5", err)
	}
}

// TestOneTransitionIsNotCalibrated has nothing left to learn from without it.
func TestOneTransitionIsNotCalibrated(t *testing.T) {
	c := testConfig()
	c.Folds = 5
	task := testTask(1)
	task.Runs[0].Demos = []demo.Trajectory{task.Runs[0].Demos[0].Slice(0, 1)}
	if m := fit(t, c, classifier{}, task)[0]; m.Calibration() != nil {
		t.Errorf("the calibration is %+v, want none", m.Calibration())
	}
}

// TestPartsLearnWithWhatRunsExplored makes the models of parts without rollouts of their own.
func TestPartsLearnWithWhatRunsExplored(t *testing.T) {
	c := testConfig()
	c.Folds = 2
	d := &dreamer{}
	trust := func(task *Task) (out []float64) {
		for _, m := range fit(t, c, classifier{}, task) {
			out = append(out, m.Calibration().Trust)
		}
		return out
	}
	got := trust(exploringTask(d))
	if len(d.rounds) != 4 { // of two runs, at steps 0 and 20
		t.Errorf("there were the rounds %v, want those of the runs alone", d.rounds)
	}
	if again := trust(exploringTask(&dreamer{})); !slices.Equal(got, again) {
		t.Errorf("the trust is %v, and again %v", got, again)
	}
	if without := trust(testTask(2)); slices.Equal(got, without) {
		t.Errorf("the trust is %v with what was explored and without", got)
	}
}
