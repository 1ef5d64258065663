// Package calibration is simulation-based calibration of reward posteriors on random gridworlds (Talts et al., 2018),
// beyond the paper: rewards are drawn from the prior, demonstrations from the Boltzmann policy of each reward, and a
// posterior is fitted. If it is the true one, then the rank of the true reward among samples of the posterior is
// uniform; so is that of any quantity computed from the reward and the demonstrations. How it deviates tells what is
// wrong: ranks piled up at both ends mean a posterior that is too narrow, in the middle one that is too wide, at one
// end one that is biased.
//
// The prior itself passes for each single reward, although it has learnt nothing: over many draws, rewards are
// distributed as the prior says. Quantities that depend on the demonstrations tell it from the posterior (Modrák et
// al., 2023): the reward of a state that the expert chose to visit, or the log-likelihood.
package calibration

import (
	"fmt"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
)

// Name is the experiment's name in result rows.
const Name = "calibration"

// The methods are those of package worlds, and ExactMax: the rewards that belong to samples of QVIRL's values
// exactly. QVIRL's own are draws of its Gaussian over rewards, with Clark's approximation of the maximum.
const ExactMax = "qvirl-exactmax"

// The metrics, which the registry of package metric explains. A rank is 0 to Samples; its name is followed by the
// number of a state, as in rank_state_7, or is that of one of the Quantities.
const (
	RankState    = "rank_state"
	RankTerminal = "rank_terminal"
	Coverage50   = "coverage_50"
	Coverage90   = "coverage_90"
)

// Quantity is a quantity of which there is one rank in each draw, so that its ranks in different draws are independent.
type Quantity struct{ Metric, Title string }

// The metrics of the Quantities.
const (
	RankVisited       = "rank_visited"
	RankUnvisited     = "rank_unvisited"
	RankValue         = "rank_value"
	RankLogLikelihood = "rank_log_likelihood"
)

// Quantities are the quantities in the order of the tables. RankTerminal is of a terminal state, chosen at random.
var Quantities = []Quantity{{RankVisited, "most visited state"}, {RankUnvisited, "unvisited state"},
	{RankTerminal, "terminal state"}, {RankValue, "mean value"}, {RankLogLikelihood, "log-likelihood"}}

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	// Posteriors says which worlds there are, a draw each, which methods are fitted to them beside ValueWalk, and how.
	// Its worlds for the choice of λ are not used.
	Posteriors worlds.Config
}

// Samples is the number of a posterior's samples among which the truth is ranked.
const Samples = 99

// Paper returns the config of the full experiment: 200 draws. Terminal states are known to the methods, so they must
// not depend on the reward: a tenth of the states is terminal by chance, and high rewards are not, unlike in the
// paper's worlds.
func Paper() Config {
	c := worlds.Paper()
	c.World = gridworld.Paper()
	c.World.Width, c.World.Height, c.World.TopFraction = 5, 5, 0
	c.Seeds, c.Chunk = experiment.Seeds(0, 200), 50
	c.Methods = []string{worlds.QVIRL, worlds.AVRIL, "avril-0.17"}
	c.HeldOut, c.Lambdas, c.Again = nil, nil, 0
	c.ValueWalk.Samples, c.ValueWalk.MinESS = 2000, 400 // those that the truth is ranked among are nearly independent
	return Config{c}
}

// Quick returns the config of a run of less than a minute: 16 other draws, shorter training.
func Quick() Config {
	c := Paper()
	c.Posteriors.Seeds, c.Posteriors.Chunk = experiment.Seeds(1000, 16), 16
	c.Posteriors.QVIRL.Steps, c.Posteriors.QVIRL.Rounds, c.Posteriors.QVIRL.Tolerance = 800, 2, 0.1
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	if n := c.Posteriors.ValueWalk.Samples; n < Samples {
		return fmt.Errorf("calibration: ValueWalk.Samples = %d, want at least the %d among which the truth is ranked",
			n, Samples)
	}
	if f := c.Posteriors.World.TopFraction; f != 0 {
		return fmt.Errorf("calibration: TopFraction = %g, want 0: terminal states that depend on the reward tell "+
			"about it, and no method knows that", f)
	}
	return c.Posteriors.Validate()
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Simulation-based calibration of ValueWalk, QVIRL and AVRIL on random 5×5 "+
		"gridworlds", Quick, Paper, Report)
}
