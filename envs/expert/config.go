package expert

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gym"
)

// Config says how an expert is trained. The same config and seed give the same expert on the same backend, in however
// many processes the environments run.
type Config struct {
	// Environment is the id in Gymnasium's registry, and Imports are the modules that register it.
	Environment string   `json:"environment"`
	Imports     []string `json:"imports,omitempty"`
	// Options are keyword arguments of the environment's constructor.
	Options map[string]any `json:"options,omitempty"`
	// Memory lets the expert of an Atari game see bytes of the console's memory, where those who learn from it see
	// the screen.
	Memory *gym.Memory `json:"memory,omitempty"`
	// Lives is, of an observation's numbers, the index of the one that counts lives, if it is not nil: in training, a
	// life lost ends the return as an episode's end does.
	Lives *int `json:"lives,omitempty"`
	// Alike holds, where actions do nearly the same, for each action the first that does what it does; nil where none
	// do. Nothing is learnt from it: it counts how often a demonstrator does what the best action does.
	Alike []int `json:"alike,omitempty"`
	// Seed is that of everything random: first weights, environments, exploration, replay.
	Seed uint64 `json:"seed"`
	// Environments is how many are stepped together.
	Environments int `json:"environments"`
	// Steps is how many steps the environments make in total, after the pilot's.
	Steps int `json:"steps"`
	// SegmentSteps is the number of steps between two points of the learning curve. There the run is stored, and all
	// episodes begin anew, so that a resumed run goes on as the other would have.
	SegmentSteps int `json:"segment_steps"`

	// Discount is γ.
	Discount float64 `json:"discount"`
	// ReturnSteps is the number n of steps of which the reward is counted before the target network says what the rest
	// is worth (Sutton 1988); 0 is 1.
	ReturnSteps int `json:"return_steps,omitempty"`
	// Beta is the rationality coefficient that the expert will demonstrate with. Environments that explore act at it
	// already, so that the values are learnt where the demonstrator goes; 0 lets them act greedily.
	Beta float64 `json:"beta"`
	// ClipRewards lets only the rewards' signs count in training; the curve and the evaluations are of the rewards.
	ClipRewards bool `json:"clip_rewards,omitempty"`
	// RewardScale multiplies rewards inside training, where values of the size of one suit the network; the expert's
	// values are divided by it.
	RewardScale float64 `json:"reward_scale"`

	// Pilot is a Python policy ("module:function", see gym.CollectPython) whose PilotEpisodes fill the replay
	// first.
	Pilot         string `json:"pilot,omitempty"`
	PilotEpisodes int    `json:"pilot_episodes,omitempty"`
	// Undisturbed is how many of the environments act greedily throughout. They show what comes of leaving things
	// alone: a lander that has come to rest is paid only if nobody fires an engine again.
	Undisturbed int `json:"undisturbed"`
	// EpsilonStart and EpsilonEnd are the probabilities of a uniformly random action in the other environments, at
	// first and after EpsilonSteps, linear in between.
	EpsilonStart float64 `json:"epsilon_start"`
	EpsilonEnd   float64 `json:"epsilon_end"`
	EpsilonSteps int     `json:"epsilon_steps"`

	// Replay is how many transitions are remembered, the last ones. Learning begins after LearnAfter of them.
	Replay     int `json:"replay"`
	LearnAfter int `json:"learn_after"`
	// Batch is the number of transitions in a gradient step, drawn uniformly. GradientSteps follow each step of all
	// environments.
	Batch int `json:"batch"`
	// Demonstrated is how many of them are demonstrated ones, of Options.Demonstrations or else the pilot's, which are
	// never forgotten.
	Demonstrated  int `json:"demonstrated,omitempty"`
	GradientSteps int `json:"gradient_steps"`
	// Pretraining is the number of gradient steps on the pilot's transitions alone that precede all others.
	Pretraining int `json:"pretraining,omitempty"`
	// Center and Scale, of each number of an observation, are subtracted and divided by before the network sees it: a
	// mean and a standard deviation suit any units. Nil leaves the environment's own.
	Center []float64 `json:"center,omitempty"`
	Scale  []float64 `json:"scale,omitempty"`
	// Magnify gives the network, beside each number x of an observation, asinh(Magnify·x)/asinh(Magnify), which tells
	// small numbers of different size apart; 0 does not. A lander is paid half a second after it has come to rest, and
	// a tremor of 10⁻³ is all that an observation says of how long that is ago.
	Magnify float64 `json:"magnify,omitempty"`
	// Norm standardises each hidden layer's sums over its units (Ba et al. 2016, without gains), and passes them
	// through exponential linear units instead of rectified ones.
	Norm bool `json:"norm,omitempty"`
	// Hidden are the widths of the hidden layers, of rectified linear units, and Quantiles is the number N of quantiles
	// of each action's return.
	Hidden    []int `json:"hidden"`
	Quantiles int   `json:"quantiles"`
	// Double lets the trained network choose the successor's action, and the target network say what it is worth (van
	// Hasselt et al. 2016); otherwise the target network does both.
	Double bool `json:"double,omitempty"`
	// Expected takes for a successor's value Σ_a π(a|s') Q(s', a) under the Boltzmann policy at Beta rather than
	// max_a Q(s', a) (van Seijen et al. 2009, "Expected Sarsa"): what the demonstrator, who slips, can make of it.
	Expected bool `json:"expected,omitempty"`
	// Huber is the threshold κ of the quantile Huber loss (Eq. 10), on the scale of the scaled rewards.
	Huber float64 `json:"huber"`
	// LearningRate of Adam falls linearly to FinalLearningRate.
	LearningRate      float64 `json:"learning_rate"`
	FinalLearningRate float64 `json:"final_learning_rate"`
	// TargetRate is the part of the way that the target network goes towards the trained one in each gradient step. The
	// target network, an average over the last 1/TargetRate steps, is the expert in the end.
	TargetRate float64 `json:"target_rate"`

	// CurveEpisodes are played greedily at each point of the learning curve, and EvaluationEpisodes at the end,
	// greedily and at Beta.
	CurveEpisodes      int `json:"curve_episodes"`
	EvaluationEpisodes int `json:"evaluation_episodes"`
	// Best lets the curve's episodes be played at Beta, and makes the network of its best point the expert. In a game
	// that repeats itself a small change of the values may turn each rally from won to lost.
	Best bool `json:"best,omitempty"`
}

