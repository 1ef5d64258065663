package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/command/commandtest"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// writeDemos writes demonstrations in the flat layout: the sign of the first feature, the same throughout an episode,
// is the action. Two in three episodes are terminated and the others truncated. The third feature is constant.
func writeDemos(t *testing.T, path string, episodes int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	var obs, next []float64
	var action, episode []int
	var terminated, truncated []bool
	for e := range episodes {
		sign := float64(2*(e/2%2) - 1)
		draw := func() []float64 { return []float64{sign * (0.5 + random.Float64()), random.NormFloat64(), 7} }
		state := draw()
		n := 8 + e%3
		for i := range n {
			obs, episode = append(obs, state...), append(episode, e)
			a := 0
			if state[0] > 0 {
				a = 1
			}
			action = append(action, a)
			state = draw()
			next = append(next, state...)
			terminated, truncated = append(terminated, i == n-1 && e%3 > 0), append(truncated, i == n-1 && e%3 == 0)
		}
	}
	m := len(action)
	float32s := func(data []float64) npz.Array { return npz.Array{Shape: []int{m, 3}, Data: data, Type: npz.Float32} }
	err := npz.Write(path, map[string]npz.Array{"obs": float32s(obs), "next_obs": float32s(next),
		"action":  npz.Ints(action, m),
		"episode": npz.Ints(episode, m), "terminated": npz.Bools(terminated, m), "truncated": npz.Bools(truncated, m)})
	if err != nil {
		t.Fatal(err)
	}
}

// runQVIRL runs a command line and returns its output and exit status.
func runQVIRL(args ...string) (stdout, stderr string, status int) {
	status, stdout, stderr = commandtest.Run(context.Background(), newRoot(definitions), args...)
	return stdout, stderr, status
}

func TestTrainAndScoreEveryMethod(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 12)
	const training = `"Training": {"Hidden": [8, 8], "LearningRate": 0.02, "Batch": 16, "ReportEvery": 50}`
	for file, text := range map[string]string{"small.json": `{` + training + `}`, "qvirl.json": `{` + training +
		`, "Objective": {"kl_weight": 0.1}}`} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, method := range catalogue.Names() {
		config := "small.json"
		if method == "qvirl" { // forty transitions say little against a prior
			config = "qvirl.json"
		}
		_, stderr, status := runQVIRL("train", "--demos", "demos.npz", "--method", method, "--trajectories", "4",
			"--seed", "1", "--beta", "2",
			"--discount", "0.9", "--steps", "150", "--config", config, "--backend", "go", "--out", method)
		if status != 0 || strings.Contains(stderr, "a uniform guess") {
			t.Fatalf("%s: %s", method, stderr)
		}
		stdout, stderr, status := runQVIRL("score", "--model", method, "--demos", "demos.npz", "--episodes", "8:12",
			"--backend", "go", "--json")
		if status != 0 {
			t.Fatalf("%s: %s", method, stderr)
		}
		var got scored
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		if got.Method != method || got.Episodes != 4 || got.Transitions != 37 || got.TrainedOn != 0 {
			t.Errorf("%s: %s, want 37 transitions of 4 episodes, none of them learnt from", method, stdout)
		}
		if !(got.LogLikelihood > -math.Ln2 && got.LogLikelihood < 0) || !(got.ECE > 0 && got.ECE < 0.5) ||
			got.Accuracy < 0.7 {
			t.Errorf("%s: %s, want better than chance, log ½ = −0.69", method, stdout)
		}
		stdout, stderr, status = runQVIRL("score", "--model", method, "--demos", "demos.npz", "--backend", "go")
		if status != 0 || !strings.Contains(stderr, "trained on 4 of these 12 episodes") ||
			!strings.Contains(stdout, "mean log-likelihood") {
			t.Errorf("%s: status %d, output %q, %q", method, status, stdout, stderr)
		}
		stdout, stderr, status = runQVIRL("score", "--model", method, "--demos", "demos.npz", "--backend", "go",
			"--episodes", "4:5")
		if status != 0 || !strings.Contains(stderr, "trained on this episode; --episodes chooses") ||
			!strings.Contains(stdout, " on 1 episode (") {
			t.Errorf("%s of one episode: status %d, output %q, %q", method, status, stdout, stderr)
		}
		if _, err := os.Stat(method + "/" + neural.CheckpointDir); err == nil {
			t.Errorf("%s: the checkpoint was left behind", method)
		}
	}
	var used usedEpisodes
	text, err := os.ReadFile("bc/" + usedFile)
	if err == nil {
		err = json.Unmarshal(text, &used)
	}
	if err != nil || len(used.Episodes) != 4 || used.Episodes[0] != 4 || used.Episodes[3] != 7 {
		t.Errorf("the model says that it learnt from %v (error %v), want episodes 4 to 7 with seed 1", used.Episodes,
			err)
	}

	// What was learnt, along a trajectory that it was not learnt from.
	export := func(model, episode, out string, memory ...string) (string, string, int) {
		return runQVIRL(append([]string{"export", "--model", model, "--demos", "demos.npz", "--episode", episode,
			"--draws", "50", "--out", out, "--backend", "go"}, memory...)...)
	}
	if _, stderr, status := export("qvirl", "9", "x.nc", "--memory", "1kB"); status != 1 ||
		!strings.Contains(stderr, "50 draws along 8 steps") {
		t.Errorf("export into little memory: status %d, %q", status, stderr)
	}
	if _, stderr, status := runQVIRL("export", "--model", "qvirl", "--demos", "demos.npz", "--draws", "1", "--out",
		"x.nc"); status != 1 || !strings.Contains(stderr, "--draws = 1, want at least 2") {
		t.Errorf("export of one draw: status %d, %q", status, stderr)
	}
	if stdout, stderr, status := export("qvirl", "9", "walk.nc"); status != 0 ||
		!strings.Contains(stdout, "50 draws along 8 steps of episode 9") {
		t.Errorf("export: status %d, %q, %q", status, stdout, stderr)
	}
	for want, args := range map[string][3]string{"exists already": {"qvirl", "9", "walk.nc"},
		"counted from 0": {"qvirl", "12", "x.nc"}, "ends in .nc": {"qvirl", "9", "x.npz"},
		"want a model of qvirl, got one of bc": {"bc", "9", "x.nc"},
		"no posterior along":                   {"qvirl-ensemble", "9", "x.nc"}} {
		if _, stderr, status := export(args[0], args[1], args[2]); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("export: status %d, %q, want %q", status, stderr, want)
		}
	}

	t.Setenv("BIRL_PYTHON", "no-such-python")
	for _, args := range [][]string{{"--env", "CartPole-v1"}, {"--steps", "0"}} {
		_, stderr, status := runQVIRL(append([]string{"train", "--demos", "demos.npz", "--method", "qvirl", "--beta",
			"2", "--backend", "go", "--out", "failed"}, args...)...)
		if _, err := os.Stat("failed"); status != 1 || err == nil {
			t.Errorf("%v: status %d, %q; the folder is there: %v", args, status, stderr, err == nil)
		}
	}
	_, stderr, status := runQVIRL("rollout", "--model", "bc", "--env", "CartPole-v1", "--backend", "go")
	if status != 1 || !strings.Contains(stderr, "kernel-setup install") {
		t.Errorf("rollout without Python: status %d, %q", status, stderr)
	}
	_, stderr, status = runQVIRL("rollout", "--model", "bc", "--env", "CartPole-v1", "--backend", "go", "--python",
		"another-python")
	if status != 1 || !strings.Contains(stderr, "another-python") {
		t.Errorf("rollout with another Python: status %d, %q", status, stderr)
	}
	for _, verb := range []string{"train", "plan", "score", "export"} {
		if c, _, err := newRoot(definitions).Find([]string{verb}); err != nil || c.Flags().Lookup("python") == nil {
			t.Errorf("%s has no --python, error %v", verb, err)
		}
	}
}

