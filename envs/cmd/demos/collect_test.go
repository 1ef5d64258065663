//go:build installed

package main

import (
	"context"
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
	for _, want := range []string{"20 trajectories of CartPole-v1", "observations [4], 2 actions", "uniformly random", "gymnasium 1.2.3"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the answer lacks %q:\n%s", want, stdout)
		}
	}
	set, err := demo.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Returns(); len(set.Trajectories) != 20 || r.Mean < 12 || r.Mean > 40 { // at random, a pole falls after about 22 steps
		t.Errorf("%d trajectories with returns %+v", len(set.Trajectories), r)
	}
}

func TestOptionsReachTheEnvironment(t *testing.T) {
	out := filepath.Join(t.TempDir(), "highway.npz")
	status, stdout, stderr := run(t, "collect", "highway-fast-v0", "--import", "highway_env", "--episodes", "2", "--max-steps", "2",
		"--option", `config={"vehicles_count": 5, "observation": {"type": "Kinematics", "vehicles_count": 3}}`, "--envs", "2", "--out", out)
	if status != 0 || !strings.Contains(stdout, "observations [3 5], 5 actions") {
		t.Errorf("status %d, says\n%s%s", status, stdout, stderr)
	}
}

func TestInterruptedCollectionIsKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.npz")
	ctx, cancel := context.WithCancel(t.Context())
	stderr := writer(func(string) { cancel() }) // at the first line of progress
	if status := command.Execute(ctx, newRoot(), []string{"collect", "CartPole-v1", "--episodes", "1000000", "--out", out}, os.Stderr, stderr); status != 130 {
		t.Errorf("status %d, want 130", status)
	}
	if set, err := demo.Read(out); err != nil || len(set.Trajectories) < 5 {
		t.Errorf("after the interruption: error %v", err)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }
