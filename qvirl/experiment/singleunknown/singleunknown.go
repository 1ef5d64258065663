// Package singleunknown is the paper's illustration with one unknown reward (App. "Illustrative Gridworld Experiment
// with a Single Unknown State"): is it worth cutting through a tile of unknown reward, or should the apprentice go
// around?
//
// The paper prints the map as a picture only. A goal of 20 and −1 in all other cells are what gives its Q-values: going
// around takes four steps, −1 − 0.8 − 0.64 − 0.512 + 0.4096·20 = 5.24 (the paper's 5.2), and going up through the tile
// is worth −1 + 0.8 r + 0.64·20 = 11.8 + 0.8 r, the paper's 8.0 at a posterior mean of r = −4.75.
//
// The posterior has a difficulty that the paper does not mention. Which way is best changes at r = −8.25 (from the cell
// in question) and at r = −1 (from the centre), and where it does, the optimal values have a kink as functions of r.
// The tighter the other rewards are known, the less can a Gaussian over values reach beyond a kink, and at a standard
// deviation of 0.1 the ELBO has a local maximum for each interval between kinks. Config.Starts begins training in each.
package singleunknown

import (
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Name is the experiment's name in result rows.
const Name = "single-unknown"

// The methods, by their names in result rows.
const (
	Exact          = "exact"           // draws of the prior, weighted by the likelihood
	ValueWalk      = "valuewalk"       // Markov chain in value space
	ValueWalkNoDet = "valuewalk-nodet" // without the log-determinant
	QVIRL          = "qvirl"           // trained from its usual start
	QVIRLHighest   = "qvirl-highest"   // the one with the highest ELBO of all starts
	// started where the tile is worth cutting through from the cell, but not from the centre
	QVIRLBetween = "qvirl-between"
)

// The metrics, which the registry of package metric explains.
const (
	RewardMean      = "reward_mean"
	RewardStd       = "reward_std"
	QThrough        = "q_through"
	QAround         = "q_around"
	CautiousThrough = "q_through_cautious"
	CautiousAround  = "q_around_cautious"
	OnlyTile        = "q_through_cautious_tile"
	Through         = "through"
	ThroughCautious = "through_cautious"
	ELBO            = metric.ELBO
	RHatMax         = metric.RHatMax
	ESS             = metric.ESS
)

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	Drawing     string    // map, as gridworld.Parse reads it
	Tile        int       // the cell of unknown reward
	Cell        int       // the cell in which the apprentice decides, below the tile
	TileMean    float64   // prior mean of the tile's reward; −1
	TileStd     float64   // prior standard deviation; 10
	KnownStds   []float64 // prior standard deviations of the known rewards; the paper's is 0.1
	Discount    float64   // 0.8
	Beta        float64   // 1
	Start       int       // cell in which the demonstration begins
	Actions     []int     // its actions
	Caution     float64   // posterior standard deviations that the cautious apprentice subtracts; 2
	Draws       int       // of the prior, for the exact posterior
	Starts      []float64 // values of r from which QVIRL is trained too, one in each interval between kinks
	Between     float64   // the one of them between −8.25 and −1
	StartSpread float64   // standard deviation of r at these starts
	Seed        uint64

	ValueWalk valuewalk.Config
	QVIRL     tabular.Config
}

// Paper returns the config of the paper's illustration. It gives the demonstration as a picture only: ours goes from
// the top left along the top to the goal, which says nothing about the way from the bottom right.
func Paper() Config {
	c := Config{
		Drawing: "-1 -1 20T\n-1 -1 -1\n-1 -1 -1", Tile: 5, Cell: 8, TileMean: -1, TileStd: 10,
		KnownStds: []float64{0.1, 0.3, 1}, Discount: 0.8, Beta: 1,
		Start: 0, Actions: []int{gridworld.Right, gridworld.Right, gridworld.Stay}, Caution: 2, Draws: 200_000,
		Starts: []float64{-13, -4.6, 1.5, 8}, Between: -4.6, StartSpread: 0.5,
		ValueWalk: valuewalk.Default(), QVIRL: tabular.Default(),
	}
	c.QVIRL.Rounds = 20
	return c
}

// Quick returns the same illustration with fewer samples.
func Quick() Config {
	c := Paper()
	c.Draws, c.Starts = 20_000, []float64{-13, -4.6}
	c.KnownStds = []float64{0.1, 1}
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 2000, 400, 10_000
	c.QVIRL.Rounds = 6
	return c
}

// World returns the gridworld.
func (c Config) World() (*gridworld.World, error) { return gridworld.Parse(c.Drawing, 0) }

// Problem returns what a method sees if the other rewards are known up to the given standard deviation.
func (c Config) Problem(w *gridworld.World, knownStd float64) *irl.Problem {
	prior := irl.Prior{Mean: slices.Clone(w.Reward), Std: slices.Repeat([]float64{knownStd}, len(w.Reward))}
	prior.Mean[c.Tile], prior.Std[c.Tile] = c.TileMean, c.TileStd
	return &irl.Problem{MDP: w.MDP, Prior: prior, Discount: c.Discount, Beta: c.Beta, Demos: c.Demonstration(w)}
}

// Demonstration returns the trajectory that the configured actions make.
func (c Config) Demonstration(w *gridworld.World) mdp.Trajectory {
	var t mdp.Trajectory
	s := c.Start
	for _, a := range c.Actions {
		t = append(t, mdp.Step{State: s, Action: a})
		s = gridworld.Neighbour(w.Width, w.Height, s, a)
	}
	return t
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	w, err := c.World()
	if err != nil {
		return err
	}
	n := len(w.Reward)
	if err := check.All("singleunknown", check.AtLeast(0, "Tile Cell Start", c.Tile, c.Cell, c.Start),
		check.That(max(c.Tile, c.Cell, c.Start) < n, "Tile = %d, Cell = %d, Start = %d: want cells in 0..%d", c.Tile,
			c.Cell, c.Start, n-1),
		check.That(len(c.KnownStds) > 0, "KnownStds is empty"), check.Distinct("KnownStds", c.KnownStds),
		check.AtLeast(2, "Draws", c.Draws),
		check.That(c.StartSpread > 0, "StartSpread = %g, want a positive number", c.StartSpread)); err != nil {
		return err
	}
	err = check.All("singleunknown", check.That(gridworld.Neighbour(w.Width, w.Height, c.Cell, gridworld.Up) == c.Tile,
		"Tile = %d is not the cell above Cell = %d", c.Tile, c.Cell))
	for i, a := range c.Actions {
		err = check.First(err, check.All("singleunknown", check.That(a >= 0 && a < gridworld.Actions,
			"Actions[%d] = %d is outside 0..%d", i, a, gridworld.Actions-1)))
	}
	for _, std := range c.KnownStds {
		if err == nil { // a demonstration that leaves the grid makes no problem
			err = c.Problem(w, std).Validate()
		}
	}
	return check.First(err, c.ValueWalk.Validate(), c.QVIRL.Validate())
}

// environment returns the name in result rows of the world with rewards known up to the given standard deviation.
func environment(knownStd float64) string { return fmt.Sprintf("gridworld-3x3-known-%g", knownStd) }

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "A tile of unknown reward on a 3×3 gridworld: cut through or go around? "+
		"(Figure 11)", Quick, Paper, Report)
}
