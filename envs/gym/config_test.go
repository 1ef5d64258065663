package gym

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What an id stands for is the same for all commands, with a module in front, too.
func TestByID(t *testing.T) {
	for id, want := range map[string]Config{
		"CartPole-v1":            {ID: "CartPole-v1"},
		"highway-fast-v0":        {ID: "highway-fast-v0", Imports: []string{"highway_env"}},
		"ALE/Pong-v5":            Atari("ALE/Pong-v5"),
		"ale_py:ALE/Breakout-v5": Atari("ale_py:ALE/Breakout-v5"),
	} {
		if diff := cmp.Diff(want, ByID(id, true)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if raw := ByID("ALE/Pong-v5", false); len(raw.Wrappers) > 0 || len(raw.Options) > 0 ||
		!slices.Equal(raw.Imports, []string{"ale_py"}) {
		t.Errorf("without preprocessing: %+v", raw)
	}
}
