//go:build installed

package gym

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

// rollout takes the actions in environment env and idles in the others; it returns all that came, and stops when the
// episode ends.
func rollout(t testing.TB, p *Pool, env int, actions []int) (obs [][]byte, rewards []float64) {
	t.Helper()
	for _, a := range actions {
		row := make([]int, p.Len())
		row[env] = a
		b := step(t, p, row)
		rewards = append(rewards, b.Rewards[env])
		if b.Done(env) {
			return append(obs, b.Final[env].Bytes), rewards
		}
		obs = append(obs, b.Obs.Row(env).Bytes)
	}
	return obs, rewards
}

// A restored rollout repeats the original observation for observation, in the same pool and in another one that was
// somewhere else.
func TestRestoredRolloutsRepeat(t *testing.T) {
	sticky := pong
	sticky.Options = map[string]any{"frameskip": 1, "repeat_action_probability": 0.25}
	for name, c := range map[string]struct {
		config        Config
		before, after int
		kind          string
		policy        []int // actions to choose from
	}{
		"LunarLander": {lunar, 60, 200, "replay", []int{0, 1, 2, 2, 3}},
		"Highway":     {highway, 5, 15, "highway", []int{1, 3, 0, 2, 4, 4}},
		"Pong":        {sticky, 100, 150, "ale", []int{0, 2, 3}},
		"CartPole":    {Config{ID: "CartPole-v1"}, 8, 60, "replay", []int{0, 1}},
		"Highway, framed": {Config{ID: "highway-v0", Imports: []string{"highway_env"},
			Options: map[string]any{"config": map[string]any{"vehicles_count": 10}},
			Wrappers: []Wrapper{{Class: "gymnasium.wrappers:FlattenObservation"},
				{Class: "gymnasium.wrappers:FrameStackObservation", Options: map[string]any{"stack_size": 2}}}}, 2,
			4, "highway", []int{1, 3, 4}},
		"unknown wrapper": {Config{ID: "CartPole-v1",
			Wrappers: []Wrapper{{Class: "gymnasium.wrappers:TimeAwareObservation"}}}, 8, 30, "replay", []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.EnvsPerWorker = 1
			p := open(t, c.config)
			if got := p.Spec().Snapshot; got != c.kind {
				t.Errorf("the kind of snapshot is %q, want %q", got, c.kind)
			}
			reset(t, p)
			choose := func(seed uint64, k int) []int {
				rows, _ := randomActions(seed, k, 1, len(c.policy))
				var out []int
				for _, r := range rows {
					out = append(out, c.policy[r[0]])
				}
				return out
			}
			rollout(t, p, 0, choose(1, c.before))
			s, err := p.Snapshot(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			actions := choose(2, c.after)
			obs, rewards := rollout(t, p, 0, actions)
			if len(obs) < 2 || bytes.Equal(obs[0], obs[1]) {
				t.Fatal("nothing happens after the snapshot")
			}
			other := open(t, c.config)
			if _, err := other.Reset(t.Context(), []int64{999}); err != nil {
				t.Fatal(err)
			}
			rollout(t, other, 0, choose(3, 3))
			for where, q := range map[string]*Pool{"the same pool": p, "another pool": other} {
				for range 2 {
					if _, err := q.Restore(t.Context(), 0, s); err != nil {
						t.Fatal(err)
					}
					again, rewardsAgain := rollout(t, q, 0, actions)
					if !slices.Equal(rewards, rewardsAgain) {
						t.Fatalf("%s: rewards %v became %v", where, rewards, rewardsAgain)
					}
					for k := range obs {
						if !bytes.Equal(obs[k], again[k]) {
							t.Fatalf("%s: observation %d of %d differs", where, k, len(obs))
						}
					}
				}
			}
		})
	}
}

