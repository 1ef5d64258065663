//go:build installed

package gym

import (
	"strings"
	"testing"
)

// TestTheLimitIsNoLonger: MountainCar's own limit of 200 steps stays where a longer one is asked for.
func TestTheLimitIsNoLonger(t *testing.T) {
	c := Config{ID: "MountainCar-v0", Autoreset: Disabled}
	if err := c.LimitSteps(300); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	out, err := Collect(t.Context(), p, RandomPolicy(3), CollectOptions{Episodes: 1})
	if err != nil || out[0].Len() != 200 || !out[0].Truncated {
		t.Errorf("%+v (error %v), want 200 steps", out, err)
	}
	if got := p.Spec().Limit; got != 200 {
		t.Errorf("the limit is said to be %d", got)
	}
	endless, err := Open(t.Context(), Config{ID: "Faulty-v0", Imports: []string{"faulty"},
		PythonPath: []string{"testdata"}})
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	if got := endless.Spec().Limit; got != 0 {
		t.Errorf("an environment without a limit is said to have %d", got)
	}
}

// TestEpisodesThatNeverEnd are an error that says what to do.
func TestEpisodesThatNeverEnd(t *testing.T) {
	p, err := Open(t.Context(), Config{ID: "Faulty-v0", Imports: []string{"faulty"}, PythonPath: []string{"testdata"},
		Options:   map[string]any{"length": 1 << 40},
		Autoreset: Disabled})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = Collect(t.Context(), p, RandomPolicy(p.Spec().Actions), CollectOptions{Episodes: 1})
	if err == nil || !strings.Contains(err.Error(), "--max-steps") {
		t.Errorf("error %v", err)
	}
	out, err := Collect(t.Context(), p, RandomPolicy(p.Spec().Actions), CollectOptions{Episodes: 1,
		MaxSteps: endless + 1})
	if err != nil || out[0].Len() != endless+1 {
		t.Errorf("with a limit: error %v", err)
	}
}

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
