package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command/commandtest"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
)

func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return commandtest.Run(t.Context(), newRoot(), args...)
}

func TestHelpIsNarrow(t *testing.T) { commandtest.HelpIsNarrow(t, newRoot) }

// What is to be collected is checked before anything is started.
func TestCollectRefuses(t *testing.T) {
	for flag, want := range map[string]string{"--envs": "--envs = 0, want at least 1",
		"--workers": "--workers = 0, want at least 1", "--episodes": "--episodes = 0, want at least 1"} {
		args := []string{"collect", "CartPole-v1", "--out", filepath.Join(t.TempDir(), "a.npz"), flag, "0"}
		if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s 0: status %d, says %s", flag, status, stderr)
		}
	}
}

const recorded = `episode,obs_0,action,reward,next_obs_0,terminated
1,0,0,1,1,0
1,1,1,2,2,1
2,0,1,5,1,1
`

func TestConvertAndShow(t *testing.T) {
	dir := t.TempDir()
	text, out := filepath.Join(dir, "recorded.csv"), filepath.Join(dir, "stored.npz")
	if err := os.WriteFile(text, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := run(t, "convert", text, "--env", "Moonbase-v0", "--expert", "the pilot", "--actions", "4",
		"--out", out)
	if status != 0 {
		t.Fatal(stderr)
	}
	want := out + ": 2 trajectories of Moonbase-v0, 3 transitions\n" +
		"  observations [1], 4 actions, taken 1, 2, 0, 0 times\n  by the pilot\n  ends: 2 terminated\n" +
		"  return 4.00 ± 1.41, from 3.00 to 5.00\n" +
		"  note: 2 of 4 actions never occur: 2 3; actions count from 0, wherever the environment's begin\n" +
		"  note: observations are single whole numbers, and are read as one feature: states that are only numbered " +
		"need a feature each, 1 in that state and 0 in others\n"
	if stdout != want {
		t.Errorf("convert says\n%s\nwant\n%s", stdout, want)
	}
	if status, stdout, stderr := run(t, "show", out); status != 0 || stdout != want {
		t.Errorf("show: status %d, says\n%s%s\nwant\n%s", status, stdout, stderr, want)
	}
	if status, _, stderr := run(t, "convert", out, "--out", filepath.Join(dir, "again.npz")); status != 1 ||
		!strings.Contains(stderr, "stored.npz is in this project's layout already") {
		t.Errorf("convert of what convert has written: status %d, says %s", status, stderr)
	}
	if status, stdout, stderr := run(t, "show", filepath.Join(dir, "absent.npz"), text); status != 1 ||
		!strings.Contains(stdout, "2 trajectories of an environment not named") ||
		!strings.Contains(stderr, "absent.npz") {
		t.Errorf("show of two files of which one is absent: status %d, says\n%s%s", status, stdout, stderr)
	}
}

// TestOneOfEachIsShownInWords: one trajectory of one transition, whose observations are numbers without a shape.
func TestOneOfEachIsShownInWords(t *testing.T) {
	set := &demo.Set{Description: demo.Description{Actions: 1}, Trajectories: []demo.Trajectory{{
		Observations: []float32{0.5, 2.5}, Actions: []int{0}, Seed: demo.NoSeed}}}
	var says strings.Builder
	show(&says, "x.npz", set)
	const want = "x.npz: 1 trajectory of an environment not named, 1 transition\n" +
		"  observations of a single number, 1 action, taken 1 times\n"
	if got := says.String(); !strings.HasPrefix(got, want) {
		t.Errorf("show says\n%s\nwant\n%s", got, want)
	}
}

// TestFailedCollectionsSayWhatWasCutOff: not episodes that --max-steps ended, nor those with an end; the description
// holds it.
func TestFailedCollectionsSayWhatWasCutOff(t *testing.T) {
	episode := func(steps int, terminated, truncated bool) demo.Trajectory {
		return demo.Trajectory{Observations: make([]float32, steps+1), Actions: make([]int, steps),
			Terminated: terminated, Truncated: truncated, Seed: demo.NoSeed}
	}
	collected := []demo.Trajectory{episode(2, true, false), episode(5, false, false), episode(3, false, true),
		episode(4, false, false)}
	failed := errors.New("the wheel came off\n    Traceback")
	for maxSteps, want := range map[int]string{
		0: "of 9 episodes that were to be collected, there are 2 whole and 2 cut off: the wheel came off",
		5: "of 9 episodes that were to be collected, there are 3 whole and 1 cut off: the wheel came off"} {
		o := collectOptions{episodes: 9, maxSteps: maxSteps}
		if got := o.incomplete(t.Context(), collected, failed); got != want {
			t.Errorf("--max-steps %d: %q, want %q", maxSteps, got, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("signal interrupt"))
	o := collectOptions{episodes: 9}
	text := o.incomplete(ctx, collected, fmt.Errorf("step: %w", context.Canceled))
	if !strings.HasSuffix(text, "cut off: step: signal interrupt") {
		t.Errorf("an interruption: %q", text)
	}
	set := demo.Set{Description: demo.Description{ObservationShape: []int{1}, Actions: 2, Incomplete: text},
		Trajectories: collected}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := set.Write(path); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := run(t, "show", path); status != 0 || !strings.Contains(stdout, "  note: "+text+"\n") {
		t.Errorf("show: status %d, says\n%s%s", status, stdout, stderr)
	}
}

// TestEndsAreCounted: of rows that terminate or are truncated, both at once, or neither.
func TestEndsAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recorded.csv")
	const unknown = "no trajectory is marked as terminated or truncated"
	for _, c := range []struct {
		ends [][2]int // terminated and truncated
		want string
	}{
		{[][2]int{{1, 0}, {0, 1}, {0, 1}, {1, 1}, {0, 0}}, "  ends: 2 terminated, 2 truncated, 1 not known\n"},
		{[][2]int{{0, 1}}, "  ends: 1 truncated\n"},
		{[][2]int{{0, 0}, {0, 0}}, "  ends: 2 not known\n"},
	} {
		text := "episode,obs_0,action,next_obs_0,terminated,truncated\n"
		for i, end := range c.ends {
			text += fmt.Sprintf("%d,0,0,1,0,0\n%d,1,1,2,%d,%d\n", i, i, end[0], end[1])
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := run(t, "show", path)
		if status != 0 || !strings.Contains(stdout, c.want) ||
			strings.Contains(stdout, unknown) != (c.want == "  ends: 2 not known\n") {
			t.Errorf("%v: status %d, says\n%s%s", c.ends, status, stdout, stderr)
		}
	}
}

func TestConvertReplacesNothingUnasked(t *testing.T) {
	dir := t.TempDir()
	text, out := filepath.Join(dir, "recorded.csv"), filepath.Join(dir, "stored.npz")
	if err := os.WriteFile(text, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	convert := func(want string, args ...string) {
		t.Helper()
		status, _, stderr := run(t, append([]string{"convert"}, args...)...)
		if (status == 0) != (want == "") || !strings.Contains(stderr, want) {
			t.Errorf("convert %v: status %d, says %q", args, status, stderr)
		}
	}
	read := func() string {
		t.Helper()
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	convert("", text, "--out", out)
	before := read()
	if err := os.WriteFile(text, []byte(recorded+"3,0,1,5,1,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	convert("exists already", text, "--out", out)
	convert("exists already", filepath.Join(dir, "absent.csv"), "--out", out) // before anything is read
	if read() != before {
		t.Error("the refused conversion changed the file")
	}
	convert("", text, "--out", out, "--force")
	if read() == before {
		t.Error("--force left the file as it was")
	}
	out = filepath.Join(dir, "recorded.npz") // the description of which lies beside the text
	convert("", text, "--out", out)
	convert("recorded.npz exists already", text, "--out", out)
	convert("", text, "--out", out, "--force")
	convert("that is read", out, "--plain", "--out", out, "--force")
	flat := filepath.Join(dir, "flat.npz")
	if err := npz.Write(flat, map[string]npz.Array{"obs": npz.Floats([]float64{0}, 1, 1),
		"next_obs": npz.Floats([]float64{0}, 1, 1), "action": npz.Ints([]int{0}, 1),
		"episode": npz.Ints([]int{0}, 1)}); err != nil {
		t.Fatal(err)
	}
	convert("that is read, which the result would replace", flat, "--out", flat, "--force")
}

// TestOneRuleForInfinities: what demonstrations cannot hold is refused by show, and by convert, which leaves the
// earlier good files as they were.
func TestOneRuleForInfinities(t *testing.T) {
	dir := t.TempDir()
	text, out := filepath.Join(dir, "recorded.csv"), filepath.Join(dir, "stored.npz")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text, recorded)
	if status, _, stderr := run(t, "convert", text, "--out", out); status != 0 {
		t.Fatal(stderr)
	}
	var before [2]string
	files := [2]string{out, filepath.Join(dir, "stored.json")}
	for i, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before[i] = string(content)
	}
	for what, line := range map[string]string{"reward": "2,0,1,%s,1,1\n", "obs_0": "2,%s,1,5,1,1\n",
		"next_obs_0": "2,0,1,5,%s,1\n"} {
		for _, number := range []string{"inf", "-Inf", "1e300", "nan"} {
			bad := filepath.Join(dir, "bad.csv")
			write(bad, strings.Replace(recorded, "2,0,1,5,1,1\n", fmt.Sprintf(line, number), 1))
			for _, args := range [][]string{{"show", bad}, {"convert", bad, "--out", out, "--force"}} {
				if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, what) ||
					!strings.Contains(stderr,
						"line 4") {
					t.Errorf("%s of %s %s: status %d, says %q", args[0], what, number, status, stderr)
				}
			}
			for i, path := range files {
				if content, err := os.ReadFile(path); err != nil || string(content) != before[i] {
					t.Fatalf("%s of %s %s: %s is another (error %v)", "convert", what, number, path, err)
				}
			}
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"want: demos collect":    {"collect", "--out", "x.npz"},
		`required flag(s) "out"`: {"collect", "CartPole-v1"},
		"ends in .npz":           {"collect", "CartPole-v1", "--out", "x.txt"},
		"there is no folder":     {"collect", "CartPole-v1", "--out", filepath.Join(t.TempDir(), "absent", "x.npz")},
		"NAME=VALUE":             {"collect", "CartPole-v1", "--out", "x.npz", "--option", "gravity"},
		"that is read": {"convert", "../../npz/testdata/stored.npz", "--out",
			"../../npz/testdata/stored.npz"},
		"want a name that ends in .npz, as convert writes no other layout": {"convert", "../../npz/testdata/stored.npz",
			"--layout", "csv", "--out", filepath.Join(t.TempDir(), "x.csv")},
		"stored.npz is a zip archive": {"convert", "../../npz/testdata/stored.npz", "--layout", "csv", "--out",
			filepath.Join(t.TempDir(), "x.npz")},
		`--layout "odd": want flat, imitation or csv`: {"convert", "../../npz/testdata/stored.npz", "--layout", "odd",
			"--out", "x.npz"},
		"/nowhere/python": {"collect", "CartPole-v1", "--out", filepath.Join(t.TempDir(), "x.npz"),
			"--python", "/nowhere/python"},
	} {
		if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, says %q, want %q", args, status, stderr, want)
		}
	}
}
