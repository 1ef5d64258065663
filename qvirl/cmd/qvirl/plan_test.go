package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	demos, others := filepath.Join(dir, "demos.npz"), filepath.Join(dir, "others.npz")
	writeDemos(t, demos, 6)
	writeDemos(t, others, 7)
	model, small, wrong := filepath.Join(dir, "model"), filepath.Join(dir, "small.json"), filepath.Join(dir,
		"wrong.json")
	for file, text := range map[string]string{wrong: `{"lenght": 2}`,
		small: `{"Training": {"Hidden": [4, 4], "Batch": 4, "ReportEvery": 10, "Folds": 0}}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, status := runQVIRL("train", "--demos", demos, "--method", "qvirl", "--beta", "1", "--steps", "10",
		"--config", small, "--backend", "go", "--out", model); status != 0 {
		t.Fatal(stderr)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"other demonstrations": {[]string{"--model", model, "--demos", others},
			"not the file that the model was trained on"},
		"no model":          {[]string{"--model", dir, "--demos", demos}, "holds no model"},
		"a negative risk":   {[]string{"--model", model, "--demos", demos, "--risk", "-1"}, "--risk = -1"},
		"steps":             {[]string{"--model", model, "--demos", demos, "--steps", "-100"}, "--steps = -100"},
		"a misspelt config": {[]string{"--model", model, "--demos", demos, "--config", wrong}, "lenght"},
		"itself": {[]string{"--model", model, "--demos", demos, "--out", model, "--force"},
			"is the folder of --model"},
	} {
		args := append([]string{"plan", "--env", "CartPole-v1", "--backend", "go"}, c.args...)
		if !slices.Contains(args, "--out") {
			args = append(args, "--out", filepath.Join(dir, "out"))
		}
		_, stderr, status := runQVIRL(args...)
		if status == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %q, want %q", name, status, stderr, c.want)
		}
	}
}
