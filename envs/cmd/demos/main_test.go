package main

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
	status = command.Execute(t.Context(), newRoot(), args, &out, &errs)
	return status, out.String(), errs.String()
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
	status, stdout, stderr := run(t, "convert", text, "--env", "Moonbase-v0", "--expert", "the pilot", "--actions", "4", "--out", out)
	if status != 0 {
		t.Fatal(stderr)
	}
	want := out + ": 2 trajectories of Moonbase-v0, 3 transitions\n  observations [1], 4 actions\n  by the pilot\n  return 4.00 ± 1.41, from 3.00 to 5.00\n"
	if stdout != want {
		t.Errorf("convert says\n%s\nwant\n%s", stdout, want)
	}
	if status, stdout, stderr := run(t, "show", out); status != 0 || stdout != want {
		t.Errorf("show: status %d, says\n%s%s\nwant\n%s", status, stdout, stderr, want)
	}
	if status, stdout, stderr := run(t, "show", filepath.Join(dir, "absent.npz"), text); status != 1 ||
		!strings.Contains(stdout, "2 trajectories of an environment not named") || !strings.Contains(stderr, "absent.npz") {
		t.Errorf("show of two files of which one is absent: status %d, says\n%s%s", status, stdout, stderr)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"accepts 1 arg":             {"collect", "--out", "x.npz"},
		`required flag(s) "out"`:    {"collect", "CartPole-v1"},
		"ends in .npz":              {"collect", "CartPole-v1", "--out", "x.txt"},
		"no such file or directory": {"collect", "CartPole-v1", "--out", filepath.Join(t.TempDir(), "absent", "x.npz")},
		"NAME=VALUE":                {"collect", "CartPole-v1", "--out", "x.npz", "--option", "gravity"},
		"that is read":              {"convert", "../../npz/testdata/stored.npz", "--out", "../../npz/testdata/stored.npz"},
		"no layout":                 {"convert", "../../npz/testdata/stored.npz", "--layout", "odd", "--out", "x.npz"},
		"/nowhere/python":           {"collect", "CartPole-v1", "--out", filepath.Join(t.TempDir(), "x.npz"), "--python", "/nowhere/python"},
	} {
		if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, says %q, want %q", args, status, stderr, want)
		}
	}
}
