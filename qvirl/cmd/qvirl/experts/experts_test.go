package experts

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command"
)

// run runs the command line and returns its exit status and output.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = command.Execute(t.Context(), New(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, []byte(`{"stpes": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "x.npz")
	for want, args := range map[string][]string{
		`required flag(s) "out"`: {"train", "lunarlander"},
		"ends in .npz":           {"train", "lunarlander", "--out", "x.txt"},
		"stpes":                  {"train", "lunarlander", "--out", out, "--config", config},
		"Steps = -17":            {"train", "highway", "--out", out, "--steps", "-17"},
		"abacus":                 {"train", "CartPole-v1", "--out", out, "--backend", "abacus"},
		"--step-timeout":         {"train", "CartPole-v1", "--out", out, "--backend", "go", "--step-timeout", "0s"},
		"3 workers":              {"train", "CartPole-v1", "--out", out, "--backend", "go", "--workers", "3"},
		"/nowhere/python": {"train", "CartPole-v1", "--out", out, "--backend", "go", "--python",
			"/nowhere/python"},
		"absent.json":  {"evaluate", filepath.Join(dir, "absent.npz")},
		"no such file": {"demonstrate", filepath.Join(dir, "absent.npz"), "--out", out},
	} {
		if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, says %q, want %q", args, status, stderr, want)
		}
	}
}
