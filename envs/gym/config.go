package gym

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
)

// Autoreset is what a pool does with an environment whose episode has ended.
type Autoreset string

const (
	// SameStep resets the environment within the step that ends its episode, with no seed, as Gymnasium's
	// AutoresetMode.SAME_STEP does: the batch holds the new episode's first observation, and the ended one's last
	// observation is in [Batch.Final]. It is the default.
	SameStep Autoreset = "same-step"
	// Disabled leaves the reset to the caller ([Pool.ResetEnvs]), as AutoresetMode.DISABLED does; a step before it is
	// an error. The batch holds the ended episode's last observation.
	Disabled Autoreset = "disabled"
)

// Config says which environments a pool holds. The zero value of every field but ID is a default.
type Config struct {
	// ID is the environment's name in Gymnasium's registry, such as "CartPole-v1". "module:id" imports the module
	// first.
	ID string
	// Options are keyword arguments of the environment's constructor, such as "render_mode": "rgb_array". They must be
	// expressible in JSON.
	Options map[string]any
	// Imports are modules whose import registers environments, such as "highway_env" or "ale_py".
	Imports []string
	// Wrappers are put around the environment, the first one innermost.
	Wrappers []Wrapper
	// Workers is the number of processes, 1 by default, and EnvsPerWorker the number of environments in each, 1 by
	// default.
	Workers, EnvsPerWorker int
	// Autoreset is SameStep by default.
	Autoreset Autoreset

	// Python is the interpreter. By default it is the environment variable BIRL_PYTHON's, which this project's commands
	// and notebooks set to the one that kernel-setup installed, or python3 on PATH.
	Python string
	// PythonPath are folders in which Imports and the modules of Wrappers are looked for first.
	PythonPath []string
	// StartLimit is how long starting a worker and making its environments may take, 2 minutes by default. StepLimit is
	// how long any later request to a worker may take, 1 minute by default.
	StartLimit, StepLimit time.Duration
	// Stderr receives what workers write to their standard output and error, besides the copy that errors quote. It may
	// be nil, and must allow concurrent use if there are several workers.
	Stderr io.Writer
}

// Wrapper is a Gymnasium wrapper.
type Wrapper = demo.Wrapper

// ByID returns the config by which commands make an environment: that of [Atari] of its games, ALE/…, or the emulator's
// own unless they are preprocessed, and those of highway-env, highway-…, with the module that registers them. All else
// is the id.
func ByID(id string, preprocessed bool) Config {
	switch {
	case IsAtari(id) && preprocessed:
		return Atari(id)
	case IsAtari(id):
		return Config{ID: id, Imports: []string{"ale_py"}}
	case strings.HasPrefix(withoutModule(id), "highway-"):
		return Config{ID: id, Imports: []string{"highway_env"}}
	}
	return Config{ID: id}
}

// IsAtari reports whether an id is that of an Atari game, ALE/….
func IsAtari(id string) bool { return strings.HasPrefix(withoutModule(id), "ALE/") }

// withoutModule returns an id, "module:name" or "name", as its name.
func withoutModule(id string) string { return id[strings.LastIndex(id, ":")+1:] }

// AtariHelp is what flags of commands are for, true unless they are given, that say whether games are preprocessed.
const AtariHelp = "Atari games, ALE/…, in the usual preprocessing, 4 grey frames of 84×84; --atari=false: as they are"

// Atari returns the config of an Atari game in the usual preprocessing, by Gymnasium's own wrappers: up to 30 steps of
// nothing at an episode's beginning, every fourth frame, as the maximum of the last two, grey, 84×84, not scaled, in
// stacks of 4. No action is repeated at random, and the actions are those that the game knows. Observations are uint8
// [4, 84, 84], and rewards are the game's own, so that a return is a score. An episode follows from its seed and
// actions.
func Atari(id string) Config {
	c := atari(id)
	c.Wrappers = []Wrapper{
		{Class: "gymnasium.wrappers:AtariPreprocessing"},
		{Class: frameStack, Options: map[string]any{"stack_size": 4}},
	}
	return c
}

// AtariMemory returns the config of the same games as [Atari], step for step, which shows bytes of the console's memory
// in place of the screen. Observations are float32 [n], n = (1+m.Changes)·len(m.Addresses) + len(m.Pairs) +
// 8·len(m.Bits).
func AtariMemory(id string, m Memory) Config {
	c := atari(id)
	c.Options["obs_type"] = "ram" // no picture is drawn
	c.Wrappers = []Wrapper{{Class: "__main__:atari_memory", Options: map[string]any{
		"addresses": append([]int{}, m.Addresses...), "changes": m.Changes,
		"pairs": append([][2]int{}, m.Pairs...), "bits": append([]int{}, m.Bits...)}}}
	return c
}

// Memory says what is seen of an Atari console's memory of 128 bytes.
type Memory struct {
	// Addresses are 0 to 127. Each byte there is seen over 255, then the changes that it made in the last Changes
	// steps, in units of 16 and at most 1.
	Addresses []int `json:"addresses"`
	Changes   int   `json:"changes"`
	// Pairs are addresses of two bytes of which the difference is seen, in units of 16 and at most 1.
	Pairs [][2]int `json:"pairs,omitempty"`
	// Bits are addresses of bytes of which each bit is seen by itself, after all that.
	Bits []int `json:"bits,omitempty"`
}