func TestTrainAndScoreSayWhatIsWrong(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 6)
	if err := os.WriteFile("bad.json", []byte(`{"Training": {"LearnRate": 1}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"flat": `{"Folds": 0}`, "std": `{"Objective": {"prior_std": 1}}`,
		"members": `{"Members": 3}`, "pictures": `{"Training": {"Features": 9, "Folds": 0}}`,
		"negative": `{"Objective": {"prior_std": -1}}`, "patient": `{"Training": {"Patience": 3, "ReportEvery": 20}}`,
		"prior": `{"Objective": {"image": {"patches": 1, "levels": 2}}, "Training": {"Folds": 0}}`} {
		if err := os.WriteFile(name+".json", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("idle.csv", []byte("episode,action,obs_0,next_obs_0\n0,0,1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := []string{"train", "--demos", "demos.npz", "--out", "model", "--backend", "go", "--steps", "1"}
	with := func(args ...string) []string { return append(append([]string(nil), base...), args...) }
	for want, args := range map[string][]string{
		`no method "dqn"`:         with("--method", "dqn", "--beta", "1"),
		"--beta is missing":       with("--method", "iqlearn"),
		"given twice":             with("--method", "qvirl", "--beta", "3", "--beta", "5"),
		"--beta 1 is given twice": with("--method", "qvirl", "--beta", "1,5,1"),
		"--beta 0":                with("--method", "bc", "--beta", "0"),
		"there is Training":       with("--method", "bc", "--beta", "1", "--config", "flat.json"),
		`no field "prior_std"; there are no such settings`: with("--method", "bc", "--beta", "1", "--config",
			"std.json"),
		"--config members.json: bc: config: Members = 3, but bc is no ensemble": with("--method", "bc", "--beta", "1",
			"--config", "members.json"),
		"Features are for images": with("--method", "bc", "--beta", "1", "--config", "pictures.json"),
		"prior for images":        with("--method", "qvirl", "--beta", "1", "--config", "prior.json"),
		"no action but 0":         {"train", "--demos", "idle.csv", "--method", "bc", "--beta", "1", "--out", "model"},
		"has 6 to choose from":    with("--method", "bc", "--beta", "1", "--trajectories", "7"),
		"the file has 6 episodes": with("--method", "bc", "--beta", "1", "--episodes", "2:7"),
		"episode 1 is among":      with("--method", "bc", "--beta", "1", "--trajectories", "2", "--held-out", "1:6"),
		"want A:B":                with("--method", "bc", "--beta", "1", "--held-out", "2"),
		"no use for auxiliary":    with("--method", "bc", "--beta", "1", "--aux", "demos.npz"),
		"draw them in, --env":     with("--method", "qvirl", "--beta", "1", "--successors", "2"),
		"--successors 0":          with("--method", "qvirl", "--beta", "1", "--successors", "0"),
		"want --env with --succ":  with("--method", "qvirl", "--beta", "1", "--explore=false"),
		"nothing is explored": with("--method", "qvirl", "--beta", "1", "--env", "CartPole-v1", "--branches",
			"--explore-every", "100"),
		"--option foo":          with("--method", "qvirl", "--beta", "1", "--env", "CartPole-v1", "--option", "foo"),
		"LearnRate":             with("--method", "bc", "--beta", "1", "--config", "bad.json"),
		"--discount 1: want":    with("--method", "bc", "--beta", "1", "--discount", "1"),
		"has the action 1":      with("--method", "bc", "--beta", "1", "--actions", "1"),
		"--held-out is missing": with("--method", "bc", "--beta", "1", "--config", "patient.json"),
		"--explore-every 70: want a multiple of the config's ReportEvery, 20": with("--method", "qvirl", "--beta", "1",
			"--config", "patient.json", "--held-out", "4:6", "--trajectories", "2", "--env", "CartPole-v1",
			"--explore-every", "70"),
		"--config negative.json: qvirl: config: variational: prior_std = -1": with("--method", "qvirl", "--beta", "1",
			"--config", "negative.json"),
		"--steps = 0": {"train", "--demos", "demos.npz", "--method", "bc", "--steps", "0", "--out", "model"},
		"missing.npz": {"train", "--demos", "missing.npz", "--method", "bc", "--beta", "1", "--out",
			"model"},
		"holds no model": {"score", "--model", "nowhere", "--demos", "demos.npz"},
	} {
		_, stderr, status := runQVIRL(args...)
		if status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %q; want %q", args, status, stderr, want)
		}
	}
}

// TestHeldOutIsWhatScoreSays of the model that is stored: one that is calibrated, one that is of an earlier step, and
// an ensemble, on all the transitions that are held out.
func TestHeldOutIsWhatScoreSays(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "clear.npz", 300) // 2,700 transitions
	set, err := demo.Open("clear.npz")
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Trajectories { // one in five actions is the other one, so that models err
		for k, a := range set.Trajectories[i].Actions {
			if (i+k)%5 == 0 {
				set.Trajectories[i].Actions[k] = 1 - a
			}
		}
	}
	if err := set.Write("demos.npz"); err != nil {
		t.Fatal(err)
	}
	const training = `{"Training": {"Hidden": [8], "LearningRate": 0.05, "Batch": 4, "ReportEvery": 5, `
	for name, c := range map[string][2]string{
		"plain":      {"bc", `"Folds": 0}}`},
		"calibrated": {"bc", `"Folds": 2}}`},
		"patient":    {"bc", `"Folds": 0, "Patience": 2}}`},
		"both":       {"bc", `"Folds": 2, "Patience": 2}}`},
		"ensemble":   {"iqlearn-ensemble", `"Folds": 0}}`},
	} {
		if err := os.WriteFile(name+".json", []byte(training+c[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status := runQVIRL("train", "--demos", "demos.npz", "--method", c[0], "--beta", "1",
			"--trajectories", "3", "--held-out", "3:300", "--steps", "100", "--config", name+".json", "--backend", "go",
			"--out", name)
		_, after, found := strings.Cut(stdout, "held-out log-likelihood ")
		said, _, _ := strings.Cut(after, ":")
		if status != 0 || !found {
			t.Fatalf("%s: status %d, %q, %q", name, status, stdout, stderr)
		}
		stdout, stderr, status = runQVIRL("score", "--model", name, "--demos", "demos.npz", "--episodes", "3:300",
			"--backend", "go")
		if status != 0 || !strings.Contains(stdout, "mean log-likelihood         "+said+"\n") {
			t.Errorf("%s: train says %s; score: status %d, %q, %q", name, said, status, stdout, stderr)
		}
	}
}

// TestAuxiliaryFilesAreChecked as those of demonstrations are.
func TestAuxiliaryFilesAreChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 3)
	set, err := demo.Open("demos.npz")
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range map[string]string{"Here-v0": "here.npz", "There-v0": "there.npz"} {
		set.Environment = id
		if err := set.Write(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"odd.csv": "episode,action,obs_0,obs_1,obs_2,next_obs_0,next_obs_1,next_obs_2,done\n0,0,1,2,3,2,3,4,1\n",
		"c.json":  `{"Training": {"Hidden": [4], "Batch": 2, "AuxBatch": 2, "Folds": 0}}`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for aux, want := range map[string][]string{
		"odd.csv": {"note: odd.csv: unknown or misspelt arrays are ignored: done; ",
			"note: odd.csv: only one action was ever taken"},
		"there.npz":  {"note: here.npz is of the environment Here-v0, and there.npz of There-v0\n"},
		"./here.npz": {"note: --aux ./here.npz is the file of --demos"},
		"demos.npz":  nil,
	} {
		_, stderr, status := runQVIRL("train", "--demos", "here.npz", "--aux", aux, "--method", "qvirl", "--beta", "1",
			"--steps", "1", "--backend", "go", "--config", "c.json", "--out", "model", "--force")
		if status != 0 {
			t.Fatalf("%s: %s", aux, stderr)
		}
		for _, text := range want {
			if !strings.Contains(stderr, text) {
				t.Errorf("%s: %s, want %q", aux, stderr, text)
			}
		}
		if want == nil && (strings.Contains(stderr, "--aux") || strings.Contains(stderr, "of the environment")) {
			t.Errorf("%s: %s", aux, stderr)
		}
	}
}

// TestEnvironmentsOfOtherShapesAreRefused before the apprentice meets them. Those of more actions can draw successors.
func TestEnvironmentsOfOtherShapesAreRefused(t *testing.T) {
	task := &neural.Task{Observation: 4, Actions: 3}
	in := environmentOptions{env: "Cart-v0"}
	exploring := trainOptions{demos: "x.npz", environmentOptions: in, explore: true}
	drawing := trainOptions{demos: "x.npz", environmentOptions: in, successors: 2}
	for _, c := range []struct {
		o             trainOptions
		size, actions int
		want          string
	}{
		{exploring, 4, 3, "<nil>"}, {drawing, 4, 3, "<nil>"}, {drawing, 4, 5, "<nil>"},
		{exploring, 6, 3, "--env Cart-v0 has observations of 6 numbers, x.npz of 4"},
		{exploring, 4, 2, "--env Cart-v0 has 2 actions, x.npz has 3"},
		{drawing, 4, 2, "--env Cart-v0 has 2 actions, x.npz has 3"},
		{exploring, 4, 5, "--env Cart-v0 has 5 actions, x.npz has 3; if the others never occur there, say --actions 5"},
	} {
		err := c.o.checkEnvironment(gym.Spec{Shape: []int{2, c.size / 2}, Actions: c.actions}, task)
		if fmt.Sprint(err) != c.want {
			t.Errorf("%d numbers, %d actions: error %v, want %s", c.size, c.actions, err, c.want)
		}
	}
	task.Image = neural.Image{Frames: 2, Height: 1, Width: 2}
	if err := drawing.checkEnvironment(gym.Spec{Shape: []int{2, 1, 2}, Actions: 3}, task); err == nil ||
		!strings.HasPrefix(err.Error(), "--successors 2: x.npz holds images") {
		t.Errorf("successors of images: error %v", err)
	}
}

// TestFlagsWinOverTheConfig: those that are given do.
func TestFlagsWinOverTheConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 3)
	if err := os.WriteFile("c.json", []byte(`{"training": {"Hidden": [4], "Steps": 4, "ReportEvery": 1, "Folds": 0,
		"Backend": "abacus"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, flags := range map[int][]string{4: nil, 2: {"--steps", "2"}} {
		_, stderr, status := runQVIRL(append([]string{"train", "--demos", "demos.npz", "--method", "bc", "--config",
			"c.json", "--backend", "go", "--out", fmt.Sprint(want)}, flags...)...)
		if status != 0 {
			t.Fatal(stderr)
		}
		m, err := catalogue.Load(fmt.Sprint(want), "go")
		if err != nil {
			t.Fatal(err)
		}
		if curve := m.Curve(); curve[len(curve)-1].Step != want {
			t.Errorf("%v: %d steps, want %d", flags, curve[len(curve)-1].Step, want)
		}
	}
}

// TestTrainingIsRefusedBeforeItFillsTheMemory: one action out of all proportion would make networks of 100 GB.
func TestTrainingIsRefusedBeforeItFillsTheMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "episode,action,obs_0,next_obs_0\n0,0,1,2\n0,1,2,3\n1,200000000,1,2\n"
	if err := os.WriteFile("demos.csv", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, method := range catalogue.Names() {
		began := time.Now()
		_, stderr, status := runQVIRL("train", "--demos", "demos.csv", "--method", method, "--beta", "1", "--out",
			"model",
			"--backend", "go", "--memory", "64GB")
		if status != 1 || time.Since(began) > 10*time.Second {
			t.Errorf("%s: status %d after %v", method, status, time.Since(began))
		}
		for _, want := range []string{"200000001 actions", " TB of memory", "64 GB that --memory allows",
			"only 3 different actions", "in demonstration 1, is 200000000"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: the error lacks %q: %s", method, want, stderr)
			}
		}
		if _, err := os.Stat("model"); err == nil {
			t.Errorf("%s: the folder was made", method)
		}
	}
}

