//go:build installed

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
)

// TestPicturesOfAnEnvironmentThatStacksThemItself: QVIRL learns from one's own file of pictures, and from branches or
// rollouts in the environment.
func TestPicturesOfAnEnvironmentThatStacksThemItself(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"small.json": `{"Training": {"Hidden": [4], "Batch": 2, "AuxBatch": 2, "ReportEvery": 2, "Folds": 0,
			"Convolutions": [{"Filters": 1, "Size": 8, "Stride": 8}], "Features": 2}}`,
		"pile.py": `import gymnasium, numpy
class Pile(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (2, 8, 8), numpy.uint8)
    action_space = gymnasium.spaces.Discrete(3)
    def observe(self):
        return numpy.stack([numpy.full((8, 8), self.count + i, numpy.uint8) for i in range(2)])
    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self.observe(), {}
    def step(self, action):
        self.count += 1
        return self.observe(), 0.0, self.count == 5, False, {}
gymnasium.register("Pile-v0", entry_point=Pile)
`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stacks := func(first int) (out npz.Array) {
		for i := range 3 {
			for frame := range 2 {
				out.Data = append(out.Data, slices.Repeat([]float64{float64(first + i + frame)}, 64)...)
			}
		}
		out.Shape, out.Type = []int{3, 2, 8, 8}, npz.Uint8
		return out
	}
	if err := npz.Write("demos.npz", map[string]npz.Array{"obs": stacks(0), "next_obs": stacks(1),
		"action": npz.Ints([]int{0, 2, 1}, 3), "episode": npz.Ints([]int{0, 0, 0}, 3),
		"seed": npz.Ints([]int{7, 7, 7}, 3)}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"train", "--demos", "demos.npz", "--method", "qvirl", "--beta", "1", "--steps", "4", "--branches",
			"--config", "small.json", "--out", "branches"},
		{"train", "--demos", "demos.npz", "--method", "qvirl", "--beta", "1", "--steps", "4", "--explore-every", "2",
			"--config", "small.json", "--out", "model"},
		{"rollout", "--model", "model", "--episodes", "2", "--out", "x.npz"},
	} {
		args = append(args, "--env", "Pile-v0", "--import", "pile", "--python-path", ".", "--backend", "go")
		if _, stderr, status := runQVIRL(args...); status != 0 {
			t.Fatalf("%s: status %d, %s", args[0], status, stderr)
		}
	}
	if set, err := demo.Read("x.npz"); err != nil || set.Trajectories[1].Frames == nil {
		t.Errorf("the apprentice's episodes: error %v, want them as pictures", err)
	}
}

