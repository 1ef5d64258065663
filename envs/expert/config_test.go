package expert

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/gym"
)

func TestConfigs(t *testing.T) {
	for _, c := range []Config{Default("CartPole-v1"), LunarLander(), Highway()} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.Environment, err)
		}
		if g, err := c.Gym(2); err != nil || g.Workers*g.EnvsPerWorker != c.Environments {
			t.Errorf("%s: two workers have %d environments each (error %v)", c.Environment, g.EnvsPerWorker, err)
		}
		if _, err := c.Gym(3); err == nil {
			t.Errorf("%s: three workers share 16 environments", c.Environment)
		}
	}
	for name, change := range map[string]func(*Config){
		"environment": func(c *Config) { c.Environment = "" }, "steps": func(c *Config) { c.Steps = 0 },
		"segment_steps":      func(c *Config) { c.SegmentSteps = 17 },
		"give segment_steps": func(c *Config) { c.Steps += c.Environments },
		"undisturbed":        func(c *Config) { c.Undisturbed = 17 },
		"pilot_episodes":     func(c *Config) { c.Pilot = "module:function" },
		"discount":           func(c *Config) { c.Discount = 1.1 }, "beta": func(c *Config) { c.Beta = math.NaN() },
		"reward_scale": func(c *Config) { c.RewardScale = 0 }, "epsilon_start": func(c *Config) { c.EpsilonStart = -1 },
		"epsilon_end": func(c *Config) { c.EpsilonEnd = math.NaN() }, "replay": func(c *Config) { c.Replay = 10 },
		"hidden": func(c *Config) { c.Hidden = []int{8, 0} }, "huber": func(c *Config) { c.Huber = math.Inf(1) },
		"learning_rate":       func(c *Config) { c.LearningRate = 0 },
		"final_learning_rate": func(c *Config) { c.FinalLearningRate = 1 },
		"magnify":             func(c *Config) { c.Magnify = -1 }, "target_rate": func(c *Config) { c.TargetRate = 0 },
		"batch":        func(c *Config) { c.Batch = 0 },
		"return_steps": func(c *Config) { c.ReturnSteps = -1 },
		"expected":     func(c *Config) { c.Expected, c.Beta = true, 0 },
	} {
		c := Default("any")
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a wrong %s: error %v", name, err)
		}
	}
}

// TestOptionsAreTheEnvironments: those of the config make the environments, beside those that a game's have anyway.
func TestOptionsAreTheEnvironments(t *testing.T) {
	c := Default("LunarLander-v3")
	c.Options = map[string]any{"gravity": -3.5}
	g, err := c.Gym(2)
	if err != nil || g.Options["gravity"] != -3.5 || c.Shown().Options["gravity"] != -3.5 {
		t.Errorf("the environments have %v, those who learn see %v, error %v", g.Options, c.Shown().Options, err)
	}
	c = Pong()
	c.Options = map[string]any{"frameskip": 2}
	want := map[string]any{"frameskip": 2, "repeat_action_probability": 0}
	if got := c.Shown().Options; !maps.Equal(got, want) {
		t.Errorf("of a game %v, want %v", got, want)
	}
	want["obs_type"] = "ram"
	if g, err := c.Gym(2); err != nil || !maps.Equal(g.Options, want) {
		t.Errorf("of a game's memory %v, error %v, want %v", g.Options, err, want)
	}
}

// Of an environment's id alone, an expert finds the module that registers it, and sees the memory of an Atari game.
func TestDefaultsByID(t *testing.T) {
	if c := Default("highway-v0"); !slices.Equal(c.Imports, []string{"highway_env"}) || c.Memory != nil {
		t.Errorf("highway-v0: imports %q, memory %v", c.Imports, c.Memory)
	}
	c := Default("ALE/Breakout-v5")
	if c.Memory == nil || len(c.Memory.Addresses) != 128 || c.Validate() != nil {
		t.Fatalf("ALE/Breakout-v5: memory %v, error %v", c.Memory, c.Validate())
	}
	if shown := c.Shown(); shown.ID != c.Environment || len(shown.Wrappers) != 2 {
		t.Errorf("those who learn from it see %+v", shown)
	}
}

