// Package imitation is the paper's comparison of apprentices that learn from few demonstrations in environments of
// continuous observations (Figures 3 and 4): Lunar Lander and Highway.
package imitation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/avril"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/iqlearn"
	"github.com/go-birl/birl/qvirl/neural/online"
	"github.com/go-birl/birl/qvirl/neural/planning"
	"github.com/go-birl/birl/qvirl/neural/variational"
	"github.com/go-birl/birl/qvirl/overlay"
)

// The experiments' names in result rows.
const (
	LunarLander = "lunarlander"
	Highway     = "highway"
)

// suffixTuned ends the names of learners that were tuned by likelihood. Rivals without it have what their authors, or
// the paper, published.
const suffixTuned = "-tuned"

// QVIRLAux is QVIRL with auxiliary transitions; without, it sees the demonstrations alone, as its rivals do.
const QVIRLAux = "qvirl-aux"

// QVIRLBranches is QVIRL with one step of each action that the demonstrator did not choose as auxiliary transitions.
const QVIRLBranches = "qvirl-branches"

// The metrics, which the registry of package metric explains. Some stored rows lack ReturnWorst and Terminated.
const (
	Return                = "return"
	HeldOut               = "held_out_log_likelihood"
	HeldOutAirborne       = "held_out_log_likelihood_airborne"
	ECE                   = "ece"
	HeldOutUncalibrated   = "held_out_log_likelihood_uncalibrated"
	ECEUncalibrated       = "ece_uncalibrated"
	ReturnWorst           = "return_worst_5"
	Terminated            = "terminated"
	EnvironmentSteps      = "environment_steps"
	Objective             = "objective"
	ObjectiveDemonstrated = "objective_demonstrated"
	ObjectiveRollouts     = "objective_rollouts"
	ObjectiveOthers       = "objective_others"
	ObjectiveRank         = "objective_rank"
	TrainSeconds          = "train_seconds"
)

// Config determines the rows of an experiment, up to rounding of the backend.
type Config struct {
	Environment string   // id in Gymnasium's registry
	Imports     []string `json:",omitempty"` // modules that register it
	// Demos is the file with the demonstrations, relative to the working folder or one above it.
	Demos string
	// The demonstrations are split at random by SplitSeed: Train of them, in Subsets disjoint subsets of equal size, to
	// learn from, Validation to tune on and Test to report on. A file that holds fewer is an error.
	Train, Validation, Test int
	Subsets                 int
	SplitSeed               uint64
	// Runs are the seeds of the rows: run k learns from subset k.
	Runs []uint64
	// Sizes are the numbers of trajectories to learn from. More trajectories are the fewer ones, and others.
	Sizes          []int
	Discount, Beta float64
	Training       neural.Config // of all learners
	Learners       []Learner
	// Explore is how the learners that do so explore.
	Explore neural.ExploreOptions
	// The apprentices meet Episodes episodes, the first of which has the seed EvaluationSeed.
	Episodes       int
	EvaluationSeed int64
	// Legs are the observation's features that say whether a leg touches the ground; empty where there is no
	// HeldOutAirborne.
	Legs []int `json:",omitempty"`
	// Constant, if it is not nil, is a policy that learns nothing, for comparison.
	Constant *Constant `json:",omitempty"`
}

// Constant is the policy that always takes one action.
type Constant struct {
	Name   string // in result rows, whose Demos are 0
	Action int
}

// Learner is a method of the comparison.
type Learner struct {
	Name   string // in result rows
	Method string // in the catalogue
	// Config holds fields of the method's catalogue.Config that replace its default and the experiment's Training.
	Config json.RawMessage `json:",omitempty"`
	// Explore adds auxiliary transitions, from rollouts of the apprentices in the environment while they learn.
	Explore bool `json:",omitempty"`
	// Branches adds auxiliary transitions: one step of each of the other actions at every demonstrated state.
	Branches bool `json:",omitempty"`
	// Every, if it is not 0, lets the learner see one transition in so many of each trajectory, the first of them
	// first.
	Every int `json:",omitempty"`
	// Sizes, if there are any, are the only ones of the experiment's that the learner learns from.
	Sizes []int `json:",omitempty"`
	// Plan, if it is not nil, is how the apprentice is planned in the environment on what was learnt.
	Plan *planning.Config `json:",omitempty"`
	// Online, if it is not nil, is how the learner trains in the environment; it then has no Method, Config or
	// Explore.
	Online *online.Config `json:",omitempty"`
}

