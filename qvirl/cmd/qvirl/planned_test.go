//go:build installed

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A planned model is rolled out and scored like any other.
func TestPlanIsRolledOutAndScored(t *testing.T) {
	demos, err := filepath.Abs("../../../results/expert-cartpole/demos.npz")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"train.json": `{"Training": {"Hidden": [32, 32], "ReportEvery": 100, "Folds": 0}}`,
		"plan.json": `{"inducing": 40, "rollouts": 3, "learner": {"environments": 8, "steps": 3200, "segment_steps": 1600,
			"epsilon_steps": 1600, "undisturbed": 2, "hidden": [32, 32], "quantiles": 8, "batch": 32, "demonstrated": 8,
			"gradient_steps": 2, "learn_after": 400, "learning_rate": 0.002, "target_rate": 0.02, "curve_episodes": 2}}`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr string
	do := func(args ...string) string {
		t.Helper()
		var stdout string
		var status int
		stdout, stderr, status = runQVIRL(append(args, "--backend", "go")...)
		if status != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
		return stdout
	}
	do("train", "--demos", demos, "--method", "qvirl", "--trajectories", "3", "--beta", "1", "--discount", "0.95",
		"--steps", "400", "--config", "train.json", "--env", "CartPole-v1", "--explore-every", "100", "--out", "model")
	var result planned
	out := do("plan", "--model", "model", "--demos", demos, "--env", "CartPole-v1", "--config", "plan.json", "--risk",
		"0.1", "--json", "--out", "planned")
	if !strings.Contains(stderr, "note: training cuts episodes off after 200 steps, those of "+
		"CartPole-v1 may take 500") {
		t.Errorf("of segments of 200 steps it says %q", stderr)
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if result.Method != "qvirl-planned-averse" || len(result.Curve) != 2 || result.EnvironmentSteps <= 3200 ||
		result.Objective != max(result.Curve[0].Objective, result.Curve[1].Objective) {
		t.Errorf("planned %+v", result)
	}
	for _, p := range result.Curve { // an episode that was not cut off at 500 steps has ended
		if (p.Return < 500) != (p.Ended > 0) {
			t.Errorf("return %g, but %g of the episodes ended", p.Return, p.Ended)
		}
	}
	var visits planned
	if err := json.Unmarshal([]byte(do("plan", "--model", "model", "--demos", demos, "--env", "CartPole-v1", "--config",
		"plan.json", "--visits", "--json", "--out", "visits")), &visits); err != nil {
		t.Fatal(err)
	}
	if visits.Method != "gp-planned" || visits.Objective == result.Objective {
		t.Errorf("planned with --visits %+v", visits)
	}
	if _, err := os.Stat("planned/plan.run.npz"); err == nil {
		t.Error("the run is still there")
	}
	// What is left of a planning with other settings is gone on from by nobody, and --force starts over.
	if err := errors.Join(os.Mkdir("other", 0o755),
		os.WriteFile("other/plan.run.npz", []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	other := []string{"plan", "--model", "model", "--demos", demos, "--env", "CartPole-v1", "--config", "plan.json",
		"--out", "other"}
	if _, errs, status := runQVIRL(append(other, "--backend", "go")...); status != 1 ||
		!strings.Contains(errs, "training begins anew, as with --force") {
		t.Errorf("with the run of another planning: status %d, %q", status, errs)
	}
	if do(append(other, "--force")...); !strings.Contains(stderr, "note: --force: starting over: ") {
		t.Errorf("with --force it says %q", stderr)
	}
	var played rolledOut
	if err := json.Unmarshal([]byte(do("rollout", "--model", "planned", "--env", "CartPole-v1", "--episodes", "4",
		"--json")), &played); err != nil {
		t.Fatal(err)
	}
	if played.Method != result.Method || played.Mean < 10 {
		t.Errorf("rolled out: %+v", played)
	}
	var ofPlan, ofModel scored
	for model, to := range map[string]*scored{"planned": &ofPlan, "model": &ofModel} {
		if err := json.Unmarshal([]byte(do("score", "--model", model, "--demos", demos, "--episodes", "1:9", "--json")),
			to); err != nil {
			t.Fatal(err)
		}
	}
	if ofPlan.LogLikelihood != ofModel.LogLikelihood || ofPlan.TrainedOn != 2 || !(ofPlan.LogLikelihood < 0) {
		t.Errorf("scores %+v, of the model that was planned on %+v", ofPlan.Scores, ofModel.Scores)
	}
}
