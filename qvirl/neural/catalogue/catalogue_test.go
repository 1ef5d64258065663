package catalogue

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
)

// sharedDemos is where demonstrations that others have made lie beside the project, on machines that have them.
const sharedDemos = "../../../../shared/demos"

// TestMethodsLearnFromDemonstrationsOfOthers trains each method for a moment, and holds it against what knows only how
// often each action is taken: about log ½ on CartPole and −0.77 on Acrobot, of whose demonstrators the log-likelihood
// is −0.555 and −0.550.
func TestMethodsLearnFromDemonstrationsOfOthers(t *testing.T) {
	for file, want := range map[string]float64{"cartpole_zoo_qrdqn_beta3.npz": -0.66,
		"acrobot_zoo_qrdqn_beta3.npz": -0.72} {
		path := filepath.Join(sharedDemos, file)
		if _, err := os.Stat(path); err != nil {
			t.Logf("%s is not on this machine: nothing was learnt from it", file)
			continue
		}
		set, err := demo.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		heldOut := set.Trajectories[50:60]
		for _, name := range Names() {
			entry, err := Find(name)
			if err != nil {
				t.Fatal(err)
			}
			c := neural.Default()
			c.Hidden, c.Steps, c.ReportEvery, c.LearningRate, c.Folds, c.Backend = []int{32, 32}, 200, 100, 5e-3, 2,
				"go"
			var override []byte
			if strings.HasSuffix(name, "-ensemble") {
				override = []byte(`{"Members": 2}`) // to save time
			}
			m, err := entry.New(c, override)
			if err != nil {
				t.Fatal(err)
			}
			models, err := m.Fit(context.Background(), &neural.Task{Observation: set.ObservationSize(),
				Actions: set.Actions, Discount: 0.99,
				Beta: 3, Runs: []neural.Run{{Demos: set.Trajectories[:10]}}}, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s, err := neural.Score(models[0], heldOut, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %s: held-out log-likelihood %.3f (demonstrator %.3f), calibration error %.3f", file, name,
				s.LogLikelihood, *s.ExpertLogLikelihood, s.ECE)
			if s.LogLikelihood < want {
				t.Errorf("%s, %s: held-out log-likelihood %g, want at least %g", file, name, s.LogLikelihood, want)
			}
		}
	}
}

func TestUnknownMethodsAndFieldsAreRefused(t *testing.T) {
	if _, err := Find("dqn"); err == nil || !strings.Contains(err.Error(), "dqn") ||
		!strings.Contains(err.Error(), "iqlearn-ensemble") {
		t.Errorf("error %v, want one that lists the methods", err)
	}
	for _, name := range Names() {
		m, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.New(neural.Default(), []byte(`{"Objective": {"gravity": 1}}`)); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v for a field that its objective does not have", name, err)
		}
		learner, err := m.New(neural.Default(), []byte(`{"Training": {"Steps": 7}}`))
		if err != nil || learner.Name() != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
