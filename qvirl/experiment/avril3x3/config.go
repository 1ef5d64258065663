// Package avril3x3 compares AVRIL with the exact posterior and with QVIRL on the paper's 3×3 gridworld with an obstacle
// (App. "3x3 Gridworld and a Comparison to AVRIL"): AVRIL's posterior collapses or reverts to the prior with small
// changes of its λ. The exact posterior is sampled twice, by ValueWalk and by PolicyWalk.
package avril3x3

import (
	"fmt"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
)

// Name is the experiment's name in result rows.
const Name = "avril-3x3"

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	obstacle.Config
	KLWeights []float64 `json:",omitempty"` // other weights of the KL divergence in QVIRL's objective
}

// klWeight is the setting of variants of QVIRL.
const klWeight = "kl"

// weights are those by which the sensitivity to the weight of the KL divergence is read.
var weights = []float64{0.1, 0.25, 0.5, 2, 4, 10}

// Paper returns the config of the paper's experiment.
func Paper() Config {
	c := Config{obstacle.Paper(), weights}
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 8000, 4000, 200_000
	c.PolicyWalk.Samples, c.PolicyWalk.MinESS, c.PolicyWalk.MaxIterations = 8000, 4000, 200_000
	return c
}

// Quick returns the same experiment with shorter computations.
func Quick() Config { return Config{obstacle.Quick(), weights} }

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	err := check.First(c.Config.Validate(), check.All("avril3x3", check.Distinct("KLWeights", c.KLWeights)))
	for _, weight := range c.KLWeights {
		err = check.First(err, check.All("avril3x3", check.That(weight > 0, "KLWeights: %g, want positive numbers",
			weight)), c.weighted(weight).Validate())
	}
	return err
}

// weighted returns the config of QVIRL with a weight of the KL divergence.
func (c Config) weighted(weight float64) tabular.Config {
	out := c.QVIRL
	out.KLWeight, out.Name = weight, method.Name(method.QVIRL, fmt.Sprintf("%s=%g", klWeight, weight))
	return out
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "AVRIL's posterior on a 3×3 gridworld collapses or reverts to the prior "+
		"(Figure 8)", Quick, Paper, Report)
}
