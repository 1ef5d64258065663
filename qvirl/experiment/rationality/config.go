// Package rationality measures what inferring the rationality coefficient β with the reward is worth, the paper's
// future work: whether its posterior is calibrated, and how much of the loss that a wrong β causes (package
// sensitivity) it avoids.
package rationality

import (
	"math"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Name is the experiment's name in result rows.
const Name = "rationality"

// The methods, by their names in result rows: in the calibration ValueWalk and QVIRL, which both infer β; otherwise
// QVIRL as a learner that knows the expert's β, that assumes a wrong one, or that infers it.
const (
	ValueWalk = "valuewalk"
	QVIRL     = worlds.QVIRLMatched
	Known     = "known"
	Wrong     = "wrong"
	Inferred  = "inferred"       // under the prior of Config
	Misled    = "inferred-wrong" // under one with the wrong β for its median
)

// The metrics, which the registry of package metric explains.
const (
	True       = "beta_true"
	Median     = "beta_median"
	Low        = "beta_low"
	High       = "beta_high"
	Covered    = "beta_covered"
	LogProbGap = "log_prob_gap"
)

// Level is the probability of the central intervals.
const Level = 0.9

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	Discount float64
	Length   int     // steps of a demonstration, at most
	LogStd   float64 // standard deviation of log β under its prior

	// Calibration: rewards and β are drawn from their priors.
	Draws        []uint64         // seeds
	DrawWorld    gridworld.Config // of small worlds, whose terminal states do not depend on the reward
	DrawMedian   float64          // of the prior over β
	DrawDemos    int
	DrawChunk    int              // draws to a unit
	DrawSampling valuewalk.Config // of ValueWalk

	// Sensitivity: experts of several β, and learners.
	Seeds   []uint64 // of the worlds
	World   gridworld.Config
	Demos   int
	Experts []float64 // β
	Wrong   float64   // β that Wrong assumes
	Median  float64   // of the prior of Inferred
	Chunk   int       // worlds to a unit

	Start tabular.Config         // of the posterior from which the walk starts
	Match valuewalk.RefineConfig // of the walk
}

// Paper returns the config of the full experiment: 200 draws, and the 30 worlds of the sensitivity experiment with its
// largest number of demonstrations, and the learner that loses most in it with the experts with which it does. The
// prior spans the range of the experts, a factor of ten up and down, within a standard deviation.
func Paper() Config {
	c := Config{
		Discount: 0.9, Length: 5, LogStd: math.Log(10),
		Draws: experiment.Seeds(0, 200), DrawWorld: gridworld.Paper(), DrawMedian: 1, DrawDemos: 8, DrawChunk: 50,
		DrawSampling: valuewalk.Default(),
		Seeds:        experiment.Seeds(0, 30), World: gridworld.Paper(), Demos: 15, Experts: []float64{2, 10},
		Wrong: 0.1, Median: 1,
		Chunk: 5,
		Start: tabular.StartConfig(), Match: matched.Default(),
	}
	c.Match.Kept, c.Match.Samples, c.Match.Trajectory = 15, 3000, 1.5
	c.DrawWorld.Width, c.DrawWorld.Height, c.DrawWorld.TopFraction = 3, 3, 0
	c.DrawSampling.Samples, c.DrawSampling.MinESS = 2000, 400
	c.Match.Transitions = 20 // β mixes more slowly than values do
	return c
}

// Quick returns the config of a run of a minute: other draws and worlds, fewer and smaller.
func Quick() Config {
	c := Paper()
	c.Draws, c.Seeds = experiment.Seeds(1000, 10), experiment.Seeds(1000, 2)
	c.World.Width, c.World.Height, c.Experts = 5, 5, []float64{2}
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
	return check.First(check.All("rationality", check.AtLeast(1, "Length", c.Length),
		check.That(len(c.Draws) == 0 || min(c.DrawChunk, c.DrawDemos) >= 1, "DrawChunk = %d, DrawDemos = %d: want at "+
			"least 1 of each", c.DrawChunk, c.DrawDemos),
		check.That(len(c.Seeds) == 0 || min(c.Chunk, c.Demos) >= 1, "Chunk = %d, Demos = %d: want at least 1 of each",
			c.Chunk, c.Demos),
		check.That(len(c.Draws)+len(c.Seeds) > 0, "neither Draws nor Seeds: want at least one of them"),
		check.Positive("LogStd DrawMedian Median Wrong", c.LogStd, c.DrawMedian, c.Median, c.Wrong),
		check.That(c.DrawWorld.TopFraction == 0, "DrawWorld.TopFraction = %g, want 0: terminal states that depend on "+
			"the reward tell about it", c.DrawWorld.TopFraction),
		check.Each("Experts", c.Experts, positive, "different positive numbers"),
		check.Distinct("Draws", c.Draws), check.Distinct("Seeds", c.Seeds)), mdp.CheckDiscount(c.Discount),
		c.World.Validate(), c.DrawWorld.Validate(), c.DrawSampling.Validate(), c.Match.Validate(), c.Start.Validate())
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "The rationality coefficient inferred: calibration, and what a wrong one costs "+
		"otherwise (beyond the paper)", Quick, Paper, Report)
}
