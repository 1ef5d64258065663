package main

import (
	"testing"

	"github.com/go-birl/birl/envs/demo"
)

// TestEpisodesAreKnownInOtherFiles: by what they are, in a converted file in another order too; a folder of before
// there were digests tells of its own file alone.
func TestEpisodesAreKnownInOtherFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 6)
	o := trainOptions{demos: "demos.npz", betas: []float64{1}, discount: 0.9, trajectories: 3}
	_, used, err := o.task(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := used.write("."); err != nil {
		t.Fatal(err)
	}
	set, err := demo.Open("demos.npz")
	if err != nil {
		t.Fatal(err)
	}
	e := set.Trajectories
	set.Trajectories = []demo.Trajectory{e[5], e[2], e[4], e[0]}
	if err := set.Write("converted.npz"); err != nil {
		t.Fatal(err)
	}
	if set, err = demo.Open("converted.npz"); err != nil {
		t.Fatal(err)
	}
	count := func(file string, first, end int, episodes []demo.Trajectory, want int) {
		t.Helper()
		if n, err := countUsed(".", file, first, end, episodes); err != nil || n != want {
			t.Errorf("%s, episodes %d to %d: %d were learnt from (error %v), want %d", file, first, end-1, n, err, want)
		}
	}
	count("demos.npz", 1, 6, e[1:6], 2)
	count("converted.npz", 0, 4, set.Trajectories, 2)
	count("converted.npz", 0, 1, set.Trajectories[:1], 0)
	other := e[0] // with another action somewhere
	other.Actions = append([]int{1 - other.Actions[0]}, other.Actions[1:]...)
	count("converted.npz", 0, 1, []demo.Trajectory{other}, 0)
	used.Digests = nil
	if err := used.write("."); err != nil {
		t.Fatal(err)
	}
	count("demos.npz", 1, 6, e[1:6], 2)
	count("converted.npz", 0, 4, set.Trajectories, 0)
}