// TestRolloutOutlivesItsWorkers: after a death the episodes are those of a rollout without; what was done before a
// fault that comes again and again is told and kept, and not in the place of an earlier file.
func TestRolloutOutlivesItsWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // as many workers: 20 episodes take turns in 16 environments
	python, err := filepath.Abs("../../../envs/gym/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("ONCE_FILE", "once")
	writeDemos(t, "demos.npz", 6)
	if err := os.WriteFile("small.json",
		[]byte(`{"Training": {"Hidden": [4, 4], "Batch": 4, "ReportEvery": 10, "Folds": 0}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := runQVIRL("train", "--demos", "demos.npz", "--method", "bc", "--beta", "1", "--actions", "3",
		"--out", "model", "--backend", "go",
		"--steps", "10", "--config", "small.json"); status != 0 {
		t.Fatal(stderr)
	}
	rollout := func(fault string, more ...string) (result rolledOut, stderr string, status int) {
		t.Helper()
		stdout, stderr, status := runQVIRL(append([]string{"rollout", "--model", "model", "--backend", "go",
			"--env", "Faulty-v0", "--import", "faulty", "--python-path", python, "--option", "shape=[3]",
			"--option", `fault="` + fault + `"`, "--seed", "5", "--out", "x.npz", "--json"}, more...)...)
		if stdout != "" {
			if err := json.Unmarshal([]byte(stdout), &result); err != nil {
				t.Fatal(err)
			}
		}
		return result, stderr, status
	}
	want, stderr, status := rollout("", "--option", "length=20", "--episodes", "3")
	if status != 0 || len(want.Returns) != 3 || want.Restarts != 0 {
		t.Fatalf("without a fault: status %d, %+v, %s", status, want, stderr)
	}
	if _, stderr, status := rollout("", "--episodes", "3"); status != 1 || !strings.Contains(stderr, "--force") {
		t.Errorf("onto an earlier file: status %d, %s", status, stderr)
	}
	got, stderr, status := rollout("exit once", "--option", "length=20", "--option", "at=15", "--episodes", "3",
		"--force")
	if status != 0 || got.Restarts != 1 || !slices.Equal(got.Returns, want.Returns) ||
		!slices.Equal(got.Seeds, []int64{5,
			6, 7}) || !strings.Contains(stderr, "note: restart 1 of at most 3") {
		t.Errorf("after a death: status %d, %+v, want %+v; %s", status, got, want, stderr)
	}
	got, stderr, status = rollout("hang in the second episode", "--option", "length=20", "--step-timeout", "1s",
		"--max-restarts", "0", "--episodes", "20", "--force")
	if status != 1 || len(got.Seeds) == 0 || len(got.Seeds) == 20 || !strings.Contains(stderr, "time limit of 1s") ||
		!strings.Contains(stderr, "of 20 episodes were done before") {
		t.Errorf("a hang that comes again: status %d, %+v, %s", status, got, stderr)
	}
	if slices.ContainsFunc(got.Lengths, func(n int) bool { return n != 20 }) {
		t.Errorf("episodes that were cut off are among those of %d steps", got.Lengths)
	}
	if set, err := demo.Read("x.partial.npz"); err != nil || len(set.Trajectories) != len(got.Seeds) {
		t.Errorf("what was done before: error %v", err)
	}
	if set, err := demo.Read("x.npz"); err != nil || len(set.Trajectories) != 3 {
		t.Errorf("the earlier file: error %v", err)
	}
}

// TestOneEpisodeHasNoSpread, neither for people nor for programs.
func TestOneEpisodeHasNoSpread(t *testing.T) {
	set := &demo.Set{Description: demo.Description{ObservationShape: []int{1}, Actions: 2}}
	for i, want := range []string{", 1 episode: return 3.00\n",
		"2 episodes: return 4.00 ± 1.41 (standard deviation)\n"} {
		set.Trajectories = append(set.Trajectories, demo.Trajectory{Observations: []float32{0, 1}, Actions: []int{1},
			Rewards: []float64{3 + 2*float64(i)}})
		for _, asJSON := range []bool{false, true} {
			o := rolloutOptions{asJSON: asJSON}
			var out strings.Builder
			if err := o.tell(&out, set, "bc", 0); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); !asJSON && !strings.Contains(got, want) ||
				asJSON && strings.Contains(got, `"std"`) != (i > 0) {
				t.Errorf("%d episodes: %s", i+1, got)
			}
		}
	}
}

// An interrupted run goes on only with episodes of the same length: a limit is among what the environment depends on.
func TestTheLimitOfStepsIsAmongWhatTheEnvironmentDependsOn(t *testing.T) {
	o := environmentOptions{env: "CartPole-v1", options: []string{"sutton_barto_reward=true"}, stepTimeout: time.Second}
	if got := o.made(); !slices.Equal(got, o.options) {
		t.Errorf("without a limit it depends on %q, want its options", got)
	}
	o.maxSteps = 40
	if got := o.made(); len(got) != 2 || got[0] != o.options[0] || !strings.Contains(got[1], "40") {
		t.Errorf("it depends on %q", got)
	}
	c, err := o.config(1)
	if err != nil || len(c.Wrappers) != 1 || c.Wrappers[0].Options["max_episode_steps"] != 40 ||
		c.Options["sutton_barto_reward"] != true {
		t.Errorf("wrappers %v, options %v, error %v", c.Wrappers, c.Options, err)
	}
}
