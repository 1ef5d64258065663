package sensitivity

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

// tiny is the experiment on four 3×3 worlds with two values of β.
func tiny() Config {
	c := Quick()
	c.World.Width, c.World.Height = 3, 3
	c.Seeds, c.Chunk, c.Betas, c.Demos = experiment.Seeds(2000, 4), 2, []float64{0.1, 2}, []int{1, 15}
	c.QVIRL.Steps, c.QVIRL.Rounds = 300, 1
	return c
}

func TestExperiment(t *testing.T) {
	rows, _, record := experimenttest.Run(t, Name, tiny())
	if len(record.Units) != 8 {
		t.Fatalf("%d units, want 2 chunks for each of 2 learners and 2 numbers of demonstrations", len(record.Units))
	}
	grid, err := NewGrid(rows, ProbGapAll)
	if err != nil {
		t.Fatal(err)
	}
	for demos, lines := range grid.Cells {
		for i, line := range lines {
			for j, e := range line {
				if e == nil || e.N != 4 || !(math.Abs(e.Mean) <= 1) || e.Mean == 0 {
					t.Fatalf("%d demonstrations, learner %g, expert %g: %+v", demos, grid.Learners[i], grid.Experts[j],
						e)
				}
			}
		}
	}
	// a learner that takes a rational expert (2) for a random one (0.1) predicts nearly random actions, for ever; one
	// that knows better learns from more demonstrations
	if wrong, right := grid.Cells[15][0][1].Mean, grid.Cells[15][1][1].Mean; !(wrong > right+0.1) {
		t.Errorf("gap to a rational expert: %g of the learner with β = 0.1, %g of that with 2", wrong, right)
	}
	if early, late := grid.Cells[1][1][1].Mean, grid.Cells[15][1][1].Mean; !(late < early) {
		t.Errorf("gap after 1 demonstration %g, after 15 %g: want it to shrink", early, late)
	}
	report, err := Report(rows, nil)
	if err != nil || len(report.Tables) != 5 || len(report.Charts) != 2 || len(report.Charts[0].Panels) != 2 {
		t.Fatalf("%+v, error %v", report, err)
	}
	// the learner that knows the rational expert's β is the best after 15 demonstrations, by no margin over itself
	if best := report.Tables[4].Rows[1].Cells; best[2].Estimate.Mean != 2 || best[3].Estimate.Mean != 0 {
		t.Errorf("best learner after 15 demonstrations: β = %g, ahead by %g", best[2].Estimate.Mean,
			best[3].Estimate.Mean)
	}
	if p := experiment.Average(rows, Expert, OptimalProb); p == nil || p.Mean < 0.2 || p.Mean > 1 {
		t.Errorf("the experts' probability of the optimal action: %+v", p)
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, tiny, map[string]func(*Config){
		"0 seeds":      func(c *Config) { c.Seeds = nil },
		"Betas[1] = 2": func(c *Config) { c.Betas = []float64{2, 2} },
		"Betas[0] = 0": func(c *Config) { c.Betas = []float64{0} },
		"Demos[0] = 0": func(c *Config) { c.Demos = []int{0} },
		"Length = 0":   func(c *Config) { c.Length = 0 },
		"[0, 1)":       func(c *Config) { c.Discount = 1 },
		"Steps":        func(c *Config) { c.QVIRL.Steps = 0 },
	})
	if _, err := NewGrid([]experiment.Row{{Environment: "x", Method: Learner(1), Metric: ProbGap}},
		ProbGap); err == nil {
		t.Error("a foreign environment was accepted")
	}
}

func TestBest(t *testing.T) {
	var rows []experiment.Row
	for seed, gaps := range [][2]float64{{0.5, 0.2}, {0.7, 0.6}} { // of learners with β = 2 and 0.1, in each world
		for i, beta := range []float64{2, 0.1} {
			row := experiment.RowOf(Learner(beta), "gridworld-expert-2", 1, uint64(seed))
			row.Metric, row.Value = LogProbGap, gaps[i]
			rows = append(rows, row)
		}
	}
	best, err := Best(rows, LogProbGap, "best", "Best")
	if err != nil {
		t.Fatal(err)
	}
	cells := best.Rows[0].Cells // advantages 0.3 and 0.1
	if cells[0].Estimate.Mean != 0.1 || !scalar.EqualWithinAbs(cells[1].Estimate.Mean, 0.2, 1e-12) ||
		!scalar.EqualWithinAbs(cells[1].Estimate.StdErr, 0.1, 1e-12) {
		t.Errorf("best β %+v, advantage %+v, want 0.1 and 0.2 ± 0.1", cells[0].Estimate, cells[1].Estimate)
	}
}
