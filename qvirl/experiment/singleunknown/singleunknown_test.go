package singleunknown

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

// tiny is the illustration with short computations.
func tiny() Config {
	c := Quick()
	c.KnownStds, c.Starts = []float64{1}, []float64{-4.6}
	c.Draws = 5000
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 1000, 200, 4000
	c.QVIRL.Steps, c.QVIRL.Rounds = 400, 2
	return c
}

// The map gives the paper's Q-value of going around, and its 8.0 at a mean reward of −4.75.
func TestMapGivesThePapersQValues(t *testing.T) {
	c := Paper()
	w, err := c.World()
	if err != nil {
		t.Fatal(err)
	}
	p := c.Problem(w, 0.1)
	reward := slices.Clone(p.Prior.Mean)
	reward[c.Tile] = -4.75
	d, err := decide(p, reward)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Around(c.Cell), -1-0.8-0.64-0.512+0.4096*20; !scalar.EqualWithinAbs(got, want, 1e-10) {
		t.Errorf("around: %g, want %g", got, want)
	}
	if got, want := d.Through(c.Cell), -1+0.8*-4.75+0.64*20; !scalar.EqualWithinAbs(got, want, 1e-10) {
		t.Errorf("through: %g, want %g", got, want)
	}
}

// With a single decision and one unknown reward, the posterior follows from quadrature over it; the other rewards,
// known up to 0.1, move it by less than the Monte Carlo error.
func TestWeightedAgainstQuadrature(t *testing.T) {
	c := Paper()
	w, err := c.World()
	if err != nil {
		t.Fatal(err)
	}
	p := c.Problem(w, 0.1)
	post, err := NewWeighted(p, 20_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	prior := distuv.Normal{Mu: c.TileMean, Sigma: c.TileStd}
	reward := slices.Clone(p.Prior.Mean)
	var mass, first, second float64
	const step = 0.05
	for r := -61.0; r <= 59; r += step {
		reward[c.Tile] = r
		sol, err := p.MDP.Solve(reward, p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		weight := prior.Prob(r) * step
		pi := mdp.Boltzmann(nil, sol.Q, p.MDP.Actions(), p.Beta)
		for _, d := range p.Demos {
			weight *= pi[d.State*p.MDP.Actions()+d.Action]
		}
		mass, first, second = mass+weight, first+weight*r, second+weight*r*r
	}
	mean := first / mass
	std := math.Sqrt(second/mass - mean*mean)
	m := post.Reward(c.Tile)
	// four standard errors of means of about 14,000 effective draws, plus 0.05 for the rewards held fixed
	if got := m.Mean(); !scalar.EqualWithinAbs(got, mean, 4*std/math.Sqrt(post.ESS)+0.05) {
		t.Errorf("mean %g, want %g", got, mean)
	}
	if got := m.StdDev(); !scalar.EqualWithinAbs(got, std, 4*std/math.Sqrt(post.ESS)+0.05) {
		t.Errorf("standard deviation %g, want %g", got, std)
	}
	if !scalar.EqualWithinAbs(post.LogEvidence, math.Log(mass), 0.05) {
		t.Errorf("log evidence %g, want %g", post.LogEvidence, math.Log(mass))
	}
	if post.ESS < 5000 || post.ESS > 20_000 {
		t.Errorf("effective draws %g", post.ESS)
	}
}

func TestExperiment(t *testing.T) {
	rows, _, _ := experimenttest.Run(t, Name, tiny())
	value := func(method, metric string) float64 {
		e := experiment.Average(rows, method, metric)
		if e == nil {
			t.Fatalf("no %s of %s", metric, method)
		}
		return e.Mean
	}
	for _, method := range []string{Exact, ValueWalk, QVIRL, QVIRLHighest, QVIRLBetween} {
		// the exact posterior at known rewards ± 1 is r = −5.7 ± 7.2; short computations stay within 2 of it
		if m, s := value(method, RewardMean), value(method, RewardStd); !(math.Abs(m+5.7) <= 2) ||
			!scalar.EqualWithinAbs(s, 7.2, 2) {
			t.Errorf("%s: r = %.2f ± %.2f, want about −5.7 ± 7.2", method, m, s)
		}
		if value(method, Through) != 1 || value(method, ThroughCautious) != 0 {
			t.Errorf("%s: the mean's apprentice should go through, the cautious one around", method)
		}
		if got, want := value(method, QThrough), 11.8+0.8*value(method, RewardMean); !scalar.EqualWithinAbs(got, want,
			1) {
			t.Errorf("%s: Q through %g, want about %g", method, got, want)
		}
	}
	if value(QVIRLHighest, ELBO) < value(QVIRL, ELBO) || value(QVIRLHighest, ELBO) > value(Exact, ELBO)+0.3 {
		t.Errorf("ELBO of qvirl-highest %g: want at least that of qvirl %g, and hardly more than the log evidence %g",
			value(QVIRLHighest, ELBO), value(QVIRL, ELBO), value(Exact, ELBO))
	}
	for i := range rows {
		rows[i].Experiment = Name
	}
	if err := experiment.Sort(rows); err != nil {
		t.Fatal(err)
	}
	report, err := Report(rows, nil)
	if err != nil || len(report.Tables) != 2 {
		t.Fatalf("%d tables, error %v", len(report.Tables), err)
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, tiny, map[string]func(*Config){
		"line 1":         func(c *Config) { c.Drawing = "x" },
		"above":          func(c *Config) { c.Tile = 4 },
		"Start = 9":      func(c *Config) { c.Start = 9 },
		"KnownStds":      func(c *Config) { c.KnownStds = nil },
		"prior std[0]":   func(c *Config) { c.KnownStds = []float64{-1} },
		"Draws = 1":      func(c *Config) { c.Draws = 1 },
		"Actions[0]":     func(c *Config) { c.Actions = []int{5} },
		"StartSpread":    func(c *Config) { c.StartSpread = 0 },
		"tabular: Steps": func(c *Config) { c.QVIRL.Steps = 0 },
	})
}
