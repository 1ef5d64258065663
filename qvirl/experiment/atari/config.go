// Package atari is the paper's comparison of apprentices that learn from raw pixels (Table 3): Pong and
// Space Invaders.
package atari

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/avril"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/iqlearn"
	"github.com/go-birl/birl/qvirl/neural/variational"
	"github.com/go-birl/birl/qvirl/overlay"
)

// Name is the experiment's name in result rows.
const Name = "atari"

// The metrics, which the registry of package metric explains. The curve of HeldOut is rows of the metric HeldOut + At +
// the number of steps.
const (
	Return       = "return"
	HeldOut      = "held_out_log_likelihood"
	HeldOutBest  = "held_out_log_likelihood_best"
	At           = "_at_"
	Frequencies  = "held_out_log_likelihood_frequencies"
	TrainSeconds = "train_seconds"
)

// QVIRLAux is QVIRL with auxiliary transitions.
const QVIRLAux = variational.Name + "-aux"

// The rows of those who do not learn.
const (
	demonstrator = "demonstrator"
	random       = "random"
)

// Config determines the rows, up to rounding of the backend.
type Config struct {
	Games    []Game
	Learners []Learner
	// The demonstrations of a game are split at random by SplitSeed: Subsets disjoint ones of Train trajectories each
	// to learn from, and HeldOut that all are judged by. Run k learns from subset k.
	Train, HeldOut, Subsets int
	SplitSeed               uint64
	Runs                    []uint64
	// Trajectories is the number of a subset's that runs learn from, and of those held out that they are judged by; 0
	// for all.
	Trajectories int `json:",omitempty"`
	Discount     float64
	Training     neural.Config // of all learners, but for Steps
	// The apprentices meet Episodes episodes of at most MaxSteps steps, 0 for full ones, of which the first has the
	// seed EvaluationSeed.
	Episodes       int
	MaxSteps       int `json:",omitempty"`
	EvaluationSeed int64
}

// Game is one of the games.
type Game struct {
	Name        string // of its units
	Environment string // id in Gymnasium's registry
	// Demos is the file with the demonstrations, relative to the working folder or one above it.
	Demos string
	Steps int // of training
	// Prior is QVIRL's over rewards.
	Prior variational.ImagePrior
}

// Learner is a method of the comparison.
type Learner struct {
	Name   string `json:",omitempty"` // in result rows; "" for Method
	Method string // in the catalogue
	// Config holds fields of the method's catalogue.Config that replace its default and the experiment's Training.
	Config json.RawMessage `json:",omitempty"`
	// Explore, if it is not nil, adds auxiliary transitions, from rollouts of the apprentices while they learn.
	Explore *neural.ExploreOptions `json:",omitempty"`
	// Games and Runs, if there are any, are the only ones of the experiment's that the learner takes part in.
	Games []string `json:",omitempty"`
	Runs  []uint64 `json:",omitempty"`
}

// name returns the learner's name in result rows.
func (l Learner) name() string { return cmp.Or(l.Name, l.Method) }

// takesPart tells whether the learner learns in a run of a game.
func (l Learner) takesPart(game string, run uint64) bool {
	return (len(l.Games) == 0 || slices.Contains(l.Games, game)) && (len(l.Runs) == 0 || slices.Contains(l.Runs, run))
}

// UnmarshalJSON reads a game of a list that replaces the default one. Of the default that was in its place, nothing
// stays.
func (g *Game) UnmarshalJSON(text []byte) error {
	type fields Game // without this method
	*g = Game{}
	return overlay.JSON((*fields)(g), text)
}

// UnmarshalJSON reads a learner in the same way.
func (l *Learner) UnmarshalJSON(text []byte) error {
	type fields Learner // without this method
	*l = Learner{}
	return overlay.JSON((*fields)(l), text)
}

const pong = "pong"

// actions are what both games know, in the order of their numbers.
const actions = "NOOP FIRE RIGHT LEFT RIGHTFIRE LEFTFIRE"

// The demonstrations of a game: 3 subsets to learn from, and those held out.
const (
	trainTrajectories, heldOutTrajectories = 20, 5
	subsets                                = 3
)

// objective is QVIRL's but for its kernel: rewards are of the size of signs.
const objective = `{"Objective": {"prior_mean": 0, "prior_std": 0.5, "per_beta": true}}`

