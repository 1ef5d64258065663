//go:build installed

package gym

import (
	"math/rand/v2"
	"testing"
)

// A film is the episode that Collect gives from the same seed, with a picture of each step.
func TestFilm(t *testing.T) {
	always := func(observations Array, _ []*rand.Rand) ([]int, error) {
		return make([]int, observations.Shape[0]), nil
	}
	c := Config{ID: "LunarLander-v3"}
	episode, pictures, err := Film(t.Context(), c, always, 7, 30)
	if err != nil {
		t.Fatal(err)
	}
	pool := open(t, Config{ID: "LunarLander-v3", Workers: 1, EnvsPerWorker: 1, Autoreset: Disabled})
	want, err := Collect(t.Context(), pool, always, CollectOptions{Episodes: 1, FirstSeed: 7, MaxSteps: 30})
	if err != nil {
		t.Fatal(err)
	}
	if len(pictures) != 30 || episode.Len() != 30 || episode.Return() != want[0].Return() || episode.Return() == 0 {
		t.Errorf("%d pictures of %d steps with return %g, want 30, 30 and %g", len(pictures), episode.Len(),
			episode.Return(), want[0].Return())
	}
	if c.Options != nil {
		t.Error("the caller's options were changed")
	}
}
