package experts

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/expert"
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
	out, lander := filepath.Join(dir, "x.npz"), "../../../../results/expert-lunarlander/expert.npz"
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
		"absent.npz":                      {"evaluate", filepath.Join(dir, "absent.npz")},
		"no such file":                    {"demonstrate", filepath.Join(dir, "absent.npz"), "--out", out},
		"--beta = -1":                     {"evaluate", lander, "--beta", "-1"},
		"--beta = -3":                     {"demonstrate", lander, "--out", out, "--beta", "-3"},
		"--episodes = 0, want at least 1": {"demonstrate", lander, "--out", out, "--episodes", "0"},
	} {
		if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, says %q, want %q", args, status, stderr, want)
		}
	}
}

// TestFallen: an expert worse than the learning curve's best is told of, and one as good is not.
func TestFallen(t *testing.T) {
	e := &expert.Expert{}
	for want, returns := range map[string][]float64{"": {20, 400, 390},
		"reached 400.00 after 2 steps and ended at 231.00": {20, 400, 231}} {
		e.Curve = nil
		for i, r := range returns {
			e.Curve = append(e.Curve, expert.Point{Steps: i + 1, Return: r})
		}
		if got := fallen(e); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", returns, got, want)
		}
	}
	if e.Config.Best = true; fallen(e) != "" {
		t.Error("the best network is said to be worse")
	}
}
