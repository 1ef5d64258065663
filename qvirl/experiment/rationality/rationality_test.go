package rationality

import (
	"math"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

// tiny is the experiment with three draws and two 3×3 worlds, and short computations.
func tiny() Config {
	c := Quick()
	c.Draws, c.DrawChunk, c.Seeds, c.Chunk = experiment.Seeds(3000, 3), 2, experiment.Seeds(3000, 2), 1
	c.DrawWorld.Width, c.DrawWorld.Height, c.World.Width, c.World.Height = 3, 3, 4, 4
	c.DrawSampling.Samples, c.DrawSampling.MinESS, c.Match.Samples = 1000, 200, 1500
	return c
}

func TestWholeExperimentOnTinyWorlds(t *testing.T) {
	rows, _, record := experimenttest.Run(t, Name, tiny())
	for _, method := range []string{ValueWalk, QVIRL} {
		truth, low, median, high := experiment.Series(rows, method, True), experiment.Series(rows, method, Low),
			experiment.Series(rows, method, Median), experiment.Series(rows, method, High)
		if len(truth) != 3 {
			t.Fatalf("%s: %d draws, want 3", method, len(truth))
		}
		for seed := range truth {
			if !(low[seed] > 0 && low[seed] < median[seed] && median[seed] < high[seed]) {
				t.Errorf("%s, draw %d: interval %g to %g about %g", method, seed, low[seed], high[seed], median[seed])
			}
			inside := low[seed] <= truth[seed] && truth[seed] <= high[seed]
			if covered := experiment.Series(rows, method, Covered)[seed]; inside != (covered == 1) {
				t.Errorf("%s, draw %d: covered %g, but %g in %g to %g", method, seed, covered, truth[seed], low[seed],
					high[seed])
			}
		}
	}
	// two methods for one posterior: their medians agree within a third of its width
	exact, other := experiment.Series(rows, ValueWalk, Median), experiment.Series(rows, QVIRL, Median)
	for seed, want := range exact {
		width := math.Log(experiment.Series(rows, ValueWalk, High)[seed] / experiment.Series(rows, ValueWalk,
			Low)[seed])
		if gap := math.Abs(math.Log(other[seed] / want)); gap > width/3 {
			t.Errorf("draw %d: median of β %g, of ValueWalk %g, with an interval of log width %g", seed, other[seed],
				want, width)
		}
	}
	if Loss(rows, Known, 2).Mean != 0 || Loss(rows, Wrong, 2) == nil || Loss(rows, Wrong, 3) != nil {
		t.Errorf("losses %+v, %+v, %+v", Loss(rows, Known, 2), Loss(rows, Wrong, 2), Loss(rows, Wrong, 3))
	}
	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Tables) != 2 || len(report.Tables[0].Rows) != 2 || len(report.Tables[1].Rows) != 3 {
		t.Errorf("tables %+v", report.Tables)
	}
	if _, err := Report(nil, nil); err == nil {
		t.Error("a report of no rows")
	}
}

// TestLossIsTheDifferenceInEachWorld checks the arithmetic of the table.
func TestLossIsTheDifferenceInEachWorld(t *testing.T) {
	row := func(method, expert string, seed uint64, value float64) experiment.Row {
		return experiment.Row{Environment: "gridworld-8x8-expert-" + expert, Method: method, Seed: seed,
			Metric: LogProbGap, Value: value}
	}
	rows := []experiment.Row{row(Known, "2", 0, 1), row(Known, "2", 1, 2), row(Known, "10", 0, 5),
		row(Wrong, "2", 0, 1.5), row(Wrong, "2", 1, 3),
		row(Wrong, "10", 0, 5.25), row(Inferred, "2", 0, 1.25), row(Inferred, "10", 0, 5)}
	table := Losses(rows)
	if len(table.Rows) != 2 || len(table.Columns) != 3 {
		t.Fatalf("table %+v", table)
	}
	wrong := table.Rows[0].Cells
	if wrong[0].Estimate.Mean != 0.75 || wrong[0].Estimate.N != 2 || wrong[1].Estimate.Mean != 0.25 ||
		wrong[2].Estimate.Mean != 0.75 {
		t.Errorf("losses of the wrong β: %+v", wrong)
	}
	if c := table.Rows[1].Cells; c[0].Estimate.Mean != 0.25 || c[2].Estimate.Mean != 0.25 {
		t.Errorf("losses of the inferred β: %+v", c)
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, Quick, map[string]func(*Config){
		"neither Draws":      func(c *Config) { c.Draws, c.Seeds = nil, nil },
		"LogStd = 0":         func(c *Config) { c.LogStd = 0 },
		"TopFraction = 0.5":  func(c *Config) { c.DrawWorld.TopFraction = 0.5 },
		"Experts[1] = 2":     func(c *Config) { c.Experts = []float64{2, 2} },
		"Chunk = 0":          func(c *Config) { c.Chunk = 0 },
		"discount = 1":       func(c *Config) { c.Discount = 1 },
		"Wrong = -1":         func(c *Config) { c.Wrong = -1 },
		"valuewalk: Samples": func(c *Config) { c.DrawSampling.Samples = 1 },
	})
	for _, c := range []Config{Quick(), Paper()} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}