// Default returns a config to begin with for any environment whose rewards are about one a step. In Atari games the
// expert sees the console's memory, each byte and its last change.
func Default(environment string) Config {
	c := Config{
		Environment: environment, Environments: 16, Steps: 200_000, SegmentSteps: 20_000, Seed: 1,
		Discount: 0.99, Beta: 1, RewardScale: 1,
		Undisturbed: 4, EpsilonStart: 1, EpsilonEnd: 0.02, EpsilonSteps: 40_000,
		Replay: 200_000, LearnAfter: 2000, Batch: 128, GradientSteps: 4,
		Hidden: []int{128, 128}, Quantiles: 32, Huber: 1, LearningRate: 5e-4, FinalLearningRate: 5e-5,
		TargetRate:    0.005,
		CurveEpisodes: 16, EvaluationEpisodes: 100,
	}
	if !gym.IsAtari(environment) {
		c.Imports = gym.ByID(environment, false).Imports
		return c
	}
	c.Memory = &gym.Memory{Changes: 1}
	for a := range 128 {
		c.Memory.Addresses = append(c.Memory.Addresses, a)
	}
	return c
}

// LunarLander returns the config of the paper's expert of LunarLander-v3, which demonstrates at β = 3.
func LunarLander() Config {
	c := Default("LunarLander-v3")
	c.Steps, c.SegmentSteps, c.EpsilonSteps = 1_000_000, 50_000, 100_000
	c.Beta, c.RewardScale = 3, 0.02
	c.Pilot, c.PilotEpisodes = "gymnasium.envs.box2d.lunar_lander:heuristic", 200
	c.Undisturbed, c.Replay, c.Magnify = 8, 500_000, 10_000
	return c
}

