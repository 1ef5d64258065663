//go:build installed

package gym

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestContinueRepeatsWhatFollowed: more snapshots than environments, one of them close to the end of its episode, and
// the actions that were taken after each.
func TestContinueRepeatsWhatFollowed(t *testing.T) {
	c := lunar
	c.EnvsPerWorker, c.Autoreset = 2, Disabled
	p := open(t, c)
	reset(t, p)
	const steps = 6
	var snapshots []Snapshot
	var actions []int
	var states []Array
	ended := 0
	for k := 0; ended == 0; k++ {
		if k > 300 {
			t.Fatal("the episode does not end")
		}
		s, err := p.Snapshot(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		b := step(t, p, []int{k % 2 * 3, Leave}) // the side engine, every other step
		snapshots, actions, states = append(snapshots, s), append(actions, k%2*3), append(states, b.Obs.Row(0))
		if b.Done(0) {
			ended = k + 1
		}
	}
	chosen := []int{3, 10, ended - 2}
	var from []Snapshot
	for _, k := range chosen {
		from = append(from, snapshots[k])
	}
	taken := make([]int, len(chosen))
	got, err := p.Continue(t.Context(), from, steps, func(which []int, o Array) ([]int, error) {
		out := make([]int, len(which))
		for i, n := range which {
			at := chosen[n] + taken[n]
			if at > 0 && !bytes.Equal(o.Row(i).Bytes, states[at-1].Bytes) {
				t.Errorf("snapshot %d, step %d: another observation than in the episode", n, taken[n])
			}
			out[i] = actions[at]
			taken[n]++
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, k := range chosen {
		end := min(k+steps, ended)
		if g := &got[n]; !slices.Equal(g.Actions, actions[k:end]) || g.Terminated != (end == ended) ||
			len(g.Observations) != 8*(end-k+1) || !slices.Equal(g.Observation(end-k), states[end-1].Float32()) {
			t.Errorf("snapshot %d: %d steps, terminated %t, to %v", n, g.Len(), g.Terminated, g.Observation(g.Len()))
		}
	}
	if _, err := p.Continue(t.Context(), from, 1, func(which []int, _ Array) ([]int, error) {
		return make([]int, len(which)+1), nil
	}); err == nil || !strings.Contains(err.Error(), "chose 3 actions for 2 observations") {
		t.Errorf("error %v for an action too many", err)
	}
	if _, err := p.Continue(t.Context(), from, 1, func(which []int, _ Array) ([]int, error) {
		return slices.Repeat([]int{Leave}, len(which)), nil
	}); err == nil || !strings.Contains(err.Error(), "chose the action -1") {
		t.Errorf("error %v for an action that is none", err)
	}
	if _, err := p.Continue(t.Context(), from, 0, nil); err == nil {
		t.Error("no error for no steps")
	}
	if _, err := open(t, lunar).Continue(t.Context(), from, 1, nil); err == nil ||
		!strings.Contains(err.Error(), "Autoreset") {
		t.Errorf("error %v for a pool that resets", err)
	}
}

// Environments that stand at snapshots are not restored again, and stay there; what follows is the same.
func TestContinueAgain(t *testing.T) {
	c := lunar
	c.Workers, c.EnvsPerWorker, c.Autoreset = 2, 3, Disabled
	p := open(t, c)
	reset(t, p)
	var snapshots []Snapshot
	for k := range 80 {
		if k%10 == 9 {
			s, err := p.Snapshot(t.Context(), k/10%2*3)
			if err != nil {
				t.Fatal(err)
			}
			snapshots = append(snapshots, s)
		}
		step(t, p, []int{k % 4, Leave, Leave, k % 3, Leave, Leave})
	}
	stand := func() (out []string) {
		for _, s := range p.standing {
			out = append(out, s.snapshot)
		}
		return out
	}
	for _, again := range []struct{ asked, kept []int }{ // kept: how many environments stay where they stood before
		{asked: []int{0, 1, 2, 3, 4}}, {[]int{4, 1}, []int{0, 1, 2, 3, 4}}, {[]int{2, 2, 0}, []int{0, 1, 2, 3, 4}},
		{[]int{5, 0, 6, 1}, []int{0, 1}}, {[]int{7, 6, 5, 4, 3, 2, 1, 0}, nil},
	} {
		before := stand()
		var of []Snapshot
		for _, i := range again.asked {
			of = append(of, snapshots[i])
		}
		choose := func(which []int, o Array) ([]int, error) {
			out := make([]int, len(which))
			for i, k := range which {
				out[i] = (again.asked[k] + int(1e3*max(o.Row(i).Float64()[0], 0))) % 4
			}
			return out, nil
		}
		got, err := p.Continue(t.Context(), of, 400, choose)
		if err != nil {
			t.Fatal(err)
		}
		want, err := open(t, c).Continue(t.Context(), of, 400, choose)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || !got[0].Terminated {
			t.Errorf("snapshots %d: episodes differ from those of a new pool", again.asked)
		}
		after := stand()
		for _, i := range again.kept {
			env := slices.Index(before, string(snapshots[i]))
			if env < 0 || after[env] != before[env] {
				t.Errorf("snapshots %d: environment %d does not stand at snapshot %d any more", again.asked, env, i)
			}
		}
	}
	last := stand()
	step(t, p, []int{0, Leave, Leave, 0, Leave, Leave})
	if now := stand(); now[0] != "" || now[3] != "" || now[1] != last[1] || last[0] == "" {
		t.Error("environments that took a step stand where they were, or others do not")
	}
	if _, err := p.ResetEnvs(t.Context(), []int{1}, nil); err != nil || p.standing[1].snapshot != "" {
		t.Errorf("error %v, or an environment that was reset stands where it was", err)
	}
}

// Goroutines that continue in one pool take turns: what follows is the same.
func TestContinueInTurns(t *testing.T) {
	c := lunar
	c.EnvsPerWorker, c.Autoreset = 1, Disabled
	p := open(t, c)
	var from [2]Snapshot
	for k := range from {
		reset(t, p)
		for range 5 + 20*k {
			step(t, p, []int{k})
		}
		var err error
		if from[k], err = p.Snapshot(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	observed := func(k int) []float32 {
		out, err := p.Continue(t.Context(), from[k:k+1], 30, func([]int, Array) ([]int, error) { return []int{2}, nil })
		if err != nil {
			t.Error(err)
			return nil
		}
		return out[0].Observations
	}
	want := [][]float32{observed(0), observed(1)}
	var running sync.WaitGroup
	for i := range 10 {
		running.Go(func() {
			if !slices.Equal(observed(i%2), want[i%2]) {
				t.Errorf("what follows snapshot %d is another beside others", i%2)
			}
		})
	}
	running.Wait()
}

// A failure in a copy closes the pool, and so does the end of a context; what the chooser refuses leaves it open.
func TestContinueFails(t *testing.T) {
	c := faulty(t, "raise")
	c.Workers, c.EnvsPerWorker, c.Autoreset = 1, 1, Disabled
	p := open(t, c)
	reset(t, p)
	s, err := p.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	from, no := []Snapshot{s}, errors.New("no")
	one := func([]int, Array) ([]int, error) { return []int{1}, nil }
	if _, err := p.Continue(t.Context(), from, 2, func([]int, Array) ([]int, error) { return nil, no }); !errors.Is(err,
		no) {
		t.Errorf("error %v, want that of the choice", err)
	}
	if got, err := p.Continue(t.Context(), from, 2, one); err != nil || got[0].Len() != 2 {
		t.Errorf("after a refusal: error %v", err)
	}
	for range 2 {
		if _, err := p.Continue(t.Context(), from, 50, one); err == nil ||
			!strings.Contains(err.Error(), "step with action 1") {
			t.Errorf("a failing environment: error %v", err)
		}
	}
	p = open(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Continue(ctx, from, 2, func([]int, Array) ([]int, error) {
		cancel()
		return []int{1}, nil
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if alive(p.workers[0].cmd.Process.Pid) {
		t.Error("the worker lives on")
	}
}

func TestRestoreEnvsOfSeveralWorkers(t *testing.T) {
	c := lunar
	c.Workers, c.EnvsPerWorker = 2, 2
	p := open(t, c)
	reset(t, p)
	want := step(t, p, []int{0, 1, 2, 3})
	var snapshots []Snapshot
	envs := []int{3, 0, 2}
	for _, env := range envs {
		s, err := p.Snapshot(t.Context(), env)
		if err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, s)
	}
	step(t, p, []int{1, 1, 1, 1})
	got, err := p.RestoreEnvs(t.Context(), envs, snapshots)
	if err != nil {
		t.Fatal(err)
	}
	for k, env := range envs {
		if !bytes.Equal(got.Row(k).Bytes, want.Obs.Row(env).Bytes) {
			t.Errorf("environment %d: %v, want %v", env, got.Row(k).Float32(), want.Obs.Row(env).Float32())
		}
	}
	refused := Snapshot(`{"kind": "highway", "highway": {}}`)
	if _, err := p.RestoreEnvs(t.Context(), []int{1, 2}, []Snapshot{snapshots[0], refused}); err == nil ||
		p.standing[1].snapshot != string(snapshots[0]) || p.standing[2].snapshot != "" || p.standing[3].snapshot == "" {
		t.Errorf("error %v where one worker refuses, or environments do not stand where they were brought", err)
	}
	for name, bad := range map[string]struct {
		envs      []int
		snapshots []Snapshot
	}{"2 snapshots for 3": {envs, snapshots[:2]}, "envs[1] is 4": {[]int{0, 4}, snapshots[:2]},
		"no snapshot": {[]int{0, 1}, []Snapshot{snapshots[0], Snapshot("{")}}} {
		if _, err := p.RestoreEnvs(t.Context(), bad.envs, bad.snapshots); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}