// An episode that autoreset began has no seed, and a snapshot of it repeats all the same; so does the episode after it.
func TestSnapshotOfALaterEpisode(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", EnvsPerWorker: 2})
	reset(t, p)
	// the worker's history is folded at row 4096, in the middle of an episode
	for _, before := range []int{12, 4082, 10} {
		for range before {
			step(t, p, []int{0, 0})
		}
		s, err := p.Snapshot(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		const steps = 40 // always left: four or five episodes
		var want, got []byte
		for range steps {
			want = append(want, step(t, p, []int{0, 0}).Obs.Row(1).Bytes...)
		}
		first, err := p.Restore(t.Context(), 1, s)
		if err != nil || len(first.Bytes) != 16 {
			t.Fatalf("%v, error %v", first, err)
		}
		if again, err := p.Snapshot(t.Context(), 1); err != nil || !bytes.Equal(again, s) {
			t.Errorf("the snapshot of what was restored is %s, want %s; error %v", again, s, err)
		}
		for range steps {
			got = append(got, step(t, p, []int{0, 0}).Obs.Row(1).Bytes...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("after %d steps, the restored episodes differ", before)
		}
		other := open(t, lunar)
		if _, err := other.Restore(t.Context(), 0, s); err == nil ||
			!strings.Contains(err.Error(), "the snapshot is of CartPole-v1") {
			t.Errorf("restored in Lunar Lander: error %v", err)
		}
	}
}

// An environment that is left alone stays where it is, and its replay does not count what others did meanwhile.
func TestLeftAlone(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", EnvsPerWorker: 2, Autoreset: Disabled})
	reset(t, p)
	here := step(t, p, []int{1, 0}).Obs.Row(0).Bytes
	for range 3 {
		b := step(t, p, []int{Leave, 1})
		if !bytes.Equal(b.Obs.Row(0).Bytes, here) || b.Rewards[0] != 0 || b.Done(0) || b.Rewards[1] != 1 {
			t.Fatalf("left alone, environment 0 gives %v, reward %g", b.Obs.Row(0).Float64(), b.Rewards[0])
		}
	}
	want := step(t, p, []int{1, Leave}).Obs.Row(0).Bytes
	s, err := p.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Restore(t.Context(), 0, s)
	if err != nil || !bytes.Equal(got.Bytes, want) {
		t.Errorf("restored %v, error %v", got.Float64(), err)
	}
	q := open(t, Config{ID: "CartPole-v1"})
	reset(t, q)
	if _, err := q.Step(t.Context(), []int{Leave}); err == nil {
		t.Error("under SameStep an environment can be left alone")
	}
}

func TestReplayNoticesADifferentOutcome(t *testing.T) {
	c := faulty(t, "random")
	c.Workers, c.EnvsPerWorker = 1, 1
	p := open(t, c)
	reset(t, p)
	for range 3 {
		step(t, p, []int{0})
	}
	s, err := p.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Restore(t.Context(), 0, s); err == nil || !strings.Contains(err.Error(), "not deterministic") {
		t.Errorf("error %v, want one that says that the replay led elsewhere", err)
	}
}

func TestHighwayStateCanBeEdited(t *testing.T) {
	p := open(t, highway)
	reset(t, p)
	s, err := p.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Highway()
	if err != nil {
		t.Fatal(err)
	}
	ego := h.Vehicles[0]
	if len(h.Vehicles) != 21 || ego.Speed < 20 || ego.TargetSpeed < 20 || h.Vehicles[1].Exponent < 3.5 ||
		h.Vehicles[1].Exponent > 4.5 {
		t.Errorf("%d vehicles, the ego %+v, the next %+v", len(h.Vehicles), ego, h.Vehicles[1])
	}
	same, err := h.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	actions := []int{1, 4, 4, 1}
	want, _ := rollout(t, p, 0, actions)
	if _, err := p.Restore(t.Context(), 0, same); err != nil {
		t.Fatal(err)
	}
	if got, _ := rollout(t, p, 0, actions); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Error("the state alone, without the snapshot's other parts, does not repeat the rollout")
	}
	h.Vehicles[0].X = h.Vehicles[1].X + 100
	h.Vehicles[0].Y, h.Vehicles[0].TargetLane = 4, 1
	moved, err := h.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	obs, err := p.Restore(t.Context(), 0, moved)
	if err != nil {
		t.Fatal(err)
	}
	// lanes are 4 m wide and y is divided by the width of three
	if y := obs.Float64()[2]; !scalar.EqualWithinAbs(y, 4.0/12, 1e-6) {
		t.Errorf("after the move the ego is seen at y = %v, want 1/3", y)
	}
	h.Vehicles[0].TargetLane = 3
	if bad, err := h.Snapshot(); err != nil {
		t.Error(err)
	} else if _, err := p.Restore(t.Context(), 0, bad); err == nil || !strings.Contains(err.Error(), "lane 3 of 3") {
		t.Errorf("a lane that is not there: error %v", err)
	}
	h.Vehicles[0].X = math.NaN()
	if _, err := h.Snapshot(); err == nil {
		t.Error("a vehicle at NaN makes a snapshot")
	}
	if _, err := (Snapshot(`{"kind":"replay","id":"X-v0"}`)).Highway(); err == nil ||
		!strings.Contains(err.Error(), "X-v0") {
		t.Errorf("the highway's state of something else: error %v", err)
	}
}

// From a bare observation, Lunar Lander is restored approximately. One step later in the air, the error is to be below
// what the engines' own noise does; both are measured over states of random flights.
func TestLunarStateIsCloseInTheAir(t *testing.T) {
	p := open(t, lunar)
	names := []string{"x", "y", "vx", "vy", "angle", "angular velocity"}
	var errorSum, noiseSum [6]float64
	n := 0
	for flight := range int64(20) {
		if _, err := p.Reset(t.Context(), []int64{flight}); err != nil {
			t.Fatal(err)
		}
		before, _ := randomActions(uint64(flight), 25, 1, 4)
		var path []int
		for _, r := range before {
			path = append(path, r[0])
		}
		states, _ := rollout(t, p, 0, path)
		real, err := p.Snapshot(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var state LunarState
		copy(state[:], Array{DType: "float32", Bytes: states[len(states)-1]}.Float64())
		if len(states) < 25 || state[6] != 0 || state[7] != 0 {
			continue // landed
		}
		approximate, err := state.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		next := func(s Snapshot, action int) []float64 {
			if _, err := p.Restore(t.Context(), 0, s); err != nil {
				t.Fatal(err)
			}
			return step(t, p, []int{action}).Obs.Float64()
		}
		obs, err := p.Restore(t.Context(), 0, approximate)
		if err != nil || !slices.Equal(obs.Float64(), state[:]) {
			t.Fatalf("restored %v, error %v, want %v", obs.Float64(), err, state)
		}
		// Without an engine there is no noise: what differs is the approximation. The main engine's noise is the spread
		// of its effect when the random generator is elsewhere, as it is after each approximate restoration.
		want, got := next(real, 0), next(approximate, 0)
		a, b := next(approximate, 2), next(approximate, 2)
		for i := range 6 {
			errorSum[i] += (got[i] - want[i]) * (got[i] - want[i])
			noiseSum[i] += (a[i] - b[i]) * (a[i] - b[i]) / 2
		}
		n++
	}
	if n < 10 {
		t.Fatalf("%d flights were in the air", n)
	}
	for i, name := range names {
		rms, noise := math.Sqrt(errorSum[i]/float64(n)), math.Sqrt(noiseSum[i]/float64(n))
		t.Logf("%-16s error %.2g, noise of the main engine %.2g", name, rms, noise)
		if rms >= noise || noise == 0 {
			t.Errorf("%s: error %g, noise %g", name, rms, noise)
		}
	}
}
