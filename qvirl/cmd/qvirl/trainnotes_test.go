package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// TestTrainingNotesWhatItDoesNotSee: arrays that are not read, and features that networks hardly see unless these are
// standardised.
func TestTrainingNotesWhatItDoesNotSee(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "episode,action,obs_0,obs_1,obs_2,next_obs_0,next_obs_1,next_obs_2,done\n" +
		"0,0,1,1e-5,0,2,-2e-4,0,0\n0,1,2,-2e-4,0,1,0,0,1\n"
	for name, content := range map[string]string{"demos.csv": text,
		"own.json":      `{"Training": {"Hidden": [4], "Batch": 2, "Folds": 0}}`,
		"standard.json": `{"Training": {"Hidden": [4], "Batch": 2, "Folds": 0, "Unit": 0}}`} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for config, noted := range map[string]bool{"own.json": true, "standard.json": false} {
		_, stderr, status := runQVIRL("train", "--demos", "demos.csv", "--method", "bc", "--beta", "1", "--steps", "1",
			"--backend", "go", "--config", config, "--out", "model", "--force")
		if status != 0 || !strings.Contains(stderr, "misspelt arrays are ignored: done;") ||
			strings.Contains(stderr, "hardly reach the networks: 1;") != noted {
			t.Errorf("%s: status %d, %s", config, status, stderr)
		}
	}
	_, stderr, status := runQVIRL("train", "--demos", "demos.csv", "--method", "qvirl", "--beta", "5", "--steps", "1",
		"--backend", "go", "--config", "own.json", "--out", "short")
	if status != 0 || !strings.Contains(stderr, "note: after 1 step the log-likelihood of the demonstrations is") {
		t.Errorf("one step of training: status %d, %s", status, stderr)
	}
}

// TestFeaturesThatHardlyVaryAreNoted; not constant ones, nor those that are standardised, as those are that vary little
// about an offset. Of many features ten are named.
func TestFeaturesThatHardlyVaryAreNoted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noted := func(feature func(f int) float64, features int) string {
		d := demo.Trajectory{Actions: make([]int, 199)}
		for range 200 {
			for f := range features {
				d.Observations = append(d.Observations, float32(feature(f)))
			}
		}
		var out strings.Builder
		noteUnits(&out, &neural.Task{Observation: features, Runs: []neural.Run{{Demos: []demo.Trajectory{d}}}}, nil)
		return out.String()
	}
	x := func(f int) float64 {
		z := random.NormFloat64()
		return []float64{0.9 + 0.001*z, 0.9, 1000 + 0.001*z, 0.3 + 0.1*z, 1e-4 * z, -0.5 + 0.001*z}[f]
	}
	if got := noted(x, 6); !strings.Contains(got, "hardly reach the networks: 4; store") ||
		!strings.Contains(got, `{"Training": {"Unit": 0`) {
		t.Errorf("features that hardly vary: %q", got)
	}
	for what, scale := range map[string]float64{"hardly reach": 1e-4, "saturate": 0.8} {
		got := noted(func(int) float64 { return scale * random.NormFloat64() }, 3000)
		if !strings.Contains(got, what) || !strings.Contains(got, ": 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …; ") {
			t.Errorf("%s: %.300q", what, got)
		}
	}
}

// doubted is a model whose probabilities are hardly trusted.
type doubted struct{ neural.Model }

func (doubted) Curve() []neural.CurvePoint       { return []neural.CurvePoint{{Step: 1}} }
func (doubted) Spec() neural.Spec                { return neural.Spec{Actions: 2, Demos: 3} }
func (doubted) Calibration() *neural.Calibration { return &neural.Calibration{Trust: 0.1} }