func TestSchedules(t *testing.T) {
	// of values that are scaled as rewards are
	if c := (Config{Beta: 3, RewardScale: 0.5, Expected: true}); c.backup() != 6 {
		t.Errorf("successors' values are those of β = %g on the scale of the rewards, want 6", c.backup())
	}
	c := Default("any")
	c.Steps, c.EpsilonStart, c.EpsilonEnd, c.EpsilonSteps = 1000, 1, 0.2, 400
	c.LearningRate, c.FinalLearningRate = 0.01, 0.002
	for steps, want := range map[int][2]float64{0: {1, 0.01}, 100: {0.8, 0.0092}, 400: {0.2, 0.0068},
		1000: {0.2, 0.002}} {
		if got := [2]float64{c.epsilon(steps), c.learningRate(steps)}; !scalar.EqualWithinAbs(got[0], want[0], 1e-12) ||
			!scalar.EqualWithinAbs(got[1], want[1], 1e-12) {
			t.Errorf("after %d steps: ε and learning rate %v, want %v", steps, got, want)
		}
	}
	if c.EpsilonSteps = 0; c.epsilon(0) != 0.2 {
		t.Errorf("without steps in between ε is %g at first, want 0.2", c.epsilon(0))
	}
}

func TestStepsCanBeAnyNumber(t *testing.T) {
	for n, want := range map[int]struct{ steps, segment, epsilon, after int }{
		400_000: {400_000, 20_000, 40_000, 2000}, // more segments
		100_000: {100_000, 20_000, 20_000, 2000}, // fewer
		50_000:  {50_016, 25_008, 10_003, 2000},  // two, longer ones, of 1563 steps of 16 environments
		16_000:  {16_000, 16_000, 3200, 2000},    // one, in which Acrobot's episodes of 500 steps end
		6001:    {6016, 6016, 1203, 1504},
		1:       {16, 16, 3, 4},
	} {
		c := Default("CartPole-v1")
		if err := c.SetSteps(n); err != nil {
			t.Fatal(err)
		}
		if c.Steps != want.steps || c.SegmentSteps != want.segment || c.EpsilonSteps != want.epsilon ||
			c.LearnAfter != want.after {
			t.Errorf("%d steps: %d in segments of %d, ε for %d, learning after %d, want %v", n, c.Steps, c.SegmentSteps,
				c.EpsilonSteps, c.LearnAfter, want)
		}
	}
	c := Default("CartPole-v1")
	for _, n := range []int{20_001, 39_999, 123_456, 200_000, 1_234_567} {
		c := c
		if err := c.SetSteps(n); err != nil || c.SegmentSteps < 20_000 || c.Steps < n || c.Steps > n+n/50 {
			t.Errorf("%d steps: %d in segments of %d, error %v", n, c.Steps, c.SegmentSteps, err)
		}
	}
	if err := c.SetSteps(0); err == nil || !strings.Contains(err.Error(), "steps = 0") {
		t.Errorf("no steps: error %v", err)
	}
}

// TestEpisodesThatTrainingCutsOffAreNoted, by what lets them end.
func TestEpisodesThatTrainingCutsOffAreNoted(t *testing.T) {
	acrobot := gym.Spec{ID: "Acrobot-v1", Limit: 500}
	c := Default("Acrobot-v1")
	if err := c.SetSteps(7984); err != nil {
		t.Fatal(err)
	}
	if got := c.CutsOff(acrobot); !strings.Contains(got, "after 499 steps, those of Acrobot-v1 may take 500") ||
		!strings.Contains(got, "at least 8000") {
		t.Errorf("499 steps of each environment: %q", got)
	}
	if got := c.CutsOff(gym.Spec{}); got != "" {
		t.Errorf("without a limit: %q", got)
	}
	if err := c.SetSteps(8000); err != nil {
		t.Fatal(err)
	}
	if got := c.CutsOff(acrobot); got != "" {
		t.Errorf("as many steps as an episode has: %q", got)
	}
}
