// Package activelander is the paper's experiment on active learning in Lunar Lander (Figure 5b): whether a
// learner that chooses the states to be shown by what it does not know learns faster than one that asks at random.
package activelander

import (
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/active"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Name is the experiment's name in result rows.
const Name = "active-lander"

// The methods, by their names in result rows: what chooses the queries.
const (
	EIG    = "qvirl-eig"
	VaR    = "qvirl-var"
	Random = "qvirl-random"
)

// The metrics, which the registry of package metric explains. The column demos of their rows is the number of queries
// that have been answered.
const (
	Return          = "return"
	HeldOut         = "held_out_log_likelihood"
	Query           = "query"
	QueryScore      = "query_score"
	QueryStdErr     = "query_standard_error"
	ChoosingSeconds = "choosing_seconds"
	TrainingSeconds = "training_seconds"
)

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	Environment string // id in Gymnasium's registry
	// Demos is the file with the demonstrations and Expert that with the one who demonstrated and answers, relative to
	// the working folder or one above it.
	Demos, Expert string
	// The demonstrations are split at random by SplitSeed: Train of them in Subsets disjoint subsets of equal size, to
	// learn from, and Test to report on.
	Train, Validation, Test, Subsets int
	SplitSeed                        uint64
	// Runs are the seeds of the rows: run k begins with a trajectory of subset k mod Subsets, which is another one for
	// each run of the subset, and its candidates are states of those that none of its runs up to k begins with. All
	// methods have the same ones.
	Runs    []uint64
	Methods []string
	// Candidates is their number. One that was answered is not asked about again.
	Candidates int
	Length     int // steps of an answer, at most
	// Branches lets QVIRL train on auxiliary transitions, too: one step with each action from each candidate, by which
	// the divergence holds the values of states that nobody was asked about to the prior.
	Branches bool
	At       []int // numbers of queries after which the apprentice is measured, from 0 to that of all queries

	Discount, Beta float64
	Objective      variational.Objective
	Training       neural.Config // on the first trajectory
	// After an answer QVIRL trains on for MoreSteps steps, with a learning rate that begins at MoreRate.
	MoreSteps int
	MoreRate  float64

	Segments active.Segments // by which acquisition functions look ahead; their length is Length
	Level    float64         // of ActiveVaR

	// The apprentices meet Episodes episodes, the first of which has the seed EvaluationSeed.
	Episodes       int
	EvaluationSeed int64
}

// Paper returns the config of the full experiment: thirty runs, three of each subset.
//
// What the paper leaves open was tried on other demonstrations and episodes: see results/active-lander-tried.
func Paper() Config {
	c := Config{
		Environment: "LunarLander-v3", Demos: "results/expert-lunarlander/demos.npz",
		Expert: "results/expert-lunarlander/expert.npz",
		Train:  demo.PaperTrain, Validation: demo.PaperValidation, Test: demo.PaperTest, Subsets: demo.PaperSubsets,
		SplitSeed: 1,
		Methods:   []string{EIG, VaR, Random}, Candidates: 100, Branches: true, Length: 10,
		At:       []int{0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40},
		Discount: 0.99, Beta: 3, Objective: variational.DefaultObjective(5), Training: neural.Default(),
		MoreSteps: 100, MoreRate: 3e-4,
		Segments: active.Segments{Draws: 500, Replicates: 2}, Level: 0.95,
		Episodes: 30, EvaluationSeed: 1_000_000,
	}
	c.Training.Folds = 0
	c.Segments.Length = c.Length
	c.Runs = experiment.Seeds(0, 3*demo.PaperSubsets)
	return c
}

// Quick returns the config of a run of a minute or two: two runs of three queries.
func Quick() Config {
	c := Paper()
	c.Runs, c.At, c.Candidates, c.Training.Steps, c.Episodes = c.Runs[:2], []int{0, 1, 3}, 30, 1000, 5
	return c
}

// Queries returns the number of queries of a course.
func (c Config) Queries() int { return c.At[len(c.At)-1] }

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	most := uint64(c.Subsets * (c.Train/max(c.Subsets, 1) - 1))
	known := func(name string) bool { _, err := c.Acquisition(name); return err == nil }
	err := check.First(check.All("activelander", check.That(c.Environment != "" && c.Demos != "" && c.Expert != "",
		"Environment = %q, Demos = %q, Expert = %q: want all of them", c.Environment, c.Demos, c.Expert),
		check.AtLeast(1, "Train Test Subsets Length Episodes", c.Train, c.Test, c.Subsets, c.Length, c.Episodes),
		check.AtLeast(0, "Validation EvaluationSeed", c.Validation, int(c.EvaluationSeed)),
		check.That(c.Train/max(c.Subsets, 1) >= 2, "Train = %d, Subsets = %d: want two trajectories in each subset",
			c.Train, c.Subsets),
		check.That(len(c.Runs) > 0 && len(c.Methods) > 0, "%d runs, %d methods: want at least one of each",
			len(c.Runs), len(c.Methods)),
		check.That(len(c.At) > 0 && c.At[0] == 0 && slices.IsSorted(c.At) && c.Queries() <= c.Candidates,
			"At = %d: want growing numbers of queries from 0 to at most that of the candidates, %d", c.At,
			c.Candidates), check.Distinct("At", c.At),
		check.That(c.Segments.Length == c.Length, "Length = %d, Segments.Length = %d: want the same", c.Length,
			c.Segments.Length),
		check.That(c.Training.Folds == 0 && c.Training.Patience == 0, "Training.Folds = %d, Training.Patience = %d: "+
			"want 0, as what is trained on is neither calibrated nor stopped early", c.Training.Folds,
			c.Training.Patience),
		check.Each("Runs", c.Runs, func(k uint64) bool { return k < most },
			fmt.Sprintf("each once, below %d: one of each subset's trajectories has the candidates", most)),
		check.Each("Methods", c.Methods, known, fmt.Sprintf("each once, of %q", Paper().Methods)),
		check.Between("Level", c.Level)), c.Segments.Validate())
	if err == nil {
		_, _, err = c.Learners("")
	}
	return err
}

// Acquisition returns what chooses a method's queries.
func (c Config) Acquisition(method string) (active.Acquisition, error) {
	switch method {
	case EIG:
		return active.RewardEIG{Segments: c.Segments}, nil
	case VaR:
		return active.ActiveVaR{Segments: c.Segments, Level: c.Level}, nil
	case Random:
		return active.Random{}, nil
	}
	return nil, fmt.Errorf("activelander: there is no method %q; there are %q", method, Paper().Methods)
}

// Learners returns how training begins, and how it goes on after an answer. backendName is what they compute on, as
// backend.Get takes it.
func (c Config) Learners(backendName string) (first, more *neural.Learner, err error) {
	training := c.Training
	training.Backend = backendName
	if first, err = variational.New(training, c.Objective); err != nil {
		return nil, nil, err
	}
	training.Steps, training.LearningRate = c.MoreSteps, c.MoreRate
	training.ReportEvery = min(training.ReportEvery, max(1, c.MoreSteps))
	more, err = variational.New(training, c.Objective)
	return first, more, err
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Active learning in Lunar Lander: queries by information, by risk, and at random "+
		"(Figure 5b)", Quick, Paper, Report)
}
