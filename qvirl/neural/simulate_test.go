//go:build installed

package neural

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// simulation opens an environment and lets a policy at random act in it.
func simulation(t *testing.T, id string, steps int) (*gym.Pool, []demo.Trajectory) {
	t.Helper()
	p, err := gym.Open(t.Context(), gym.Config{ID: id, Workers: 1, EnvsPerWorker: 2, Autoreset: gym.Disabled})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	of, err := gym.Collect(t.Context(), p, gym.RandomPolicy(p.Spec().Actions), gym.CollectOptions{Episodes: 2,
		FirstSeed: 7, MaxSteps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return p, of
}

func TestSuccessorsFromTheEnvironment(t *testing.T) {
	p, of := simulation(t, "LunarLander-v3", 12)
	const m, size = 3, 8
	o := BranchOptions{Seed: 5}
	got, err := SampleSuccessors(t.Context(), p, of, m, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range of {
		if len(got[i].Terminated) != 12*(m-1) || len(got[i].Observations) != 12*(m-1)*size {
			t.Fatalf("trajectory %d: %d flags, %d numbers", i, len(got[i].Terminated), len(got[i].Observations))
		}
		for k, a := range of[i].Actions {
			next := of[i].Observation(k + 1)
			for d := range m - 1 {
				at := k*(m-1) + d
				x := got[i].Observations[at*size : (at+1)*size]
				if equal := slices.Equal(x, next); equal != (a == 0) { // the engines' push alone is random
					t.Errorf("trajectory %d, step %d: action %d led to %v, a draw is %v", i, k, a, next, x)
				}
				// the push moves vy by about 0.01
				if !(math.Abs(float64(x[3]-next[3])) <= 0.1) || got[i].Terminated[at] {
					t.Errorf("trajectory %d, step %d: a draw is %v, terminated %t, what happened is %v", i, k, x,
						got[i].Terminated[at], next)
				}
			}
		}
	}
	again, err := SampleSuccessors(t.Context(), p, of, m, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range of {
		if !slices.Equal(again[i].Observations, got[i].Observations) {
			t.Errorf("trajectory %d: the same seed draws other successors", i)
		}
	}
	o.Seed = 6
	other, err := SampleSuccessors(t.Context(), p, of[:1], m, o)
	if err != nil || slices.Equal(other[0].Observations, got[0].Observations) {
		t.Errorf("another seed draws the same successors (error %v)", err)
	}

	for want, spoil := range map[string]func(d *demo.Trajectory){
		"observation[0][": func(d *demo.Trajectory) { d.Seed++ },
		"observation[5][": func(d *demo.Trajectory) { d.Actions[4] = (d.Actions[4] + 1) % 4 },
		"have 8 numbers":  func(d *demo.Trajectory) { d.Observations = d.Observations[:4*13] },
	} {
		d := demo.Trajectory{Observations: slices.Clone(of[0].Observations), Actions: slices.Clone(of[0].Actions),
			Seed: of[0].Seed}
		spoil(&d)
		if _, err := SampleSuccessors(t.Context(), p, []demo.Trajectory{d}, m, o); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "seed") {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Where the dynamics are deterministic all draws coincide, and the first successor has all the weight, also at the end.
func TestSuccessorsOfDeterministicDynamics(t *testing.T) {
	p, of := simulation(t, "CartPole-v1", 0)
	got, err := SampleSuccessors(t.Context(), p, of, 2, BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := newData(of, got, Image{}, standard(moments(of, 4)), 2, 0.9)
	for i, w := range d.Weight {
		if want := d.Discount[i/2]; i%2 == 0 && w != want || i%2 == 1 && w != 0 {
			t.Errorf("weight of successor %d of transition %d is %g, the discount %g", i%2, i/2, w, want)
		}
	}
	for i := range of {
		if ends := got[i].Terminated; !of[i].Terminated || !ends[len(ends)-1] ||
			slices.Contains(ends[:len(ends)-1], true) {
			t.Errorf("trajectory %d terminates %t, its draws %v", i, of[i].Terminated, ends)
		}
	}
}

func TestBranchesAreWhatWasNotChosen(t *testing.T) {
	p, of := simulation(t, "CartPole-v1", 0)
	got, err := SampleBranches(t.Context(), p, of, BranchOptions{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != of[0].Len()+of[1].Len() {
		t.Fatalf("%d branches of %d states with one other action each", len(got), of[0].Len()+of[1].Len())
	}
	at := 0
	for i := range of {
		for k, a := range of[i].Actions {
			b := got[at]
			at++
			if b.Len() != 1 || b.Actions[0] != 1-a || !slices.Equal(b.Observation(0), of[i].Observation(k)) {
				t.Fatalf("trajectory %d, step %d: the branch is %+v", i, k, b)
			}
			// The positions that follow are the velocities', which the action has not changed yet; the velocities are
			// pushed to the other side.
			x, y := of[i].Observation(k+1), b.Observation(1)
			if x[0] != y[0] || x[2] != y[2] || (y[1] > x[1]) != (a == 0) {
				t.Errorf("trajectory %d, step %d: action %d leads to %v, the other one to %v", i, k, a, x, y)
			}
		}
	}
	of[1].Seed = demo.NoSeed
	if _, err := SampleBranches(t.Context(), p, of, BranchOptions{}); err == nil {
		t.Error("branches of an episode without a seed")
	}
}

// An exploring apprentice's successors are drawn in the environment that it explores.
func TestExplorersDrawFromTheEnvironment(t *testing.T) {
	p, of := simulation(t, "CartPole-v1", 0)
	m := fit(t, testConfig(), classifier{}, &Task{Observation: 4, Actions: 2, Discount: 0.9, Beta: 1,
		Runs: []Run{{Demos: of}}})[0]
	e := NewExplore(p, ExploreOptions{Every: 10, Keep: 2, Episodes: 2, MaxSteps: 5, Seed: 3, Successors: 3})
	found, err := e.Rollout(t.Context(), 0, 1, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]int{{1, 1}, {0, 2}} { // another run, another round
		other, err := e.Rollout(t.Context(), at[0], at[1], m)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range other {
			for _, f := range found {
				if slices.Equal(o.Observation(0), f.Observation(0)) {
					t.Errorf("run %d, round %d: an episode begins as one of run 0, round 1", at[0], at[1])
				}
			}
		}
	}
	s, err := e.Successors(t.Context(), 0, 1, found)
	if err != nil {
		t.Fatal(err)
	}
	if len(s) != 2 || len(s[1].Terminated) != 2*found[1].Len() ||
		!slices.Equal(s[1].Observations[:4], found[1].Observation(1)) {
		t.Errorf("successors %v of %v", s, found)
	}
	if NewExplore(p, ExploreOptions{Successors: 1}).Successors != nil {
		t.Error("with one successor there are draws")
	}
}

func TestSnapshotsOfATrajectory(t *testing.T) {
	p, of := simulation(t, "LunarLander-v3", 12)
	steps := []int{7, 0, 7, 11}
	got, err := Snapshots(t.Context(), p, &of[1], steps)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range steps {
		o, err := p.Restore(t.Context(), 1, got[i])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.Row(0).Float32(), of[1].Observation(k)) {
			t.Errorf("before step %d: %v, want %v", k, o.Row(0).Float32(), of[1].Observation(k))
		}
	}
	if _, err := Snapshots(t.Context(), p, &of[1], []int{12}); err == nil {
		t.Error("no error for a step that the trajectory does not have")
	}
}
