// Package posteriorquality is the paper's comparison of reward posteriors on random gridworlds (Table 1): QVIRL and
// AVRIL against the exact posterior, which ValueWalk samples.
package posteriorquality

import (
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
)

// Name is the experiment's name in result rows.
const Name = "posterior-quality"

// heldOutSuffix marks the environment of the rows on held-out worlds.
const heldOutSuffix = "-heldout"

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct{ worlds.Config }

// Paper returns the config of the full experiment.
func Paper() Config { return Config{worlds.Paper()} }

// Quick returns the config of a run of minutes: four worlds, fewer samples.
func Quick() Config { return Config{worlds.Quick()} }

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Reward posteriors of QVIRL and AVRIL against ValueWalk on random 8×8 gridworlds "+
		"(Table 1)", Quick, Paper, Report)
}
