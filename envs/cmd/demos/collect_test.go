//go:build installed

package main

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
)

func TestCollectsAnEnvironmentNobodyPreparedFor(t *testing.T) {
	out := filepath.Join(t.TempDir(), "cartpole.npz")
	status, stdout, stderr := run(t, "collect", "CartPole-v1", "--episodes", "20", "--out", out)
	if status != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"20 trajectories of CartPole-v1", "observations [4], 2 actions", "uniformly random",
		"gymnasium 1.2.3"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the answer lacks %q:\n%s", want, stdout)
		}
	}
	set, err := demo.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	// at random, a pole falls after about 22 steps
	if r := set.Returns(); len(set.Trajectories) != 20 || r.Mean < 12 || r.Mean > 40 {
		t.Errorf("%d trajectories with returns %+v", len(set.Trajectories), r)
	}
}

func TestOptionsReachTheEnvironment(t *testing.T) {
	out := filepath.Join(t.TempDir(), "highway.npz")
	status, stdout, stderr := run(t, "collect", "highway-fast-v0", "--import", "highway_env", "--episodes", "2",
		"--max-steps", "2",
		"--option", `config={"vehicles_count": 5, "observation": {"type": "Kinematics", "vehicles_count": 3}}`,
		"--envs", "2", "--out", out)
	if status != 0 || !strings.Contains(stdout, "observations [3 5], 5 actions") {
		t.Errorf("status %d, says\n%s%s", status, stdout, stderr)
	}
	set, err := demo.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if set.Made == nil || set.Made.Options["config"] == nil || set.Made.Imports[0] != "highway_env" {
		t.Errorf("the file says of the environment %+v", set.Made)
	}
}

func TestInterruptedCollectionIsKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.npz")
	ctx, cancel := context.WithCancel(t.Context())
	stderr := writer(func(string) { cancel() }) // at the first line of progress
	if status := command.Execute(ctx, newRoot(), []string{"collect", "CartPole-v1", "--episodes", "1000000", "--out",
		out}, os.Stderr, stderr); status != 130 {
		t.Errorf("status %d, want 130", status)
	}
	if set, err := demo.Read(out); err != nil || len(set.Trajectories) < 5 {
		t.Errorf("after the interruption: error %v", err)
	}
}

// TestFaultsReplaceNoFile: what was collected before a fault stands beside the earlier file, not in its place.
func TestFaultsReplaceNoFile(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "x.npz")
	args := func(fault string, more ...string) []string {
		return append([]string{"collect", "Faulty-v0", "--import", "faulty", "--python-path", "../../gym/testdata",
			"--option", "fault=" + fault,
			"--option", "at=6", "--option", "length=4", "--episodes", "9", "--envs", "1", "--out", out}, more...)
	}
	if status, _, stderr := run(t, args(`""`)...); status != 0 {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := run(t, args(`""`)...); status != 1 || !strings.Contains(stderr, "--force") {
		t.Errorf("a second collection: status %d, %q", status, stderr)
	}
	status, stdout, stderr := run(t, args(`"raise"`, "--force", "--option", "length=10")...)
	if status != 1 || !strings.Contains(stderr, "x.partial.npz holds what was collected before") ||
		!strings.Contains(stdout, "x.partial.npz: 1 trajectory of") ||
		!strings.Contains(stdout, "note: of 9 episodes that were to be collected, there are 0 whole and 1 cut "+
			"off: gym:") {
		t.Errorf("a fault: status %d, says %q, %q", status, stdout, stderr)
	}
	partial, err := demo.Read(filepath.Join(dir, "x.partial.npz"))
	if err != nil || !strings.HasSuffix(partial.Incomplete, "the wheel came off") {
		t.Errorf("the part's description says %+v (error %v)", partial, err)
	}
	if now, err := os.ReadFile(out); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the fault changed the earlier file (error %v)", err)
	}
	if set, err := demo.Read(out); err != nil || len(set.Trajectories) != 9 {
		t.Errorf("the earlier file: error %v", err)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// TestReplayedFrames: an Atari episode is stored in kilobytes, drawn, and exported with each frame once.
func TestReplayedFrames(t *testing.T) {
	dir := t.TempDir()
	out, plain, picture := filepath.Join(dir, "x.npz"), filepath.Join(dir, "plain.npz"), filepath.Join(dir, "x.png")
	must := func(want string, args ...string) {
		t.Helper()
		if status, stdout, stderr := run(t, args...); status != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("%v: status %d, says\n%s%s", args, status, stdout, stderr)
		}
	}
	must("[4 84 84] by replay of seeds and actions", "collect", "ALE/Pong-v5", "--replay", "--episodes", "2",
		"--max-steps", "90", "--envs", "2", "--out", out)
	if info, err := os.Stat(out); err != nil || info.Size() > 4000 {
		t.Errorf("the file: %v (error %v)", info, err)
	}
	must("180 transitions", "show", out, "--frames", picture, "--episode", "1")
	f, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	drawn, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	must("180 transitions", "convert", out, "--plain", "--out", plain)
	set, err := demo.Read(plain)
	if err != nil {
		t.Fatal(err)
	}
	frames := set.Trajectories[1].Frames
	if frames == nil || len(frames.Pixels) != 91*84*84 || set.Replay != nil {
		t.Fatalf("the export holds %d transitions without their frames", set.Transitions())
	}
	if set.Made == nil || len(set.Made.Wrappers) != 2 || set.Made.Options["frameskip"] != 1. {
		t.Errorf("the export says that its environment was made by %+v", set.Made)
	}
	for _, at := range []struct{ x, y, frame int }{{1, 1, 0}, {1 + 7*86, 1 + 3*86, 90}} { // the first and the last
		shades := map[uint8]bool{}
		for y := range 84 {
			for x := range 84 {
				want := frames.Pixels[(at.frame*84+y)*84+x]
				if got := drawn.At(at.x+x, at.y+y).(color.Gray).Y; got != want {
					t.Fatalf("frame %d is drawn as %d at %d, %d, want %d", at.frame, got, x, y, want)
				}
				shades[want] = true
			}
		}
		if len(shades) < 3 {
			t.Errorf("frame %d has %d shades", at.frame, len(shades))
		}
	}
	for want, args := range map[string][]string{
		"exists already": {"show", out, "--frames", picture},
		"--episode 2":    {"show", out, "--frames", picture, "--force", "--episode", "2"},
		".png":           {"show", out, "--frames", "x.gif"},
		"[plain env]":    {"convert", out, "--plain", "--env", "x", "--out", filepath.Join(dir, "y.npz")},
	} {
		if status, _, stderr := run(t, args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, says %q", args, status, stderr)
		}
	}
	vectors := filepath.Join(dir, "v.npz")
	must("by replay", "collect", "CartPole-v1", "--replay", "--episodes", "1", "--out", vectors)
	if status, _, stderr := run(t, "show", vectors, "--frames", filepath.Join(dir, "v.png")); status != 1 ||
		!strings.Contains(stderr, "no stacks of frames") {
		t.Errorf("vectors are drawn: status %d, %q", status, stderr)
	}
}
