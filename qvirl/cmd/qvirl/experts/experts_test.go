package experts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command/commandtest"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
)

func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return commandtest.Run(t.Context(), New(), args...)
}

func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	config, wrong, pond := filepath.Join(dir, "config.json"), filepath.Join(dir, "wrong.json"), filepath.Join(dir,
		"pond.npz")
	for path, text := range map[string]string{config: `{"stpes": 3}`, wrong: `{"huber": -1}`, pond: "PK"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, lander := filepath.Join(dir, "x.npz"), "../../../../results/expert-lunarlander/expert.npz"
	for want, args := range map[string][]string{
		`required flag(s) "out"`: {"train", "lunarlander"},
		"ends in .npz":           {"train", "lunarlander", "--out", "x.txt"},
		"stpes":                  {"train", "lunarlander", "--out", out, "--config", config},
		"--steps = -17":          {"train", "highway", "--out", out, "--steps", "-17"},
		"abacus":                 {"train", "CartPole-v1", "--out", out, "--backend", "abacus"},
		"--option length":        {"train", "CartPole-v1", "--out", out, "--option", "length=long"},
		"--step-timeout":         {"train", "CartPole-v1", "--out", out, "--backend", "go", "--step-timeout", "0s"},
		"--workers: expert: 3":   {"train", "CartPole-v1", "--out", out, "--backend", "go", "--workers", "3"},
		"/nowhere/python": {"train", "CartPole-v1", "--out", out, "--backend", "go", "--python",
			"/nowhere/python"},
		"wrong.json: config: expert: hub": {"train", "CartPole-v1", "--out", out, "--config", wrong},
		"pond.npz is no expert's file":    {"evaluate", pond},
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

// TestUnscaled: numbers of a root mean square above 10 are told of by their places.
func TestUnscaled(t *testing.T) {
	episodes := []demo.Trajectory{{Observations: []float32{1, -9, 3e5, 1, 11, 3e5}}, // √((81 + 121 + 81)/3) < 10
		{Observations: []float32{0, 9, 0}}}
	if note := unscaled(episodes, 3); !strings.Contains(note, ": 2; ") || !strings.Contains(note, `{"center": […]`) {
		t.Errorf("it says %q", note)
	}
	if note := unscaled(episodes[1:], 3); note != "" {
		t.Errorf("of numbers below ten it says %q", note)
	}
	twelve := []demo.Trajectory{{Observations: slices.Repeat([]float32{20}, 24)}}
	if note := unscaled(twelve, 12); !strings.Contains(note, ": 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …; ") {
		t.Errorf("of twelve it says %q", note)
	}
}

// TestStatisticsAreWords: what demonstrations are told by, as "demos show" names it.
func TestStatisticsAreWords(t *testing.T) {
	statistics := map[string]float64{expert.ActionEntropy: 1.0886, expert.LogLikelihood: -1.0812,
		expert.GreedyActions: 0.32, "return_q05": 13.0769, "return_q25": 14, "return_q50": 15.5, "return_q75": 16,
		"return_q95": 20}
	const want = `  quantiles of the return 13.08 (5 %), 14.00 (25 %), 15.50 (50 %), 16.00 (75 %), 20.00 (95 %)
  log-likelihood of its own actions -1.0812, entropy of its policy 1.0886
  32.0 % of the actions were the best ones`
	var says strings.Builder
	if tellStatistics(&says, statistics); says.String() != want+"\n" {
		t.Errorf("it says\n%s\nwant\n%s", says.String(), want)
	}
	says.Reset()
	statistics[expert.GreedyAlike] = 0.456
	if tellStatistics(&says, statistics); says.String() != want+", and 45.6 % do what the best ones do\n" {
		t.Errorf("of a game where actions are alike it says\n%s", says.String())
	}
}
