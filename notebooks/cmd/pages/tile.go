package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/experiment/singleunknown"
	"github.com/go-birl/birl/widgets"
)

// tileDensities draws the posteriors of the unknown tile's reward at the paper's setting, and returns the figure's
// link. QVIRL's is a Gaussian, of the stored mean and standard deviation. The exact one is made again from the
// experiment's draws, which takes a second, and must have the stored mean.
func (s *site) tileDensities() (string, error) {
	c := singleunknown.Paper()
	w, err := c.World()
	if err != nil {
		return "", err
	}
	problem := c.Problem(w, 0.1)
	exact, err := singleunknown.NewWeighted(problem, c.Draws, c.Seed)
	if err != nil {
		return "", err
	}
	stored := map[string]float64{}
	for _, name := range []string{"exact reward_mean", "qvirl-highest reward_mean", "qvirl-highest reward_std"} {
		e, err := s.results.estimate(singleunknown.Name + " " + name + " environment=.*known-0.1")
		if err != nil {
			return "", err
		}
		stored[name] = e.mean
	}
	if got, want := exact.Reward(c.Tile).Mean(), stored["exact reward_mean"]; math.Abs(got-want) > 1e-3 {
		return "", fmt.Errorf("the exact mean of the tile is %g, the stored one %g", got, want)
	}
	m := widgets.Marginals{Title: "What the tile may pay, the other rewards being known up to 0.1",
		XLabel: "reward of the tile", Methods: []string{"prior", singleunknown.Exact, singleunknown.QVIRLHighest},
		Panels: []widgets.MarginalPanel{{Distributions: []widgets.Distribution{
			distuv.Normal{Mu: problem.Prior.Mean[c.Tile], Sigma: problem.Prior.Std[c.Tile]}, exact.Reward(c.Tile),
			distuv.Normal{Mu: stored["qvirl-highest reward_mean"], Sigma: stored["qvirl-highest reward_std"]}}}}}
	const name = "single-unknown-density"
	return fmt.Sprintf("![%s](figures/%s.svg)", m.Title, name), s.makeFigure(name, m)
}