// runs tells whether each run of the learner is a unit of its own.
func (l *Learner) runs() bool { return l.Plan != nil || l.Online != nil }

// UnmarshalJSON reads a learner of a list that replaces the default one. Of the default that was in its place, nothing
// stays.
func (l *Learner) UnmarshalJSON(text []byte) error {
	type fields Learner // without this method
	*l = Learner{}
	return overlay.JSON((*fields)(l), text)
}

// published returns the learners with the settings that the paper or their authors published, or that are every
// learner's. config is QVIRL's, whose prior over rewards has, before training, the standard deviation 1, which is the
// paper's on Highway. On Lunar Lander the paper's is 50: with as much, and with 3 or 10, the held-out likelihood from
// one and three trajectories was worse on demonstrations that were made for tuning.
func published(config json.RawMessage) []Learner {
	return []Learner{
		{Name: variational.Name, Method: variational.Name, Config: config},
		{Name: cloning.Name, Method: cloning.Name},
		{Name: iqlearn.Name, Method: iqlearn.Name},
		{Name: avril.Name, Method: avril.Name},
		{Name: iqlearn.NameEnsemble, Method: iqlearn.NameEnsemble},
	}
}

// exploring returns QVIRL with auxiliary transitions. On Lunar Lander it is not calibrated, which would take as long as
// all other learners together: QVIRL without them has the likelihood before its calibration to compare with.
func exploring(config string) Learner {
	return Learner{Name: QVIRLAux, Method: variational.Name, Config: json.RawMessage(config), Explore: true}
}

// branching returns QVIRL with branches, of a weight decay, from one and from three trajectories. Its KLWeight is that
// of the number of distinct transitions: beside n demonstrated ones there are n(|A| − 1) branches, and a batch holds as
// many of the ones as of the others, so that its divergence stands for |A|/2 times as many transitions as it does
// without.
func branching(actions int, decay float64) Learner {
	config := fmt.Sprintf(`{"Training": {"Folds": 0, "WeightDecay": %g}, "Objective": {"kl_weight": %g}}`, decay,
		float64(actions)/2)
	return Learner{Name: QVIRLBranches, Method: variational.Name, Branches: true, Sizes: []int{1, 3},
		Config: json.RawMessage(config)}
}

// planned returns the learners whose apprentices are planned, as p says, on what QVIRL believes with auxiliary
// transitions, of the given config: by the mean of the rewards less a part of their standard deviation, and by the
// mean. The last one is planned on a Gaussian process that is told of the demonstrated transitions alone.
func planned(p planning.Config, config string) []Learner {
	averse, visits := p, p
	averse.Risk, visits.Visits = planRisk, true
	var out []Learner
	for _, p := range []struct {
		name string
		plan planning.Config
	}{{planning.NameAverse, averse}, {planning.Name, p}, {planning.NameVisits, visits}} {
		out = append(out, Learner{Name: p.name, Method: variational.Name, Config: json.RawMessage(config),
			Explore: true, Sizes: []int{1, 3}, Plan: &p.plan})
	}
	return out
}

// together returns the learner of an averse plan on an ensemble of three: what plans from one trajectory fail by is
// mostly what one model believes of a few transitions. Each member plays for auxiliary transitions of its own.
func together(averse Learner) Learner {
	averse.Name, averse.Method = planning.NameEnsemble, variational.NameEnsemble
	averse.Config = json.RawMessage(`{"Training": {"Folds": 0}, "Members": 3}`)
	return averse
}

// inEnvironment returns the rivals that learn in the environment, as planned apprentices do, after a change of how.
func inEnvironment(c Config, change func(*expert.Config)) []Learner {
	var out []Learner
	for _, name := range []string{online.NameIQLearn, online.NameSQIL} {
		o := online.Default(name, c.Environment, c.Discount)
		change(&o.Learner)
		out = append(out, Learner{Name: name, Sizes: []int{1, 3}, Online: &o})
	}
	return out
}

// planRisk is the risk aversion of those who have some: the first value that was tried, on validation demonstrations.
const planRisk = 0.1

// tuned returns a learner as tuned on demonstrations that were made for that, by held-out log-likelihood (the page of
// ablations says what was tried). What is tuned so is not calibrated beside it, and sees standardised observations in
// Lunar Lander too, as in tuning.
func tuned(method, config string) Learner {
	return Learner{Name: method + suffixTuned, Method: method, Config: json.RawMessage(config)}
}

