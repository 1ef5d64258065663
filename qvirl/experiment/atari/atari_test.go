package atari

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/neural"
)

// tiny returns a config of two steps of a small network, and a file of demonstrations at random, which a replay shows.
func tiny(t *testing.T) Config {
	t.Helper()
	command.UseInstallation()
	c := Quick()
	config := gym.Atari(c.Games[0].Environment)
	config.Autoreset = gym.Disabled
	pool, err := gym.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	set := &demo.Set{Description: pool.Describe()}
	beta := 2.0
	set.Beta, set.Replay = &beta, config.Recipe()
	if set.Trajectories, err = gym.Collect(t.Context(), pool, gym.RandomPolicy(set.Actions),
		gym.CollectOptions{Episodes: 3, MaxSteps: 40}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "demos.npz")
	if err := set.Write(path); err != nil {
		t.Fatal(err)
	}
	c.Games[0].Demos, c.Games[0].Steps = path, 2
	c.Train, c.HeldOut, c.Subsets, c.Trajectories, c.MaxSteps = 2, 1, 1, 0, 10
	c.Training.Convolutions = []neural.Convolution{{Filters: 2, Size: 8, Stride: 8}}
	c.Training.Features, c.Training.Hidden, c.Training.Batch, c.Training.ReportEvery = 8, []int{8}, 4, 1
	explores := CPU().Learners[4]
	explores.Explore = &neural.ExploreOptions{Every: 1, Keep: 2, Episodes: 2, MaxSteps: 5}
	c.Learners = append(c.Learners, explores)
	return c
}

// TestRowsOfAllMethodsAreReported: a run from stored seeds and actions to tables and curves.
func TestRowsOfAllMethodsAreReported(t *testing.T) {
	c := tiny(t)
	rows, _, record := experimenttest.Run(t, Name, c)
	for _, method := range []string{"bc", "iqlearn", "avril", "qvirl", "qvirl-aux"} {
		end := experiment.Series(rows, method, HeldOut)[0]
		first := experiment.Series(rows, method, HeldOut+At+"1")[0]
		best := experiment.Series(rows, method, HeldOutBest)[0]
		if !(end < 0) || end != experiment.Series(rows, method, HeldOut+At+"2")[0] || best != max(first, end) {
			t.Errorf("%s: held-out log-likelihoods %g after a step, %g at the end, %g at best", method, first, end,
				best)
		}
		if _, ok := experiment.Series(rows, method, Return)[0]; !ok {
			t.Errorf("%s has no return", method)
		}
	}
	if x := experiment.Series(rows, demonstrator, Frequencies)[0]; !(x < -0.5 && x > 2*math.Log(1./6)) {
		t.Errorf("the frequencies of actions have the log-likelihood %g, want about log(1/6)", x)
	}
	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Tables) != 1 || len(report.Tables[0].Rows) != 7 || len(report.Charts) != 1 ||
		len(report.Charts[0].Panels[0].Curves) != 5 {
		t.Errorf("the report has %+v", report)
	}
}

func TestFrequencies(t *testing.T) {
	train := []demo.Trajectory{{Actions: []int{0, 0, 0, 1}}} // 4/6 and 2/6, each once more
	got := frequencies(train, []demo.Trajectory{{Actions: []int{0, 1}}, {Actions: []int{1}}}, 2)
	if want := (math.Log(4./6) + 2*math.Log(2./6)) / 3; math.Abs(got-want) > 1e-12 {
		t.Errorf("log-likelihood %g, want %g", got, want)
	}
}

func TestScales(t *testing.T) {
	for scale, units := range map[string]int{"quick": 5, "cpu": 27, "paper": 26} {
		plan, err := Definition().Plan(experiment.Settings{Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Units) != units {
			t.Errorf("%s has %d units, want %d", scale, len(plan.Units), units)
		}
	}
	plan, err := Definition().Plan(experiment.Settings{Scale: "cpu", Override: []byte(
		`{"Learners": [{"Method": "bc"}],
		"Games": [{"Name": "p", "Environment": "P-v0", "Demos": "d.npz", "Steps": 3}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if c := plan.Config.(Config); len(plan.Units) != 4 || c.Learners[0].Config != nil || c.Games[0].Prior.Levels != 0 {
		t.Errorf("with other learners and games the config is %+v", c)
	}
	c := CPU()
	m, err := c.Method(c.Games[1], c.Learners[1], "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Config().Steps != 20_000 || m.Config().Folds != 0 {
		t.Errorf("QVIRL trains as %+v", m.Config())
	}
	text, err := withPrior(c.Learners[1].Config, c.Games[1].Prior)
	if err != nil || !strings.Contains(string(text), `"patches":0.25`) ||
		!strings.Contains(string(text), `"prior_std":0.5`) {
		t.Errorf("QVIRL's config is %s (%v)", text, err)
	}
	c.Learners[0].Config = json.RawMessage(`{"Objective": {"gravity": 1}}`)
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "gravity") {
		t.Errorf("error %v for a field that there is not", err)
	}
	c = CPU()
	c.Runs = []uint64{3}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Runs[0]") {
		t.Errorf("error %v for a run without a subset", err)
	}
}