// Highway returns the config of the paper's expert of highway-fast-v0, which demonstrates at β = 5. The environment is
// slow, so it learns much from each step.
func Highway() Config {
	c := Default("highway-fast-v0")
	c.Steps, c.SegmentSteps, c.EpsilonSteps = 12_000, 1200, 3000
	c.Discount, c.Beta = 0.95, 5
	c.Replay, c.LearnAfter, c.GradientSteps, c.CurveEpisodes = 12_000, 320, 48, 4
	return c
}

// Pong returns the config of the expert of ALE/Pong-v5. It sees the ball's place, the two paddles' heights, how they
// have moved in the last two steps, and how far the ball is above either paddle, and all places bit by bit, as a line
// more or less decides where the ball goes. The pilot that it begins with looks ahead in the emulator for strokes that
// score.
//
// Where the ball is far, actions differ by less than 0.01, and at β = 100 the expert takes the best one in every second
// step only, of nearly equal ones. It demonstrates at β = 800.
func Pong() Config {
	c := Default("ALE/Pong-v5")
	c.Memory = &gym.Memory{Addresses: []int{49, 54, 51, 50}, Changes: 2, // ball's x and y, own paddle, the other one
		Pairs: [][2]int{{54, 51}, {54, 50}}, Bits: []int{49, 54, 51, 50}}
	c.Alike = []int{0, 0, 2, 3, 2, 3} // the button makes a stroke faster, and in other steps nothing
	c.Pilot, c.PilotEpisodes, c.Pretraining = "__main__:pong_pilot", 6, 20_000
	c.atari()
	c.Beta = 100
	return c
}

// SpaceInvaders returns the config of the expert of ALE/SpaceInvaders-v5. It sees the whole memory but for two
// counters, with the last changes, the way from the player to the two bombs, its own shot and the invaders, and the
// invaders' rows and whether it was just hit bit by bit: a life is lost two seconds after that. It learns to score
// often and to lose no life. The pilot that it begins with looks ahead in the emulator for shots that hit and ways past
// bombs.
func SpaceInvaders() Config {
	c := Default("ALE/SpaceInvaders-v5")
	c.Memory = &gym.Memory{Changes: 1, Pairs: [][2]int{{83, 28}, {84, 28}, {87, 28}, {26, 28}},
		Bits: []int{18, 19, 20, 21, 22, 23, 42}}
	for a := range 128 {
		if a != 90 && a != 106 {
			c.Memory.Addresses = append(c.Memory.Addresses, a)
		}
	}
	lives := slices.Index(c.Memory.Addresses, 73)
	c.Lives, c.ClipRewards = &lives, true
	c.Pilot, c.PilotEpisodes, c.Pretraining = "__main__:invaders_pilot", 6, 20_000
	c.atari()
	c.Beta, c.GradientSteps, c.Hidden, c.LearningRate = 200, 2, []int{256, 128}, 3e-4
	c.Steps, c.SegmentSteps, c.CurveEpisodes = 3_200_000, 160_000, 8
	return c
}

// atari sets what the two games have in common.
func (c *Config) atari() {
	c.Steps, c.SegmentSteps, c.Environments, c.Undisturbed, c.Replay = 800_000, 80_000, 8, 0, 300_000
	c.EpsilonStart, c.EpsilonEnd, c.EpsilonSteps = 0.1, 0.03, 400_000
	c.Expected, c.Best, c.CurveEpisodes = true, true, 4
	c.Double, c.ReturnSteps, c.Batch, c.Quantiles = true, 5, 64, 16
}

