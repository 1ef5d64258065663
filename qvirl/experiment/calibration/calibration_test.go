package calibration

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
)

// gaussian is a posterior whose samples are independent Gaussians, whatever the demonstrations.
type gaussian struct {
	irl.Posterior
	problem   *irl.Problem
	mean, std float64
}

func (g gaussian) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	rewards := mat.NewDense(n, g.problem.RewardDim(), nil)
	for i := range rewards.RawMatrix().Data {
		rewards.RawMatrix().Data[i] = g.mean + g.std*rng.NormFloat64()
	}
	return g.problem.SolveSamples(rewards)
}

// Without demonstrations the posterior is the prior: its ranks pass every test. A narrower one and a shifted one fail,
// in the way that the report says.
func TestPriorPassesAndOthersFail(t *testing.T) {
	c := Paper()
	c.Posteriors.World.Width, c.Posteriors.World.Height, c.Posteriors.Trajectories = 3, 3, 0
	grids, err := c.Posteriors.Worlds(experiment.Seeds(5000, 300))
	if err != nil {
		t.Fatal(err)
	}
	var rows []experiment.Row
	for _, w := range grids {
		for method, g := range map[string]gaussian{
			worlds.ValueWalk: {mean: -1, std: 3}, worlds.QVIRL: {mean: -1, std: 1.5}, worlds.AVRIL: {mean: 1, std: 3},
		} {
			g.problem = w.Problem
			some, err := c.rank(w, method, g)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, some...)
		}
	}
	if err := experiment.Sort(rows); err != nil {
		t.Fatal(err)
	}
	tables, err := Tables(rows)
	if err != nil {
		t.Fatal(err)
	}
	tests, location, spread, coverage := tables[0].Rows, tables[1].Rows, tables[2].Rows, tables[3].Rows
	if len(tests) != 3 || tests[0].Cells[0].Estimate != nil {
		t.Fatalf("tests %+v: want three methods, and nothing about visited states, which there are not", tests)
	}
	for i := 1; i < 6; i++ {
		if p := tests[0].Cells[i].Estimate.Mean; p < 0.002 { // five tests: a false alarm in 100, and the seed is fixed
			t.Errorf("the prior fails the test of %s: p = %g", tables[0].Columns[i].Name, p)
		}
		if i == 4 { // no demonstrations: the log-likelihood is 0 whatever the posterior, and ties are broken at random
			continue
		}
		for k, name := range []string{"narrow", "shifted"} {
			if p := tests[k+1].Cells[i].Estimate.Mean; p > 1e-6 {
				t.Errorf("the %s posterior passes the test of %s: p = %g", name, tables[0].Columns[i].Name, p)
			}
		}
	}
	near := func(what string, e *exhibit.Estimate, want float64) {
		t.Helper()
		if !scalar.EqualWithinAbs(e.Mean, want, 4*e.StdErr) || e.StdErr > 0.05 || e.StdErr == 0 {
			t.Errorf("%s: %g ± %g, want %g", what, e.Mean, e.StdErr, want)
		}
	}
	near("the prior's mean rank", location[0].Cells[0].Estimate, 0.5)
	near("the prior's spread", spread[0].Cells[0].Estimate, 1)
	near("the prior's coverage", coverage[0].Cells[0].Estimate, 0.5)
	near("the prior's coverage", coverage[0].Cells[1].Estimate, 0.9)
	// the truth x has Φ((x+1)/1.5) of the narrow posterior below it: P(|z| < z_{0.75}/2) = 0.264 and P(|z| <
	// z_{0.95}/2) = 0.589
	near("the narrow posterior's coverage", coverage[1].Cells[0].Estimate, 0.264)
	near("the narrow posterior's coverage", coverage[1].Cells[1].Estimate, 0.589)
	// E Φ(z − 2/3) = Φ(−(2/3)/√2)
	near("the shifted posterior's mean rank", location[2].Cells[0].Estimate, 0.5*math.Erfc(2.0/3/2))
	report, err := Report(rows, nil)
	if err != nil || len(report.Ranks) != 4 || len(report.Charts) != 2 || len(report.Charts[0].Panels) != 2 ||
		len(report.Ranks[0].Panels) != 3 {
		t.Errorf("%+v, error %v", report, err)
	}
}

// Hotelling's test keeps its level although all states of a draw have the same rank, where χ² over states would reject.
func TestHotellingKeepsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	const repetitions, draws, states = 400, 200, 20
	low, naive := 0, 0
	for range repetitions {
		s := make(StateRanks, draws)
		var all []int
		for i := range s {
			rank := rng.IntN(Samples + 1)
			for range states {
				s[i] = append(s[i], rank)
			}
			all = append(all, s[i]...)
		}
		if s.Hotelling() < 0.05 {
			low++
		}
		if _, p := ChiSquare(all); p < 0.05 {
			naive++
		}
	}
	// 0.05·400 = 20 with a binomial standard deviation of 4.4; the shares are not quite Gaussian
	if low < 5 || low > 40 || naive < 390 {
		t.Errorf("%d of %d p-values below 0.05, want about 20; of the test that counts states %d, want nearly all", low,
			repetitions, naive)
	}
	if p := make(StateRanks, 5).Hotelling(); !math.IsNaN(p) {
		t.Errorf("p = %g from five draws", p)
	}
}

func TestRanksByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for truth, want := range map[float64]int{0: 0, 1.5: 1, 9: 3} {
		if got := rankOf(truth, []float64{3, 1, 2}, rng); got != want {
			t.Errorf("rank of %g among 1, 2, 3 is %d, want %d", truth, got, want)
		}
	}
	seen := map[int]int{}
	for range 3000 {
		seen[rankOf(2, []float64{1, 2, 2, 5}, rng)]++
	}
	for rank := 1; rank <= 3; rank++ { // two equal samples: ranks 1, 2, 3 are equally likely, 1000 ± 26
		if n := seen[rank]; !scalar.EqualWithinAbs(float64(n), 1000, 104) || len(seen) != 3 {
			t.Errorf("ranks of a tie: %v", seen)
		}
	}
	for _, level := range Levels {
		covered := 0
		for rank := range Samples + 1 {
			if inMiddle(rank, level) {
				covered++
			}
		}
		if want := int(math.Round(level * (Samples + 1))); covered != want {
			t.Errorf("level %g covers %d ranks, want %d", level, covered, want)
		}
	}
	statistic, p := ChiSquare([]int{5, 15, 25, 35, 45, 55, 65, 75, 85, 85}) // one bin has none, one has two: (1 + 1)/1
	if !scalar.EqualWithinAbs(statistic, 2, 1e-12) || !scalar.EqualWithinAbs(p, 0.9915, 1e-4) {
		t.Errorf("χ² = %g, p = %g, want 2 and 0.9915", statistic, p)
	}
}

func TestChosenStates(t *testing.T) {
	grids, err := Quick().Posteriors.Worlds(experiment.Seeds(6000, 1))
	if err != nil {
		t.Fatal(err)
	}
	w := grids[0]
	terminal := make([]bool, 25)
	terminal[3] = true
	w.Grid.Terminal = terminal
	w.Demos = []mdp.Trajectory{{{State: 3}, {State: 3}, {State: 3}}, {{State: 7}, {State: 8}, {State: 8}}}
	for range 3 {
		got := chosen(w)
		if unvisited := got[RankUnvisited]; len(got) != 3 || got[RankVisited] != 8 || got[RankTerminal] != 3 ||
			slices.Contains([]int{3, 7, 8}, unvisited) || !maps.Equal(got, chosen(w)) {
			t.Errorf("chosen states %v, want 8, one that is not visited, and 3, always the same", got)
		}
	}
	clear(terminal)
	w.Demos = nil
	got := chosen(w)
	if _, ok := got[RankUnvisited]; !ok || len(got) != 1 {
		t.Errorf("chosen states %v of a world without demonstrations and terminal states", got)
	}
}

func TestExperiment(t *testing.T) {
	c := Quick()
	c.Posteriors.World.Width, c.Posteriors.World.Height = 3, 3
	c.Posteriors.Seeds, c.Posteriors.Chunk = experiment.Seeds(7000, 6), 3
	c.Posteriors.QVIRL.Steps, c.Posteriors.QVIRL.Rounds = 100, 1
	c.Posteriors.ValueWalk.Samples, c.Posteriors.ValueWalk.MinESS, c.Posteriors.ValueWalk.MaxIterations = 400, 0, 400
	rows, _, _ := experimenttest.Run(t, Name, c)
	rows = worlds.NameLambda(rows)
	for _, method := range Methods {
		states := 0
		for _, terminal := range []bool{false, true} {
			for _, ranks := range NewStateRanks(rows, method, terminal) {
				states += len(ranks)
			}
		}
		if values := Ranks(rows, method, Quantity{Metric: RankValue}); states != 6*9 || len(values) != 6 {
			t.Errorf("%s: ranks of %d states and %d mean values, want 54 and 6", method, states, len(values))
		}
	}
	if _, err := Report(rows, nil); err != nil {
		t.Error(err)
	}
	some := experiment.Where(rows, func(r experiment.Row) bool { return r.Metric != RankLogLikelihood })
	if tables, err := Tables(some); err != nil || !strings.Contains(tables[0].Notes[0], "in each of 6 draws") {
		t.Errorf("tables %+v without the ranks of the log-likelihood, error %v", tables, err)
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, Quick, map[string]func(*Config){
		"TopFraction = 0.1":      func(c *Config) { c.Posteriors.World.TopFraction = 0.1 },
		"ValueWalk.Samples = 40": func(c *Config) { c.Posteriors.ValueWalk.Samples = 40 },
		"0 seeds":                func(c *Config) { c.Posteriors.Seeds = nil },
	})
	if _, err := Report([]experiment.Row{{Method: "x", Metric: "y"}}, nil); err == nil {
		t.Error("a report from foreign rows")
	}
}
