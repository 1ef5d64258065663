package gym

import (
	"fmt"
	"io"
	"time"
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
type Wrapper struct {
	// Class is "module:name", such as "gymnasium.wrappers:FrameStackObservation".
	Class string `json:"class"`
	// Options are its keyword arguments, beside the environment.
	Options map[string]any `json:"options"`
}

// Atari returns the config of an Atari game in the usual preprocessing: every fourth frame, grey, 84×84, scaled to no
// other range, a stack of 4. Observations are uint8 [4, 84, 84].
func Atari(id string) Config {
	return Config{
		ID: id, Imports: []string{"ale_py"}, Options: map[string]any{"frameskip": 1},
		Wrappers: []Wrapper{
			{Class: "gymnasium.wrappers:AtariPreprocessing"},
			{Class: "gymnasium.wrappers:FrameStackObservation", Options: map[string]any{"stack_size": 4}},
		},
	}
}

// withDefaults checks the config and fills in what it leaves open.
func (c Config) withDefaults() (Config, error) {
	if c.ID == "" {
		return c, fmt.Errorf("gym: Config.ID is empty, want the id of a Gymnasium environment, such as CartPole-v1")
	}
	for name, n := range map[string]*int{"Workers": &c.Workers, "EnvsPerWorker": &c.EnvsPerWorker} {
		if *n < 0 || *n > 1<<12 {
			return c, fmt.Errorf("gym: Config.%s is %d, want 1 to %d", name, *n, 1<<12)
		}
		*n = max(*n, 1)
	}
	if c.Autoreset == "" {
		c.Autoreset = SameStep
	}
	if c.Autoreset != SameStep && c.Autoreset != Disabled {
		return c, fmt.Errorf("gym: Config.Autoreset is %q, want %q or %q", c.Autoreset, SameStep, Disabled)
	}
	if c.StartLimit < 0 || c.StepLimit < 0 {
		return c, fmt.Errorf("gym: a time limit of Config is negative")
	}
	if c.StartLimit == 0 {
		c.StartLimit = 2 * time.Minute
	}
	if c.StepLimit == 0 {
		c.StepLimit = time.Minute
	}
	return c, nil
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
