//go:build installed

package expert

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-birl/birl/envs/gym"
)

// TestGoOnIsBitEqualToTheEpisode: what the expert shows from a restored state is what it did in the episode, actions
// and observations, wind included.
func TestGoOnIsBitEqualToTheEpisode(t *testing.T) {
	e, err := Open(filepath.Join(results, "expert-lunarlander", "expert.npz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]map[string]any{"still": nil, "wind": {"enable_wind": true}} {
		config := gym.Config{ID: e.Config.Environment, Options: options, EnvsPerWorker: 2, Autoreset: gym.Disabled}
		pool, err := gym.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		o := DemonstrateOptions{Beta: 3, Episodes: 3, Seed: 8}
		set, err := Demonstrate(t.Context(), pool, e, o)
		if err != nil {
			t.Fatal(err)
		}
		const steps = 10
		for i := range set.Trajectories {
			episode := &set.Trajectories[i]
			for _, k := range []int{0, 1, episode.Len() / 2, episode.Len() - 3} {
				actions := slices.Repeat([]int{gym.Leave}, pool.Len())
				if _, err := pool.ResetEnvs(t.Context(), []int{1}, []int64{episode.Seed}); err != nil {
					t.Fatal(err)
				}
				for _, a := range episode.Actions[:k] {
					actions[1] = a
					if _, err := pool.Step(t.Context(), actions); err != nil {
						t.Fatal(err)
					}
				}
				snapshot, err := pool.Snapshot(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				got, err := e.GoOn(t.Context(), pool, Moment{snapshot, episode.Seed, k}, o, steps)
				if err != nil {
					t.Fatal(err)
				}
				want := episode.Slice(k, min(k+steps, episode.Len()))
				if !slices.Equal(got.Actions, want.Actions) || got.Terminated != want.Terminated ||
					!slices.EqualFunc(got.Observations, want.Observations, func(a, b float32) bool {
						return math.Float32bits(a) == math.Float32bits(b)
					}) {
					t.Errorf("%s, episode %d, step %d: %v, want %v", name, i, k, got.Actions, want.Actions)
				}
			}
		}
	}
	if _, err := e.GoOn(t.Context(), nil, Moment{Step: -1}, DemonstrateOptions{}, 1); err == nil {
		t.Error("no error for a step below 0")
	}
}
