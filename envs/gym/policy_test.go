//go:build installed

package gym

import (
	"strings"
	"testing"
)

func TestPythonPolicyLands(t *testing.T) {
	p := open(t, Config{ID: "LunarLander-v3", Workers: 2, EnvsPerWorker: 4, Autoreset: Disabled})
	got, err := CollectPython(t.Context(), p, "gymnasium.envs.box2d.lunar_lander:heuristic",
		CollectOptions{Episodes: 20})
	if err != nil {
		t.Fatal(err)
	}
	landed := 0
	for i := range got {
		if got[i].Terminated && got[i].Return() > 150 {
			landed++
		}
	}
	if landed < 15 { // a policy at random lands never, the pilot in nine of ten episodes
		t.Errorf("the pilot landed in %d of 20 episodes", landed)
	}
	for _, absent := range []string{"gymnasium:nothing", "nothing:at_all", "gymnasium"} {
		_, err := CollectPython(t.Context(), p, absent, CollectOptions{Episodes: 1})
		if err == nil || !strings.Contains(err.Error(), absent) {
			t.Errorf("the policy %q: error %v, want one that names it", absent, err)
		}
	}
}
