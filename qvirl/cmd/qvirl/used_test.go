package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
)

// TestEpisodesAreKnownInOtherFiles: by what they are, in a converted file in another order too; a folder of before
// there were digests tells of its own file alone. What cannot be told, and a file replaced under its name, are noted.
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
	count := func(file string, first, end int, all []demo.Trajectory, want int, noted string) {
		t.Helper()
		n, note, err := countUsed(".", file, first, end, all)
		if err != nil || n != want || (note == "") != (noted == "") || !strings.Contains(note, noted) {
			t.Errorf("%s, episodes %d to %d: %d were learnt from (error %v), want %d; noted %q, want %q", file, first,
				end-1, n, err, want, note, noted)
		}
	}
	const unknown = "cannot be told"
	count("demos.npz", 1, 6, e, 2, "")
	count("converted.npz", 0, 4, set.Trajectories, 2, "")
	count("converted.npz", 0, 1, set.Trajectories, 0, "")
	other := e[0] // with another action somewhere
	other.Actions = append([]int{1 - other.Actions[0]}, other.Actions[1:]...)
	changed := []demo.Trajectory{other}
	count("converted.npz", 0, 1, changed, 0, "")
	if err := os.Rename("converted.npz", "demos.npz"); err != nil {
		t.Fatal(err)
	}
	count("demos.npz", 0, 4, set.Trajectories, 2, "")
	count("demos.npz", 0, 1, set.Trajectories, 0, "") // but others of the file were
	count("demos.npz", 0, 1, changed, 0, "none of the episodes that it learnt from are in demos.npz")
	used.Digests = nil
	if err := used.write("."); err != nil {
		t.Fatal(err)
	}
	count("demos.npz", 0, 4, set.Trajectories, 0, unknown)
	writeDemos(t, "demos.npz", 6)
	count("demos.npz", 1, 6, e, 2, "")
	if err := os.Remove(usedFile); err != nil {
		t.Fatal(err)
	}
	count("demos.npz", 1, 6, e, 0, unknown)
}

// TestPicturesAreNoFeatures: though an observation has as many numbers. A replay makes pictures only later.
func TestPicturesAreNoFeatures(t *testing.T) {
	pictures := &demo.Set{Description: demo.Description{ObservationShape: []int{2, 3, 3}, Actions: 2},
		Trajectories: []demo.Trajectory{{Frames: &demo.Frames{}}}}
	features := &demo.Set{Description: pictures.Description, Trajectories: []demo.Trajectory{{}}}
	replayed := &demo.Set{Description: pictures.Description, Trajectories: []demo.Trajectory{{}}}
	replayed.Replay = &demo.Recipe{}
	ofPictures := neural.Spec{Observation: 18, Actions: 2, Image: neural.ImageOf(pictures)}
	ofFeatures := neural.Spec{Observation: 18, Actions: 2}
	const want = "--demos: x.npz has observations [2 3 3] that are %s, the model was learnt for %s"
	for _, c := range []struct {
		set  *demo.Set
		spec neural.Spec
		want string
	}{
		{pictures, ofPictures, ""}, {features, ofFeatures, ""}, {replayed, ofPictures, ""},
		{pictures, ofFeatures, fmt.Sprintf(want, "stacks of pictures", "features")},
		{features, ofPictures, fmt.Sprintf(want, "features", "stacks of pictures [2 3 3]")},
	} {
		if err := checkShapes("x.npz", c.set, c.spec); fmt.Sprint(err) != cmp.Or(c.want, "<nil>") {
			t.Errorf("%+v of %+v: error %v, want %q", c.set, c.spec, err, c.want)
		}
	}
}
