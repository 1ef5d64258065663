package expert

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/gym"
)

// TestWhoSeesWhat: the expert sees the memory, those who learn from it the screen, of the same emulator.
func TestWhoSeesWhat(t *testing.T) {
	for _, c := range []Config{Pong(), SpaceInvaders()} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		own, err := c.Gym(2)
		if err != nil {
			t.Fatal(err)
		}
		shown := c.Shown()
		if own.ID != shown.ID || cmp.Equal(own.Wrappers, shown.Wrappers) || own.EnvsPerWorker != c.Environments/2 {
			t.Errorf("the expert's is %+v, shown is %+v", own, shown)
		}
		if own.Options["obs_type"] != "ram" {
			t.Errorf("the expert sees %v", own.Options)
		}
		delete(own.Options, "obs_type")
		if diff := cmp.Diff(own.Options, shown.Options); diff != "" {
			t.Errorf("the emulators differ:\n%s", diff)
		}
	}
	if c := Highway().Shown(); !cmp.Equal(c, gym.Config{ID: "highway-fast-v0", Imports: []string{"highway_env"}}) {
		t.Errorf("the highway is shown as %+v", c)
	}
}
