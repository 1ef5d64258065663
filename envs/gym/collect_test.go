//go:build installed

package gym

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/demo"
)

// The same episodes come out of a pool of any size, and they are what stepping by hand gives.
func TestCollectedEpisodes(t *testing.T) {
	o := CollectOptions{Episodes: 7, FirstSeed: 40, PolicySeed: 3}
	var sets [][]demo.Trajectory
	for _, c := range []Config{{Workers: 1, EnvsPerWorker: 1}, {Workers: 2, EnvsPerWorker: 2},
		{Workers: 1, EnvsPerWorker: 9}} {
		c.ID, c.Autoreset = "CartPole-v1", Disabled
		p := open(t, c)
		told := 0
		o.Progress = func(done int) { told = done }
		got, err := Collect(t.Context(), p, RandomPolicy(2), o)
		if err != nil {
			t.Fatal(err)
		}
		s := demo.Set{Description: p.Describe(), Trajectories: got}
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if len(got) != 7 || told != 7 {
			t.Errorf("%d episodes, progress %d, want 7", len(got), told)
		}
		sets = append(sets, got)
	}
	for i := range sets {
		if diff := cmp.Diff(sets[0], sets[i]); diff != "" {
			t.Errorf("pool %d gives other episodes:\n%s", i, diff)
		}
	}
	p := open(t, Config{ID: "CartPole-v1", Autoreset: Disabled})
	for k, want := range sets[0] {
		if want.Seed != 40+int64(k) || !want.Terminated || want.Truncated || want.Return() != float64(want.Len()) {
			t.Errorf("episode %d: seed %d, terminated %v, return %g of %d steps", k, want.Seed, want.Terminated,
				want.Return(), want.Len())
		}
		obs, err := p.Reset(t.Context(), []int64{want.Seed})
		if err != nil {
			t.Fatal(err)
		}
		all := obs.Float32()
		for _, a := range want.Actions {
			all = append(all, step(t, p, []int{a}).Obs.Float32()...)
		}
		if !cmp.Equal(all, want.Observations) {
			t.Errorf("episode %d: the observations differ from those by hand", k)
		}
	}
	o.MaxSteps = 5
	cut, err := Collect(t.Context(), p, RandomPolicy(2), o)
	if err != nil || cut[6].Len() != 5 || cut[6].Terminated || cut[6].Truncated ||
		!cmp.Equal(cut[6].Actions, sets[0][6].Actions[:5]) {
		t.Errorf("cut after 5 steps: %+v, error %v", cut, err)
	}
}

// What was collected before a fault is kept.
func TestCollectedBeforeAFault(t *testing.T) {
	c := faulty(t, "")
	c.Options, c.Workers, c.Autoreset = map[string]any{"length": 4}, 1, Disabled
	p := open(t, c)
	steps, tired := 0, errors.New("tired")
	got, err := Collect(t.Context(), p, func(obs Array, random []*rand.Rand) ([]int, error) {
		if steps++; steps > 7 {
			return nil, tired
		}
		return make([]int, len(random)), nil
	}, CollectOptions{Episodes: 10})
	if !errors.Is(err, tired) {
		t.Errorf("error %v, want the policy's", err)
	}
	var lengths []int
	for _, x := range got {
		lengths = append(lengths, x.Len())
	}
	if !cmp.Equal(lengths, []int{4, 4, 3, 3}) || !got[1].Terminated || got[2].Terminated {
		t.Errorf("episodes of lengths %v are kept, want 4 and 4 that ended, 3 and 3 that had not", lengths)
	}
	c = faulty(t, "raise")
	c.Options["at"], c.Autoreset = 3, Disabled
	got, err = Collect(t.Context(), open(t, c), RandomPolicy(3), CollectOptions{Episodes: 10})
	if err == nil || !strings.Contains(err.Error(), "the wheel came off") || len(got) != 4 || got[0].Len() != 2 {
		t.Errorf("error %v, kept %+v", err, got)
	}
}