// atari returns the emulator's own config. full_action_space is false and all else the registry's, but for the part of
// the actions that it repeats, a quarter, and the frames that it skips, which are wrappers' business.
func atari(id string) Config {
	return Config{ID: id, Imports: []string{"ale_py"},
		Options: map[string]any{"frameskip": 1, "repeat_action_probability": 0}}
}

// withDefaults checks the config and fills in what it leaves open.
func (c Config) withDefaults() (Config, error) {
	if c.ID == "" {
		return c, fmt.Errorf("gym: Config.ID is empty, want the id of a Gymnasium environment, such as CartPole-v1")
	}
	for _, count := range []struct {
		name string
		n    *int
	}{{"Workers", &c.Workers}, {"EnvsPerWorker", &c.EnvsPerWorker}} {
		if *count.n < 0 || *count.n > 1<<12 {
			return c, fmt.Errorf("gym: Config.%s is %d, want 1 to %d", count.name, *count.n, 1<<12)
		}
		*count.n = max(*count.n, 1)
	}
	for _, folder := range c.PythonPath {
		if _, err := os.Stat(folder); err != nil {
			return c, fmt.Errorf("gym: --python-path %s: %w; want a folder with Python modules", folder, err)
		}
	}
	c.Autoreset = cmp.Or(c.Autoreset, SameStep)
	if c.Autoreset != SameStep && c.Autoreset != Disabled {
		return c, fmt.Errorf("gym: Config.Autoreset is %q, want %q or %q", c.Autoreset, SameStep, Disabled)
	}
	if c.StartLimit < 0 || c.StepLimit < 0 {
		return c, fmt.Errorf("gym: a time limit of Config is negative")
	}
	c.StartLimit = cmp.Or(c.StartLimit, 2*time.Minute)
	c.StepLimit = cmp.Or(c.StepLimit, time.Minute)
	return c, nil
}

// SetOptions adds options that are written as NAME=VALUE, the values in JSON, as on a command line, where each follows
// a flag --option.
func (c *Config) SetOptions(written []string) error {
	for _, option := range written {
		name, text, ok := strings.Cut(option, "=")
		var value any
		if err := json.Unmarshal([]byte(text), &value); !ok || err != nil {
			return fmt.Errorf("--option %s: want NAME=VALUE with the value in JSON, such as gravity=-9.8 or "+
				"render_mode='\"rgb_array\"'", option)
		}
		c.Options = notNil(c.Options)
		c.Options[name] = value
	}
	return nil
}

// StepLimitHelp is what flags of commands are for that set StepLimit.
const StepLimitHelp = "how long a step of the environments may take"

// LimitTime sets StepLimit as a flag --step-timeout does, which has no default.
func (c *Config) LimitTime(step time.Duration) error {
	c.StepLimit = step
	return check.That(step > 0, "--step-timeout %v: want a positive time", step)
}

// timeLimit and frameStack are wrappers of Gymnasium's.
const timeLimit, frameStack = "gymnasium.wrappers:TimeLimit", "gymnasium.wrappers:FrameStackObservation"

// LimitSteps ends episodes after so many steps, as truncated ones, unless they end before; 0 leaves the environment's
// own limit alone. A longer limit than that is Gymnasium's option max_episode_steps.
func (c *Config) LimitSteps(most int) error {
	if most < 0 {
		return fmt.Errorf("--max-steps %d: want at least 1, or 0 for the environment's own limit", most)
	}
	if most == 0 {
		return nil
	}
	at := len(c.Wrappers)
	if at > 0 && c.Wrappers[at-1].Class == frameStack {
		at--
	}
	c.Wrappers = slices.Insert(slices.Clone(c.Wrappers), at, Wrapper{Class: timeLimit,
		Options: map[string]any{"max_episode_steps": most}})
	return nil
}

// stack returns how many frames an observation holds: those of Gymnasium's FrameStackObservation, which begins an
// episode with copies of its first frame. It is 0 for other observations.
func (c Config) stack(spec Spec) int {
	if len(c.Wrappers) == 0 || spec.DType != "uint8" || len(spec.Shape) < 2 {
		return 0
	}
	last := c.Wrappers[len(c.Wrappers)-1]
	if _, padded := last.Options["padding_type"]; padded || last.Class != frameStack {
		return 0
	}
	return spec.Shape[0]
}

// request is the config as a worker reads it.
func (c Config) request() map[string]any {
	wrappers := make([]Wrapper, len(c.Wrappers))
	for i, w := range c.Wrappers {
		wrappers[i] = Wrapper{Class: w.Class, Options: notNil(w.Options)}
	}
	return map[string]any{
		"id": c.ID, "options": notNil(c.Options), "imports": append([]string{}, c.Imports...), "wrappers": wrappers,
		"count": c.EnvsPerWorker, "autoreset": c.Autoreset, "python_path": append([]string{}, c.PythonPath...),
	}
}

func notNil(options map[string]any) map[string]any {
	if options == nil {
		return map[string]any{}
	}
	return options
}
