//go:build installed

package experts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
)

// An expert of an environment that a module in a folder of one's own registers is trained, evaluated, and demonstrates.
func TestEnvironmentsOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	config, out, demos := filepath.Join(dir, "config.json"), filepath.Join(dir, "x.npz"), filepath.Join(dir, "d.npz")
	if err := os.WriteFile(config, []byte(`{"steps": 160, "segment_steps": 160, "learn_after": 64, "curve_episodes": 1,
		"evaluation_episodes": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	train := []string{"train", "Faulty-v0", "--import", "faulty", "--option", "shape=[3]", "--config", config,
		"--backend", "go", "--out", out, "--python-path", "../../../../envs/gym/testdata"}
	if err := os.WriteFile(filepath.Join(dir, "x.run.npz"), []byte("cannot go on"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := run(t, train...); status != 1 || !strings.Contains(stderr, "begins anew, as with --force") {
		t.Errorf("with a run that cannot be gone on from: status %d, %s", status, stderr)
	}
	if status, _, stderr := run(t, append(train, "--force")...); status != 0 ||
		!strings.Contains(stderr, "note: --force: starting over") || strings.Contains(stderr, "without the file") ||
		strings.Contains(stderr, "going on from") {
		t.Fatalf("with --force beside: status %d, %s", status, stderr)
	}
	for _, args := range [][]string{
		{"evaluate", out, "--episodes", "1"},
		{"demonstrate", out, "--episodes", "2", "--out", demos},
	} {
		args = append(args, "--python-path", "../../../../envs/gym/testdata")
		if status, _, stderr := run(t, args...); status != 0 {
			t.Fatalf("%v: status %d, %s", args, status, stderr)
		}
	}
	set, err := demo.Read(demos)
	if err != nil || set.Transitions() != 2000 || set.ObservationSize() != 3 || set.Made.Options["shape"] == nil {
		t.Errorf("the demonstrations: %+v, error %v", set, err)
	}
}

// TestCutEpisodesAreNoted: so few steps that no episode of the environment can end by itself.
func TestCutEpisodesAreNoted(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, []byte(`{"curve_episodes": 1, "evaluation_episodes": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for steps, want := range map[string]bool{"160": true, "208": false} {
		status, _, stderr := run(t, "train", "CartPole-v1", "--config", config, "--steps", steps, "--max-steps", "13",
			"--backend", "go", "--out", filepath.Join(dir, steps+".npz"))
		if status != 0 || strings.Contains(stderr, "note: training cuts episodes off after 10 steps, those of "+
			"CartPole-v1 may take 13") != want || !want && strings.Contains(stderr, "cuts") {
			t.Errorf("%s steps: status %d, %s", steps, status, stderr)
		}
	}
}