// SetSteps makes a training of about n steps of the environments, in as many segments as there can be that are no
// shorter than before, and at least one, of a whole number of steps of each environment: shorter segments would cut
// episodes off. A shorter training explores and waits to learn for a shorter time. The config has to be valid.
func (c *Config) SetSteps(n int) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if n > 0 {
		segments := max(1, n/c.SegmentSteps)
		each := (n + segments*c.Environments - 1) / (segments * c.Environments)
		c.SegmentSteps = each * c.Environments
		n = segments * c.SegmentSteps
	}
	if n > 0 && n < c.Steps {
		c.EpsilonSteps = int(float64(c.EpsilonSteps) * float64(n) / float64(c.Steps))
		c.LearnAfter = min(c.LearnAfter, max(1, n/4))
	}
	c.Steps = n
	return c.Validate()
}

// CutsOff says so where segments end before episodes of the environment need to: those are never seen to end then.
// It is empty where they do not, or where the environment has no limit of steps.
func (c Config) CutsOff(spec gym.Spec) string {
	each := c.SegmentSteps / c.Environments
	if each >= spec.Limit {
		return ""
	}
	return fmt.Sprintf("training cuts episodes off after %d steps, those of %s may take %d: for them to end, "+
		"segment_steps in the config has to be at least %d, and --steps too", each, spec.ID, spec.Limit,
		spec.Limit*c.Environments)
}

// Validate reports the first field that is out of range, by its key in JSON.
func (c Config) Validate() error {
	return check.All("expert",
		check.That(c.Environment != "", "environment is empty, want the id of a Gymnasium environment"),
		check.AtLeast(1, "environments steps segment_steps learn_after batch gradient_steps quantiles", c.Environments,
			c.Steps, c.SegmentSteps, c.LearnAfter, c.Batch, c.GradientSteps, c.Quantiles),
		check.AtLeast(1, "curve_episodes evaluation_episodes", c.CurveEpisodes, c.EvaluationEpisodes),
		check.AtLeast(0, "pilot_episodes demonstrated pretraining undisturbed epsilon_steps return_steps",
			c.PilotEpisodes, c.Demonstrated, c.Pretraining, c.Undisturbed, c.EpsilonSteps, c.ReturnSteps),
		check.That(c.SegmentSteps%max(c.Environments, 1) == 0, "segment_steps = %d, want a multiple of the %d "+
			"environments", c.SegmentSteps, c.Environments),
		check.That(c.Steps%max(c.SegmentSteps, 1) == 0, "steps = %d, want a multiple of segment_steps, %d; give "+
			"segment_steps with steps: any multiple of the %d environments that divides them", c.Steps,
			c.SegmentSteps, c.Environments),
		check.That(c.Undisturbed <= c.Environments, "undisturbed = %d, there are %d environments", c.Undisturbed,
			c.Environments),
		check.That(c.Demonstrated <= c.Batch, "demonstrated = %d, the batch has %d transitions", c.Demonstrated,
			c.Batch),
		check.That((c.Pilot == "") == (c.PilotEpisodes == 0), "pilot = %q with pilot_episodes = %d, want both or "+
			"neither", c.Pilot, c.PilotEpisodes),
		check.That(c.Pretraining == 0 || c.Pilot != "", "pretraining = %d without a pilot to learn from",
			c.Pretraining),
		check.Fraction("discount epsilon_start epsilon_end", c.Discount, c.EpsilonStart, c.EpsilonEnd),
		check.NotNegative("magnify beta final_learning_rate", c.Magnify, c.Beta, c.FinalLearningRate),
		check.That(c.Magnify <= math.MaxFloat32, "magnify = %g, want a number that float32 holds", c.Magnify),
		check.That(!c.Expected || c.Beta != 0, "expected with beta = 0, want a Boltzmann policy that is not uniform"),
		check.Positive("reward_scale huber learning_rate", c.RewardScale, c.Huber, c.LearningRate),
		check.That(c.FinalLearningRate <= c.LearningRate, "final_learning_rate = %g, want 0 to learning_rate, %g",
			c.FinalLearningRate, c.LearningRate),
		check.That(c.Replay >= c.LearnAfter, "replay = %d, want at least learn_after, %d", c.Replay, c.LearnAfter),
		check.That(len(c.Scale) == 0 || slices.Min(c.Scale) > 0, "scale = %v, want positive numbers", c.Scale),
		check.That(len(c.Hidden) > 0 && slices.Min(c.Hidden) >= 1, "hidden = %v, want at least one layer of at least "+
			"one unit", c.Hidden),
		check.That(c.TargetRate > 0 && c.TargetRate <= 1, "target_rate = %g, want above 0 and at most 1", c.TargetRate))
}