// TestBetasAreAdvisedWhereTrainTakesThem: not where several were given already, or are refused.
func TestBetasAreAdvisedWhereTrainTakesThem(t *testing.T) {
	one, several := []float64{1}, []float64{1, 5}
	in := environmentOptions{env: "CartPole-v1"}
	for name, c := range map[string]struct {
		method  string
		options trainOptions
		want    bool
	}{
		"one":                   {"qvirl", trainOptions{betas: one, explore: true}, true},
		"several":               {"qvirl", trainOptions{betas: several, explore: true}, false},
		"no use for any":        {"bc", trainOptions{betas: one, explore: true}, false},
		"with rollouts":         {"qvirl", trainOptions{betas: one, explore: true, environmentOptions: in}, false},
		"with successors alone": {"qvirl", trainOptions{betas: one, environmentOptions: in}, true},
	} {
		entry, err := catalogue.Find(c.method)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		noteFit(&out, doubted{}, c.options.mayTakeBetas(entry), false)
		if text := out.String(); !strings.Contains(text, "learn from more demonstrations") ||
			strings.Contains(text, "--beta") != c.want {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestUnitsComeBeforeOtherAdvice where features are named that networks see little of, among others of 10⁶.
func TestUnitsComeBeforeOtherAdvice(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for scale, want := range map[float64]bool{1e-6: true, 0.3: false} {
		var d demo.Trajectory
		for range 200 {
			d.Observations = append(d.Observations, float32(1e6*random.NormFloat64()),
				float32(scale*random.NormFloat64()))
			d.Actions = append(d.Actions, 0)
		}
		var out strings.Builder
		units := noteUnits(&out, &neural.Task{Observation: 2, Runs: []neural.Run{{Demos: []demo.Trajectory{d}}}}, nil)
		noteFit(&out, doubted{}, false, units)
		if text := out.String(); strings.Contains(text, "hardly reach the networks: 1;") != want ||
			strings.Contains(text, ": first change the units of the features that are named above; after that, learn "+
				"from more") != want ||
			!strings.Contains(text, "learn from more demonstrations") {
			t.Errorf("a feature of %g: %q", scale, text)
		}
	}
}

// TestNothingIsNotedBeforeItIsRefused: what the command line gets wrong is said first, and alone.
func TestNothingIsNotedBeforeItIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("demos.csv", []byte("episode,action,obs_0,next_obs_0,done\n0,0,1e-5,2e-5,0\n0,1,2e-5,0,1\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("there", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("there/model.json", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, flags := range map[string][]string{"--discount 1": {"--beta", "1", "--discount", "1", "--out", "model"},
		"--beta +Inf": {"--beta", "inf", "--out", "model"}, "exists already": {"--beta", "1", "--out", "there"}} {
		_, stderr, status := runQVIRL(append([]string{"train", "--demos", "demos.csv", "--method", "bc", "--backend",
			"go"}, flags...)...)
		if status != 1 || !strings.Contains(stderr, want) || strings.Contains(stderr, "note:") {
			t.Errorf("%v: status %d, %s", flags, status, stderr)
		}
	}
}

// TestOtherEnvironmentsAreNoticed: another id is noted, and other shapes are refused; a model of one trajectory says
// what its calibration is worth.
func TestOtherEnvironmentsAreNoticed(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("BIRL_PYTHON", "no-such-python")
	writeDemos(t, "flat.npz", 6)
	set, err := demo.Open("flat.npz")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"Here-v0", "There-v0"} {
		set.Environment = id
		if err := set.Write(id + ".npz"); err != nil {
			t.Fatal(err)
		}
	}
	set.ObservationShape, set.Trajectories = []int{1}, []demo.Trajectory{{Observations: []float32{1, 2},
		Actions: []int{1}}}
	if err := set.Write("narrow.npz"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("c.json", []byte(`{"Training": {"Hidden": [4], "Batch": 2, "Folds": 2}}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"train --demos Here-v0.npz --method qvirl --beta 1 --out x --env There-v0", 1,
			"note: Here-v0.npz is of the environment Here-v0, and --env of There-v0\n"},
		{"train --demos Here-v0.npz --method qvirl --beta 1 --out model --trajectories 1 --steps 2 --config c.json", 0,
			"calibrated on parts of the one trajectory"},
		{"score --model model --demos There-v0.npz", 0,
			"note: model is of the environment Here-v0, and There-v0.npz of There-v0\n"},
		{"rollout --model model --env There-v0", 1,
			"note: model is of the environment Here-v0, and --env of There-v0\n"},
		{"score --model model --demos narrow.npz", 1, "narrow.npz has observations of 1 numbers and 2 actions, the " +
			"model was learnt for 3 and 2"},
		{"export --model model --demos narrow.npz --out x.nc", 1, "narrow.npz has observations of 1 numbers"},
		{"score --model model --demos Here-v0.npz", 0, ""},
		{"train --demos Here-v0.npz --method qvirl --beta 1 --out two --trajectories 2 --steps 2 --config c.json", 0,
			""},
	} {
		_, stderr, status := runQVIRL(append(strings.Fields(c.args), "--backend", "go")...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %q; want %q", c.args, status, stderr, c.want)
		}
		if c.want == "" && (strings.Contains(stderr, "of the environment") || strings.Contains(stderr, "the one")) {
			t.Errorf("%s: %q", c.args, stderr)
		}
	}
	if err := os.Remove("model/" + usedFile); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := runQVIRL("score", "--model", "model", "--demos", "Here-v0.npz", "--backend", "go")
	if status != 0 || !strings.Contains(stderr, "note: model holds no demonstrations.json: whether") {
		t.Errorf("score of a model that does not tell what it learnt from: status %d, %q", status, stderr)
	}
}
