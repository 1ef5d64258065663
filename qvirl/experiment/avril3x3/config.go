// Package avril3x3 compares AVRIL with the exact posterior and with QVIRL on the paper's 3×3 gridworld with an obstacle
// (App. "3x3 Gridworld and a Comparison to AVRIL"): AVRIL's posterior collapses or reverts to the prior with small
// changes of its λ. The exact posterior is sampled twice, by ValueWalk and by PolicyWalk.
package avril3x3

import (
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
)

// Name is the experiment's name in result rows.
const Name = "avril-3x3"

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct{ obstacle.Config }

// Paper returns the config of the paper's experiment.
func Paper() Config { return Config{obstacle.Paper()} }

// Quick returns the same experiment with shorter computations.
func Quick() Config { return Config{obstacle.Quick()} }

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "AVRIL's posterior on a 3×3 gridworld collapses or reverts to the prior (Fig. "+
		"3x3-gridworld-multirew)", Quick, Paper, Report)
}
