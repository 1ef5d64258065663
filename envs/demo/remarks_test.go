package demo

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/npz"
)

func TestRemarks(t *testing.T) {
	of := func(shape []int, actions int, observations []float32, taken ...int) *Set {
		return &Set{Description: Description{ObservationShape: shape, Actions: actions},
			Trajectories: []Trajectory{{Observations: observations, Actions: taken, Terminated: true}}}
	}
	endless := of([]int{1}, 2, []float32{1, 2.5, 3}, 0, 1)
	endless.Trajectories[0].Terminated = false
	failed := of([]int{1}, 2, []float32{1, 2.5, 3}, 0, 1)
	failed.Incomplete = "of 3 episodes, 1 was cut off"
	mixed := of([]int{1}, 2, []float32{1, 2.5, 3}, 0, 1)
	mixed.Trajectories = append(mixed.Trajectories, endless.Trajectories[0])
	for name, c := range map[string]struct {
		set  *Set
		want []string
	}{
		"nothing to say": {of([]int{1}, 2, []float32{1, 2.5, 3}, 0, 1), nil},
		"an action that never occurs, and states by number": {of(nil, 3, []float32{1, 2, 3}, 1, 2),
			[]string{"1 of 3 actions never occur: 0;", "single whole numbers"}},
		"states by number in one row": {of([]int{1}, 2, []float32{1, 2, 3}, 0, 1), []string{"single whole numbers"}},
		"a number that is not whole":  {of(nil, 2, []float32{1, 2.5, 3}, 0, 1), nil},
		"pictures of another layout": {of([]int{1, 2, 1}, 2, []float32{1, 2, 3, 4, 5, 6}, 0, 1),
			[]string{"[1 2 1] are read as 2"}},
		"pictures in no sequence": {of([]int{2, 1, 1}, 2, []float32{1, 2, 3, 4, 5, 6}, 0, 1),
			[]string{"each observation is the one before it without its first frame"}},
		"many that never occur": {of([]int{1}, 1e9, []float32{0, 1.5, 2}, 1e9-1, 1e9-2),
			[]string{"999999998 of 1000000000 actions never occur: 0 1 2 3 4 5 6 7 8 9 …"}},
		"one action": {of([]int{1}, 1, []float32{0, 1.5, 2}, 0, 0), []string{"only one action was ever taken"}},
		"a feature that never changes": {of([]int{3}, 2, []float32{1, 2, 3, 4, 2, 3, 5, 2, 3}, 0, 1),
			[]string{"of the 3 features, counted from 0, some are the same in all observations: 1 2"}},
		"no end that is known":     {endless, []string{"no trajectory is marked as terminated or truncated"}},
		"a collection that failed": {failed, []string{failed.Incomplete}},
		"one end that is known":    {mixed, nil},
	} {
		got := c.set.Remarks()
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}

// TestMergedFeatures: times in seconds differ by less than float32 can tell. Numbers that rounding errors alone set
// apart, exact ones, and small changes of one with a large range do not count.
func TestMergedFeatures(t *testing.T) {
	const rows = 20
	var obs, next []float64
	var text strings.Builder
	text.WriteString("episode,action,obs_0,obs_1,obs_2,obs_3,next_obs_0,next_obs_1,next_obs_2,next_obs_3\n")
	row := func(i int) []float64 {
		x := float64(i)
		return []float64{1.7e9 + x, 0.3 + 5e-17*float64(i%2), 1e6 + x, 1 - math.Pow(0.1, x)}
	}
	for i := range rows {
		obs, next = append(obs, row(i)...), append(next, row(i+1)...)
		fmt.Fprintf(&text, "1,%d", i%2)
		for _, x := range append(row(i), row(i+1)...) {
			fmt.Fprintf(&text, ",%.17g", x)
		}
		text.WriteString("\n")
	}
	actions := make([]int, rows)
	actions[1] = 1
	dir := t.TempDir()
	files := map[string]map[string]npz.Array{
		"flat.npz": {"obs": npz.Floats(obs, rows, 4), "next_obs": npz.Floats(next, rows, 4),
			"action": npz.Ints(actions, rows), "episode": npz.Ints(make([]int, rows), rows)},
		"imitation.npz": {"obs": npz.Floats(append(obs, row(rows)...), rows+1, 4), "acts": npz.Ints(actions, rows),
			"indices": npz.Ints(nil, 0), "terminal": npz.Bools([]bool{true}, 1)},
		"text.csv": nil,
	}
	for name, arrays := range files {
		path := filepath.Join(dir, name)
		err := os.WriteFile(path, []byte(text.String()), 0o600)
		if arrays != nil {
			err = npz.Write(path, arrays)
		}
		if err != nil {
			t.Fatal(err)
		}
		set, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(set.Remarks(), "\n")
		if !slices.Equal(set.Merged, []int{0}) || !strings.Contains(got, "row to row of the features 0: subtract") ||
			!strings.Contains(got, "of the 4 features, counted from 0, some are the same in all observations: 1") {
			t.Errorf("%s: merged %v, remarks %q", name, set.Merged, got)
		}
	}
}
