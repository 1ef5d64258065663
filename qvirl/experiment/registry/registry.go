// Package registry lists the experiments.
package registry

import (
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/activelander"
	"github.com/go-birl/birl/qvirl/experiment/activelearning"
	"github.com/go-birl/birl/qvirl/experiment/apprenticeship"
	"github.com/go-birl/birl/qvirl/experiment/atari"
	"github.com/go-birl/birl/qvirl/experiment/avril3x3"
	"github.com/go-birl/birl/qvirl/experiment/calibration"
	"github.com/go-birl/birl/qvirl/experiment/imitation"
	"github.com/go-birl/birl/qvirl/experiment/lambdasize"
	"github.com/go-birl/birl/qvirl/experiment/likelihood"
	"github.com/go-birl/birl/qvirl/experiment/lowrank"
	"github.com/go-birl/birl/qvirl/experiment/maxmean"
	"github.com/go-birl/birl/qvirl/experiment/posteriorquality"
	"github.com/go-birl/birl/qvirl/experiment/rationality"
	"github.com/go-birl/birl/qvirl/experiment/refinement"
	"github.com/go-birl/birl/qvirl/experiment/sensitivity"
	"github.com/go-birl/birl/qvirl/experiment/singleunknown"
	"github.com/go-birl/birl/qvirl/experiment/visited"
	"github.com/go-birl/birl/qvirl/experiment/zoostudy"
)

// Definitions returns the experiments, as the command lists them.
func Definitions() []experiment.Definition {
	return append([]experiment.Definition{
		posteriorquality.Definition(),
		apprenticeship.Definition(),
		singleunknown.Definition(),
		avril3x3.Definition(),
		maxmean.Definition(),
		likelihood.Definition(),
		sensitivity.Definition(),
		activelearning.Definition(),
		activelander.Definition(),
		calibration.Definition(),
		refinement.Definition(),
		lambdasize.Definition(),
		lowrank.Definition(),
		rationality.Definition(),
		visited.Definition(),
		zoostudy.Definition(),
		atari.Definition(),
	}, imitation.Definitions()...)
}