// paper returns what the two experiments have in common at the paper's scale.
func paper() Config {
	c := Config{Train: 800, Validation: 100, Test: 100, Subsets: 10, SplitSeed: 1, Training: neural.Default(),
		Explore:  neural.ExploreOptions{Every: 500, Keep: 40, Episodes: 4, Seed: 100_000_000},
		Episodes: 30, EvaluationSeed: 1_000_000}
	c.Runs = experiment.Seeds(0, 10)
	return c
}

// quick returns a config of minutes: fewer runs, sizes, steps and episodes, and the expert's data alone, without
// ensembles and tuned rivals.
func quick(c Config) Config {
	c.Runs, c.Sizes, c.Training.Steps, c.Episodes = c.Runs[:3], []int{1, 3}, 2000, 10
	c.Constant = nil
	c.Learners = slices.DeleteFunc(c.Learners, func(l Learner) bool {
		return l.Method == iqlearn.NameEnsemble || l.Explore || l.Branches ||
			l.Online != nil || strings.HasSuffix(l.Name, suffixTuned)
	})
	return c
}

// PaperLunarLander returns the config of the full experiment in Lunar Lander.
func PaperLunarLander() Config {
	c := paper()
	c.Environment, c.Demos = "LunarLander-v3", "results/expert-lunarlander/demos.npz"
	c.Discount, c.Beta, c.Sizes, c.Legs = 0.99, 3, []int{1, 2, 3, 5, 7, 10, 15}, []int{6, 7}
	c.Learners = append(published(nil), // of AVRIL's λ the published one was the best
		tuned(variational.Name, `{"Training": {"Unit": 0, "Range": 2, "WeightDecay": 3, "Folds": 0}}`),
		tuned(cloning.Name, `{"Training": {"Unit": 0, "Range": 2, "WeightDecay": 3, "Folds": 0}}`),
		tuned(iqlearn.Name, `{"Training": {"Unit": 0, "Range": 2, "Folds": 0}, "Objective": {"alpha": 0.05}}`),
		exploring(`{"Training": {"Folds": 0}}`), branching(4, c.Training.WeightDecay))
	c.Learners = append(c.Learners, inEnvironment(c, func(*expert.Config) {})...)
	p := planning.Default(c.Environment, c.Discount)
	p.Length, p.Standardise = 1, false // these observations are of the size of one
	plans := planned(p, `{"Training": {"Folds": 0}}`)
	c.Learners = append(append(c.Learners, together(plans[0])), plans...)
	return c
}

// PaperHighway returns the config of the full experiment in Highway.
func PaperHighway() Config {
	c := paper()
	c.Environment, c.Imports, c.Demos = "highway-fast-v0", []string{"highway_env"}, "results/expert-highway/demos.npz"
	c.Constant = &Constant{Name: "slower", Action: 4}
	c.Discount, c.Beta, c.Sizes = 0.95, 5, []int{1, 2, 3, 5, 10}
	// Of these observations, in the environment's own units, the positions vary ten times as much as the velocities.
	c.Training.Unit, c.Training.Range = 0, 2
	// With less decay or more, or a larger weight of the divergence, the apprentices of one and three trajectories were
	// worse on demonstrations that were made for tuning.
	c.Learners = append(published(json.RawMessage(`{"Training": {"WeightDecay": 5}}`)),
		tuned(variational.Name, `{"Training": {"WeightDecay": 20, "Folds": 0}}`),
		tuned(cloning.Name, `{"Training": {"WeightDecay": 30, "Folds": 0}}`),
		tuned(iqlearn.Name, `{"Training": {"Folds": 0}, "Objective": {"alpha": 0.05}}`),
		tuned(avril.Name, `{"Training": {"Folds": 0}, "Objective": {"lambda": 3}}`),
		exploring(`{"Training": {"WeightDecay": 5}}`), branching(5, 5))
	// A step of this environment takes as long as two hundred of Lunar Lander's: who learns in it does so from few, and
	// the rivals as much from each as the expert.
	few := func(l *expert.Config) {
		l.Imports, l.Steps, l.SegmentSteps, l.EpsilonSteps = c.Imports, 6000, 1200, min(l.EpsilonSteps, 3000)
	}
	p := planning.Default(c.Environment, c.Discount)
	p.Length, p.Standardise = 4, false
	few(&p.Learner)
	c.Learners = append(c.Learners, planned(p, `{"Training": {"WeightDecay": 5, "Folds": 0}}`)...)
	c.Learners = append(c.Learners, inEnvironment(c, func(l *expert.Config) {
		few(l)
		l.LearnAfter, l.GradientSteps = expert.Highway().LearnAfter, expert.Highway().GradientSteps
	})...)
	return c
}

