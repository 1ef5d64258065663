//go:build installed

package gym

import "testing"

// TestEpisodesEndAtTheLimit: CartPole, held up by a pole that starts nearly upright, lasts for more than three steps.
func TestEpisodesEndAtTheLimit(t *testing.T) {
	c := Config{ID: "CartPole-v1", Workers: 1, Autoreset: Disabled}
	if err := c.LimitSteps(-1); err == nil {
		t.Error("a negative limit is none")
	}
	if err := c.LimitSteps(3); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Reset(t.Context(), []int64{1}); err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		b, err := p.Step(t.Context(), []int{k % 2})
		if err != nil {
			t.Fatal(err)
		}
		if b.Truncated[0] != (k == 2) || b.Terminated[0] {
			t.Errorf("step %d: truncated %t, terminated %t", k, b.Truncated[0], b.Terminated[0])
		}
	}
}