// What a file of demonstrations cannot hold ends the collection, and what was collected before is kept.
func TestCollectedBeforeAnInfinity(t *testing.T) {
	for fault, want := range map[string]string{"infinite reward": "the reward is +Inf",
		"infinite observation": "observation[1] is -Inf"} {
		c := faulty(t, fault)
		c.Options["at"], c.Workers, c.EnvsPerWorker, c.Autoreset = 6, 1, 1, Disabled
		got, err := Collect(t.Context(), open(t, c), RandomPolicy(3), CollectOptions{Episodes: 10, FirstSeed: 7})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "environment 0 (seed 7)") ||
			len(got) != 1 || got[0].Len() != 5 {
			t.Errorf("%s: error %v, kept %+v", fault, err, got)
		}
	}
}

// A worker that dies is started again, and the episodes are those of a collection in which none died. One that dies
// always is given up in the end, and so is an exception, which would come again.
func TestCollectRestartsWorkers(t *testing.T) {
	t.Setenv("ONCE_FILE", filepath.Join(t.TempDir(), "once"))
	collect := func(fault string, restarts int) (episodes []demo.Trajectory, causes []error, err error) {
		c := faulty(t, fault)
		c.Options["at"], c.Options["length"], c.Autoreset = 9, 10, Disabled
		if fault == "hang" {
			c.StepLimit = time.Second
		}
		episodes, err = Collect(t.Context(), open(t, c), RandomPolicy(3), CollectOptions{Episodes: 11, FirstSeed: 3,
			PolicySeed: 8, MaxRestarts: restarts,
			Restarted: func(cause error) { causes = append(causes, cause) }})
		return episodes, causes, err
	}
	want, causes, err := collect("", 2)
	if err != nil || len(want) != 11 || len(causes) != 0 {
		t.Fatalf("without a fault: %d episodes, restarts %v, error %v", len(want), causes, err)
	}
	got, causes, err := collect("exit once", 2)
	if err != nil || len(causes) != 1 || !strings.Contains(causes[0].Error(), "exit status 7") ||
		!cmp.Equal(got, want) {
		t.Errorf("after a death: %d episodes, restarts %v, error %v", len(got), causes, err)
	}
	if _, causes, err := collect("exit", 2); err == nil || len(causes) != 2 || !strings.Contains(err.Error(),
		"exit status 7") {
		t.Errorf("a worker that always dies: restarts %v, error %v", causes, err)
	}
	if _, causes, err := collect("hang", 1); err == nil || len(causes) != 1 || !strings.Contains(err.Error(),
		"time limit of 1s") {
		t.Errorf("a worker that hangs: restarts %v, error %v", causes, err)
	}
	if _, causes, err := collect("raise", 2); err == nil || len(causes) != 0 {
		t.Errorf("an exception: restarts %v, error %v", causes, err)
	}
}

func TestCollectRefuses(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", Autoreset: Disabled})
	bad := func(actions ...int) Policy {
		return func(Array, []*rand.Rand) ([]int, error) { return actions, nil }
	}
	for want, c := range map[string]struct {
		policy  Policy
		options CollectOptions
	}{
		"Episodes is 0":                {bad(0), CollectOptions{}},
		"negative":                     {bad(0), CollectOptions{Episodes: 1, FirstSeed: -1}},
		"the action 2 at index 0":      {bad(2), CollectOptions{Episodes: 1}},
		"the action -1 at index 0":     {bad(Leave), CollectOptions{Episodes: 1}},
		"2 actions for 1 observations": {bad(0, 0), CollectOptions{Episodes: 1}},
	} {
		if _, err := Collect(t.Context(), p, c.policy, c.options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Collect(t.Context(), open(t, Config{ID: "CartPole-v1"}), RandomPolicy(2),
		CollectOptions{Episodes: 1}); err == nil || !strings.Contains(err.Error(), "Autoreset") {
		t.Errorf("a pool with autoreset: error %v", err)
	}
}