// QuickLunarLander returns the config of a run of minutes in Lunar Lander.
func QuickLunarLander() Config { return quick(PaperLunarLander()) }

// QuickHighway returns the config of a run of minutes in Highway.
func QuickHighway() Config { return quick(PaperHighway()) }

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	each := c.Train / max(c.Subsets, 1) // trajectories in a subset
	err := check.All("imitation", check.That(c.Environment != "" && c.Demos != "",
		"Environment = %q, Demos = %q: want both", c.Environment, c.Demos),
		check.AtLeast(1, "Train Test Subsets Episodes", c.Train, c.Test, c.Subsets, c.Episodes),
		check.AtLeast(0, "Validation EvaluationSeed", c.Validation, int(c.EvaluationSeed)),
		check.That(len(c.Runs) > 0 && len(c.Sizes) > 0 && len(c.Learners) > 0,
			"%d runs, %d sizes, %d learners: want at least one of each", len(c.Runs), len(c.Sizes), len(c.Learners)),
		check.Each("Runs", c.Runs, func(k uint64) bool { return k < uint64(c.Subsets) },
			fmt.Sprintf("each once, below the number of subsets, %d", c.Subsets)),
		check.Each("Sizes", c.Sizes, func(n int) bool { return n >= 1 && n <= each },
			fmt.Sprintf("each once, from 1 to the size of a subset, %d", each)))
	for i, l := range c.Learners {
		if err != nil {
			return err
		}
		if slices.ContainsFunc(c.Learners[:i], func(other Learner) bool { return other.Name == l.Name }) {
			return fmt.Errorf("imitation: two learners have the name %q", l.Name)
		}
		if err = c.check(l); err != nil {
			err = fmt.Errorf("imitation: the learner %q: %w", l.Name, err)
		}
	}
	return err
}

// check refuses a learner that cannot learn as it says.
func (c Config) check(l Learner) error {
	if o := l.Online; o != nil {
		return check.First(o.Validate(), check.That(o.Learner.Environment == c.Environment && l.Method == "" &&
			l.Config == nil && !l.Explore && !l.Branches && l.Plan == nil, "it trains in %s, want %s, without Method, "+
			"Config, Explore, Branches and Plan", o.Learner.Environment, c.Environment))
	}
	entry, err := catalogue.Find(l.Method)
	if err != nil {
		return err
	}
	if p := l.Plan; p != nil {
		err = check.First(p.Validate(), check.That(p.Learner.Environment == c.Environment,
			"it plans in %s, the experiment is of %s", p.Learner.Environment, c.Environment))
	}
	if err = check.First(err, check.AtLeast(0, "Every", l.Every),
		check.That(entry.Aux || !l.Explore && !l.Branches,
			"it is to explore or to branch, but its method has no use for auxiliary transitions"),
		check.That(!l.Branches || !l.Explore && l.Every == 0,
			"it is to branch, and to explore or to see a part of each trajectory")); err != nil {
		return err
	}
	_, err = c.Method(l, "")
	return err
}

// Method returns a learner's method. backendName is what it computes on, as backend.Get takes it.
func (c Config) Method(l Learner, backendName string) (neural.Method, error) {
	entry, err := catalogue.Find(l.Method)
	if err != nil {
		return nil, err
	}
	training := c.Training
	training.Backend = backendName
	return entry.New(training, l.Config)
}

// define returns the definition of an experiment as the command lists it.
func define(name, short string, quick, paper func() Config) experiment.Definition {
	return experiment.Define(name, short, quick, paper, func(rows []experiment.Row,
		record *experiment.Record) (*exhibit.Report, error) {
		return Report(name, rows, record)
	})
}

// Definitions are the experiments as the command lists them.
func Definitions() []experiment.Definition {
	return append([]experiment.Definition{
		define(LunarLander, "Apprentices in Lunar Lander from few demonstrations: return and held-out likelihood",
			QuickLunarLander, PaperLunarLander),
		define(Highway, "Apprentices on the highway from few demonstrations: return and held-out likelihood",
			QuickHighway, PaperHighway),
	}, rivalsDefinitions()...)
}