// Gym returns the config of the pool that Train and Evaluate want, with the environments dealt out to a number of
// processes that divides Environments.
func (c Config) Gym(workers int) (gym.Config, error) {
	if workers < 1 || c.Environments%workers != 0 {
		return gym.Config{}, fmt.Errorf("expert: %d workers, want a number that divides the %d environments", workers,
			c.Environments)
	}
	g := gym.Config{ID: c.Environment, Imports: c.Imports}
	if m := c.Memory; m != nil {
		g = gym.AtariMemory(c.Environment, *m)
	}
	g.Options = c.options(g.Options)
	g.Workers, g.EnvsPerWorker, g.Autoreset = workers, c.Environments/workers, gym.Disabled
	return g, nil
}

// Shown returns the config of the environment as those see it who learn from the expert's demonstrations: gym.Atari's
// where the expert sees the memory, and otherwise the expert's own.
func (c Config) Shown() gym.Config {
	g := gym.Config{ID: c.Environment, Imports: c.Imports}
	if c.Memory != nil {
		g = gym.Atari(c.Environment)
	}
	g.Options = c.options(g.Options)
	return g
}

// options returns the constructor's arguments: the given ones, and the config's, which win.
func (c Config) options(given map[string]any) map[string]any {
	if len(c.Options) == 0 {
		return given
	}
	all := map[string]any{}
	maps.Copy(all, given)
	maps.Copy(all, c.Options)
	return all
}

// checkAlike refuses an Alike that is not of so many actions.
func (c Config) checkAlike(actions int) error {
	if c.Alike != nil && len(c.Alike) != actions {
		return fmt.Errorf("expert: alike = %v, want one for each of the %d actions", c.Alike, actions)
	}
	return nil
}

// checkUnits refuses a Center or a Scale that is not of so many numbers.
func (c Config) checkUnits(numbers int) error {
	if c.Center == nil && c.Scale == nil {
		return nil
	}
	if len(c.Center) != numbers || len(c.Scale) != numbers {
		return fmt.Errorf("expert: center = %v and scale = %v, want one of each for each of an observation's %d "+
			"numbers", c.Center, c.Scale, numbers)
	}
	return nil
}

// backup returns β of the policy whose value a successor has, on the scale of the scaled rewards, and 0 for the best
// action's.
func (c Config) backup() float64 {
	if !c.Expected {
		return 0
	}
	return c.Beta / c.RewardScale
}

// epsilon returns the probability of a random action after a number of steps.
func (c Config) epsilon(steps int) float64 {
	if steps >= c.EpsilonSteps {
		return c.EpsilonEnd
	}
	return c.EpsilonStart + (c.EpsilonEnd-c.EpsilonStart)*float64(steps)/float64(c.EpsilonSteps)
}

// learningRate returns Adam's after a number of steps.
func (c Config) learningRate(steps int) float64 {
	return c.LearningRate + (c.FinalLearningRate-c.LearningRate)*float64(steps)/float64(c.Steps)
}