// TestTrainingReplacesNothingUnasked: a model is replaced with --force only, and of two trainings into a folder one is
// refused.
func TestTrainingReplacesNothingUnasked(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 6)
	args := func(more ...string) []string {
		return append([]string{"train", "--demos", "demos.npz", "--method", "bc", "--beta", "1", "--out", "model",
			"--backend", "go", "--steps", "10",
			"--config", "small.json"}, more...)
	}
	if err := os.WriteFile("small.json",
		[]byte(`{"Training": {"Hidden": [4, 4], "Batch": 4, "ReportEvery": 10, "Folds": 0}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := runQVIRL(args()...); status != 0 {
		t.Fatal(stderr)
	}
	read := func() string {
		t.Helper()
		text, err := os.ReadFile("model/model.json")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := read()
	if _, stderr, status := runQVIRL(args("--seed", "2")...); status != 1 || !strings.Contains(stderr, "--force") ||
		read() != before {
		t.Errorf("a second training: status %d, %q", status, stderr)
	}
	release, err := command.Claim("model", true)
	if err != nil {
		t.Fatalf("the lock is held after the training: %v", err)
	}
	if _, stderr, status := runQVIRL(args("--force")...); status != 1 || !strings.Contains(stderr,
		"another command writes to model") || read() != before {
		t.Errorf("a training beside another: status %d, %q", status, stderr)
	}
	release()
	if _, stderr, status := runQVIRL(args("--force", "--seed", "2")...); status != 0 || read() == before {
		t.Errorf("with --force: status %d, %q", status, stderr)
	}
	if err := os.Mkdir("model/"+neural.CheckpointDir, 0o755); err != nil { // as an interruption leaves it
		t.Fatal(err)
	}
	if _, stderr, status := runQVIRL(args("--seed", "2")...); status != 0 {
		t.Errorf("after an interruption: status %d, %q", status, stderr)
	}
	if err := os.Mkdir("model/"+neural.CheckpointDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("model/"+neural.CheckpointDir+"/runs-000.checkpoint", []byte("cannot go on"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := runQVIRL(args()...); status != 1 ||
		!strings.Contains(stderr, "remove it to start over, or give --force") {
		t.Errorf("with a checkpoint that cannot be gone on from: status %d, %q", status, stderr)
	}
	if _, stderr, status := runQVIRL(args("--force")...); status != 0 ||
		!strings.Contains(stderr, "note: --force: starting over") || strings.Contains(stderr, "remove it") ||
		strings.Contains(stderr, "going on from") {
		t.Errorf("with --force beside: status %d, %q", status, stderr)
	}
}

func TestSeedsTakeTheirTurnsInTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 10)
	for _, c := range []struct {
		seed  uint64
		n     int
		from  string
		want  []int
		wraps bool
	}{{0, 3, "", []int{0, 1, 2}, false}, {2, 3, "", []int{6, 7, 8}, false}, {3, 3, "", []int{9, 0, 1}, true},
		{1, 2, "4:8", []int{6, 7}, false}, {7, 2, "4:8", []int{6, 7}, true}, {4, 2, "", []int{8, 9}, false},
		{5, 2, "", []int{0, 1}, true}, {0, 7, "", []int{0}, false}, {1, 7, "", []int{7}, true},
		{3, 10, "", []int{0}, false}} {
		o := trainOptions{demos: "demos.npz", betas: []float64{1}, discount: 0.9, trajectories: c.n, seed: c.seed,
			episodes: c.from}
		_, used, err := o.task(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(used.Episodes) != c.n {
			t.Fatalf("%v, want %v", used.Episodes, c.want)
		}
		for i := range c.want {
			if used.Episodes[i] != c.want[i] {
				t.Errorf("seed %d, %d of %q: episodes %v, want %v", c.seed, c.n, c.from, used.Episodes, c.want)
				break
			}
		}
		if remarks := strings.Join(o.remarks, "\n"); strings.Contains(remarks, "wraps around") != c.wraps {
			t.Errorf("seed %d, %d of %q: remarks %q, want one of wrapping: %v", c.seed, c.n, c.from, remarks, c.wraps)
		}
	}
}
