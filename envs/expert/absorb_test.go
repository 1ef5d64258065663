package expert

import (
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/envs/demo"
)

// With a loss of one's own an episode that has ended goes on from its last state to the same, by each action; one that
// was cut off does not.
func TestEndsAreAbsorbingWithALoss(t *testing.T) {
	tr := walkingTrainer(nil)
	tr.options.Loss = func(v Values) *Node { return v.Now }
	tr.config.Demonstrated = 8
	tr.options.Demonstrations = []demo.Trajectory{
		{Observations: []float32{0, 1, 2}, Actions: []int{1, 0}, Rewards: []float64{0, 0}, Terminated: true},
		{Observations: []float32{1, 3}, Actions: []int{0}, Rewards: []float64{0}, Truncated: true},
	}
	if err := tr.demonstrate(); err != nil {
		t.Fatal(err)
	}
	r := tr.demonstrated
	if !slices.Equal(r.observations, []float32{0, 1, 2, 2, 1}) || !slices.Equal(r.nexts, []float32{1, 2, 2, 2, 3}) ||
		!slices.Equal(r.actions, []int32{1, 0, 0, 1, 0}) || slices.Min(r.discounts) != 0.5 {
		t.Errorf("from %v to %v by %v, discounted by %v", r.observations, r.nexts, r.actions, r.discounts)
	}
}

// With a loss of one's own, what the environment paid decides nothing, and need not be known; otherwise it has to be.
func TestDemonstrationsWithoutRewards(t *testing.T) {
	tr := walkingTrainer(nil)
	tr.config.Demonstrated = 8
	tr.options.Demonstrations = []demo.Trajectory{{Observations: []float32{0, 1, 2}, Actions: []int{1, 0}}}
	if err := tr.demonstrate(); err == nil || !strings.Contains(err.Error(), "trajectory 0 has no rewards") {
		t.Errorf("error %v for demonstrations without rewards, by which the return is learnt", err)
	}
	tr.options.Loss = func(v Values) *Node { return v.Now }
	if err := tr.demonstrate(); err != nil {
		t.Fatal(err)
	}
	if got := tr.demonstrated.rewards; !slices.Equal(got, []float32{0, 0}) {
		t.Errorf("rewards %v, want zeros", got)
	}
}