// Paper returns the config of the paper's size, for a GPU.
func Paper() Config {
	c := Config{
		Games: []Game{
			{Name: pong, Environment: "ALE/Pong-v5", Demos: "results/expert-pong/demos.npz", Steps: 200_000,
				Prior: variational.PongPrior(actions)},
			{Name: "spaceinvaders", Environment: "ALE/SpaceInvaders-v5",
				Demos: "results/expert-spaceinvaders/demos.npz", Steps: 1_000_000,
				Prior: variational.SpaceInvadersPrior(actions)},
		},
		Learners: []Learner{
			{Method: cloning.Name},
			{Method: variational.Name, Config: json.RawMessage(objective)},
			// what the authors ran on these games (temperature, constant rate of learning, no decay of weights)
			{Method: iqlearn.Name, Config: json.RawMessage(`{"Objective": {"temperature": 0.001},
				"Training": {"LearningRate": 0.0001, "Cosine": false, "WeightDecay": 0}}`)},
			{Method: avril.Name},
		},
		Train: trainTrajectories, HeldOut: heldOutTrajectories, Subsets: subsets, SplitSeed: 1, Runs: []uint64{0, 1, 2},
		Discount: 0.99, Training: neural.Default(), Episodes: 10, EvaluationSeed: 1_000_000,
	}
	c.Training.Folds, c.Training.ReportEvery = 0, 5000
	return c
}

// CPU returns a config for a processor: a tenth of Pong's steps, on half the batch, with rates of learning for so few,
// which take QVIRL about half an hour of a core. It was not tuned. In one run of Pong there is QVIRL with auxiliary
// transitions, too.
func CPU() Config {
	c := Paper()
	c.Learners = append(c.Learners, Learner{Name: QVIRLAux, Method: variational.Name,
		Config: json.RawMessage(objective), Games: []string{pong}, Runs: []uint64{0},
		Explore: &neural.ExploreOptions{Every: 1000, Keep: 16, Episodes: 2, MaxSteps: 1000, Seed: 100_000_000}})
	for i := range c.Games {
		c.Games[i].Steps = 20_000
	}
	c.Training.Batch, c.Training.LearningRate, c.Training.ReportEvery = 32, 5e-4, 1000
	return c
}

// Quick returns a config of a minute, of a handful of steps, which shows that it runs and nothing else.
func Quick() Config {
	c := CPU()
	c.Learners = Paper().Learners
	c.Games, c.Runs, c.Trajectories = c.Games[:1], c.Runs[:1], 1
	c.Games[0].Steps, c.Training.ReportEvery = 20, 10
	c.Episodes, c.MaxSteps = 2, 100
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	err := check.All("atari", check.That(len(c.Games) > 0 && len(c.Learners) > 0 && len(c.Runs) > 0,
		"%d games, %d learners, %d runs: want at least one of each", len(c.Games), len(c.Learners), len(c.Runs)),
		check.AtLeast(1, "Train HeldOut Subsets Episodes", c.Train, c.HeldOut, c.Subsets, c.Episodes),
		check.AtLeast(0, "Trajectories MaxSteps EvaluationSeed", c.Trajectories, c.MaxSteps, int(c.EvaluationSeed)),
		check.That(c.Trajectories <= c.Train, "Trajectories = %d, want at most Train, %d", c.Trajectories, c.Train),
		check.Each("Runs", c.Runs, func(k uint64) bool { return k < uint64(c.Subsets) },
			fmt.Sprintf("each once, below the number of subsets, %d", c.Subsets)))
	for i, g := range c.Games {
		err = check.First(err, check.That(g.Name != "" && g.Environment != "" && g.Demos != "",
			"atari: Games[%d] = %+v: want a name, an environment and demonstrations", i, g))
		for _, l := range c.Learners {
			if err != nil {
				return err
			}
			if err = c.check(g, l); err != nil {
				err = fmt.Errorf("atari: the learner %s in %s: %w", l.name(), g.Name, err)
			}
		}
	}
	return err
}

// check reports what is wrong with a learner in a game.
func (c Config) check(g Game, l Learner) error {
	if _, err := c.Method(g, l, ""); err != nil {
		return err
	}
	entry, err := catalogue.Find(l.Method)
	return check.First(err, check.That(err != nil || entry.Aux || l.Explore == nil, "it is to explore, but its method "+
		"has no use for auxiliary transitions"))
}

// Method returns a learner's method in a game. backendName is what it computes on, as backend.Get takes it.
func (c Config) Method(g Game, l Learner, backendName string) (neural.Method, error) {
	entry, err := catalogue.Find(l.Method)
	if err != nil {
		return nil, err
	}
	training := c.Training
	training.Steps, training.Backend = g.Steps, backendName
	own := l.Config
	if l.Method == variational.Name {
		if own, err = withPrior(own, g.Prior); err != nil {
			return nil, err
		}
	}
	return entry.New(training, own)
}

// withPrior returns the fields of a config with a prior over rewards of images.
func withPrior(config json.RawMessage, prior variational.ImagePrior) (json.RawMessage, error) {
	fields := struct {
		Training  json.RawMessage `json:",omitempty"`
		Objective map[string]any
	}{Objective: map[string]any{}}
	if config != nil {
		if err := json.Unmarshal(config, &fields); err != nil {
			return nil, err
		}
	}
	fields.Objective["image"] = prior
	return json.Marshal(fields)
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Apprentices of Pong and Space Invaders from raw pixels: score and held-out "+
		"likelihood", Quick, Paper, Report, experiment.Scale[Config]{Name: "cpu", Config: CPU})
}
