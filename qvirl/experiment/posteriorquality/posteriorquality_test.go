package posteriorquality

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// tiny is the experiment on three 3×3 worlds, one a unit, with short computations.
func tiny() Config {
	c := Quick()
	c.World.Width, c.World.Height = 3, 3
	c.Seeds, c.Chunk, c.Again, c.Draws = []uint64{2000, 2001, 2002}, 1, 2, 400
	c.HeldOut, c.Lambdas = []uint64{2003}, []float64{0, 0.1}
	c.Methods = []string{worlds.QVIRL, worlds.QVIRLMaxMean, worlds.QVIRLMatched, worlds.QVIRLRefined, worlds.AVRIL,
		"avril-0.17"}
	c.ValueWalk.Samples = 1000
	c.QVIRL.Steps, c.QVIRL.Rounds = 300, 1
	c.Match.Samples, c.QVIRLStart.Steps = 1500, 75
	c.QVIRLMaxMean.Steps, c.Refine.Samples = 20, 1000
	c.AVRIL.Steps = 4000
	return c
}

func TestWholeExperimentOnTinyWorlds(t *testing.T) {
	rows, text, record := experimenttest.Run(t, Name, tiny())
	if _, again, _ := experimenttest.Run(t, Name, tiny(), experiment.Shard{Index: 2, Count: 3},
		experiment.Shard{Index: 3, Count: 3}, experiment.Shard{Index: 1, Count: 3}); again != text {
		t.Error("three shards gave other rows than one run")
	}
	main, heldOut := split(rows)
	grids := map[string]int{worlds.ValueWalk: 3, worlds.ValueWalkNoDet: 3, worlds.ValueWalkAgain: 2, worlds.QVIRL: 3,
		worlds.QVIRLMaxMean: 3, worlds.QVIRLMatched: 3, worlds.QVIRLRefined: 3, worlds.AVRIL: 3, "avril-0.17": 3}
	for method, n := range grids {
		for _, name := range []string{metric.W1, metric.LogDensity, metric.RewardCoverage, metric.PolicyCoverage,
			metric.PolicyTV,
			metric.PolicyL1, metric.W1NoDet, metric.PolicyTVNoDet, metric.PolicyCoverageNonterminal,
			metric.PolicyTVNonterminal} {
			if got := len(experiment.Series(main, method, name)); got != n {
				t.Errorf("%d rows of %s for %s, want %d", got, name, method, n)
			}
		}
		if record.Seconds[method] <= 0 {
			t.Errorf("no seconds of %s", method)
		}
	}
	for _, r := range rows {
		if r.Experiment != Name || r.Demos != 5 || !strings.HasPrefix(r.Environment, "gridworld-3x3") {
			t.Fatalf("row %+v", r)
		}
	}
	mean := func(method, name string) float64 {
		e := experiment.Average(main, method, name)
		if e == nil {
			t.Fatalf("no %s of %s", name, method)
		}
		return e.Mean
	}
	// The order of the distances is what the experiment is about. With 1000 samples, the Monte Carlo floor of W1 is
	// about σ/√n·√(2/π)·√2 ≈ 0.1 for σ ≈ 3.
	if mean(worlds.ValueWalk, metric.W1) != 0 || mean(worlds.ValueWalk, metric.PolicyTV) != 0 ||
		mean(worlds.ValueWalkNoDet, metric.W1NoDet) != 0 {
		t.Error("a reference is not at distance 0 of itself")
	}
	if floor := mean(worlds.ValueWalkAgain, metric.W1); !(floor > 0 && floor < 0.3) {
		t.Errorf("two runs of ValueWalk differ by W1 %g, want Monte Carlo error", floor)
	}
	if q, a := mean(worlds.QVIRL, metric.W1), mean("avril-0.17", metric.W1); !(q > 0.02 && q < a) {
		t.Errorf("W1 of QVIRL %g, of AVRIL %g: want QVIRL closer to the exact posterior", q, a)
	}
	if q, r := mean(worlds.QVIRL, metric.W1), mean(worlds.QVIRLRefined, metric.W1); !(r < q) ||
		mean(worlds.QVIRLRefined, metric.Drift) <= 0 || mean(worlds.QVIRLRefined, metric.Settling) <= 0 {
		t.Errorf("W1 of QVIRL %g, refined %g, drift %g", q, r, mean(worlds.QVIRLRefined, metric.Drift))
	}
	for _, method := range []string{worlds.ValueWalk, worlds.QVIRL, worlds.QVIRLMatched, worlds.QVIRLRefined} {
		if c := mean(method, metric.RewardCoverage); !(c > 0.6) {
			t.Errorf("%s covers %g of the true rewards", method, c)
		}
	}
	if mean(worlds.ValueWalk, metric.RHatMax) < 1 || mean(worlds.ValueWalk, metric.ESSBulkMin) < 50 {
		t.Errorf("ValueWalk's diagnostics: R̂ %g, ESS %g", mean(worlds.ValueWalk, metric.RHatMax),
			mean(worlds.ValueWalk, metric.ESSBulkMin))
	}
	if !slices.Equal(worlds.Lambdas(heldOut), []float64{0, 0.1}) {
		t.Errorf("held-out values of λ: %v", worlds.Lambdas(heldOut))
	}

	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	cell := report.Tables[0].Rows[slices.IndexFunc(report.Tables[0].Rows,
		func(r exhibit.Row) bool { return r.Method == worlds.QVIRL })].Cells[0]
	if cell.Estimate.Mean != mean(worlds.QVIRL, metric.W1) || cell.Estimate.N != 3 ||
		cell.References[0].Mean != 0.486 {
		t.Errorf("W1 of QVIRL in the table: %+v", cell)
	}
	if len(report.Tables) != 4 || len(report.Charts) != 1 || len(report.Charts[0].Panels) != 4 {
		t.Errorf("%d tables, %d charts", len(report.Tables), len(report.Charts))
	}
	if x := report.Charts[0].Panels[0].Curves[0].X; !slices.Equal(x, []float64{0, 0.1}) {
		t.Errorf("the curve over λ is drawn at %v", x)
	}
}

func TestCancelledUnitReturnsContextError(t *testing.T) {
	plan, err := experiment.NewPlan(Name, "tiny", "go", tiny())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = plan.Units[1].Run(ctx, experiment.NewStages(func(int, int, string) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestPaperConfigIsThePapers(t *testing.T) {
	c := Paper()
	if len(c.Seeds) != 100 || c.Seeds[0] != 0 || c.Seeds[99] != 99 || c.World.Width != 8 || c.Trajectories != 5 ||
		c.Length != 5 || c.Beta != 2 || c.Discount != 0.9 {
		t.Errorf("%+v", c)
	}
	for _, seed := range append(slices.Clone(c.HeldOut), Quick().Seeds...) {
		if slices.Contains(c.Seeds, seed) {
			t.Errorf("seed %d is reported and tuned on", seed)
		}
	}
	w, err := Quick().NewWorld(1000)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Quick().NewWorld(1000)
	if err != nil || !slices.Equal(w.Grid.Reward, again.Grid.Reward) ||
		!slices.Equal(w.Problem.Demos, again.Problem.Demos) {
		t.Errorf("the same seed gave two worlds (error %v)", err)
	}
	if len(w.Demos) != 5 || w.Problem.Prior.Mean[7] != -1 || w.Problem.Prior.Std[7] != 3 ||
		w.Truth.Reward[3] != w.Grid.Reward[3] {
		t.Errorf("world %+v", w)
	}
	for _, name := range slices.Concat(c.Methods, []string{worlds.ValueWalk, worlds.ValueWalkNoDet}) {
		m, err := c.Method(name, "go")
		if err != nil || m.Name() != name {
			t.Errorf("method %q: %v, error %v", name, m, err)
		}
	}
}

func TestFitWorldGivesEachPosteriorOfTheWorld(t *testing.T) {
	c := tiny()
	w, err := c.NewWorld(2000)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	posts, err := c.FitWorld(context.Background(), w, []string{worlds.ValueWalk, "avril-0.1", worlds.QVIRLMaxMean},
		"go", func(done, total int, _ string) { last = done * 100 / total })
	if err != nil || last != 100 {
		t.Fatalf("error %v, progress %d %%", err, last)
	}
	for name, post := range posts {
		if post.Problem() != w.Problem || post.Reward(0).StdDev() == 0 {
			t.Errorf("%s: problem %v, standard deviation %g", name, post.Problem(), post.Reward(0).StdDev())
		}
	}
	if _, ok := posts[worlds.ValueWalk].(irl.ValuePosterior); !ok || len(posts) != 3 {
		t.Errorf("posteriors %v", posts)
	}
	if _, err := c.FitWorld(context.Background(), w, []string{"magic"}, "go", nil); err == nil {
		t.Error("an unknown method was accepted")
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, tiny, map[string]func(*Config){
		"0 seeds":         func(c *Config) { c.Seeds = nil },
		"chunks of 0":     func(c *Config) { c.Chunk = 0 },
		"stands twice":    func(c *Config) { c.Seeds = []uint64{1, 1} },
		"Draws = 1":       func(c *Config) { c.Draws = 1 },
		"Lambdas":         func(c *Config) { c.Lambdas = nil },
		"no method":       func(c *Config) { c.Methods = []string{"magic"} },
		"avril-x":         func(c *Config) { c.Methods = []string{"avril-x"} },
		"RewardStd":       func(c *Config) { c.World.RewardStd = -1 },
		"Length = -1":     func(c *Config) { c.Length = -1 },
		"valuewalk":       func(c *Config) { c.ValueWalk.Samples = -1 },
		"tabular: Steps":  func(c *Config) { c.Methods = []string{worlds.QVIRL}; c.QVIRL.Steps = 0 },
		"Trajectory":      func(c *Config) { c.Methods = []string{worlds.QVIRLRefined}; c.Refine.Trajectory = 0 },
		"avril: Learning": func(c *Config) { c.Methods = []string{worlds.AVRIL}; c.AVRIL.LearningRate = 0 },
	})
}

// TestCurveLeavesOutCollapse checks that the chart stays readable when λ is so large that the density is meaningless.
func TestCurveLeavesOutCollapse(t *testing.T) {
	var rows []experiment.Row
	for i, density := range []float64{-2.5, -4, -1e9} {
		for _, m := range []string{metric.W1, metric.LogDensity} {
			v := density
			if m == metric.W1 {
				v = 2 - float64(i%2)
			}
			row := experiment.RowOf(worlds.AVRILName([]float64{0, 0.1, 1}[i]), "gridworld-8x8-heldout", 5, 0)
			row.Metric, row.Value = m, v
			rows = append(rows, row)
		}
	}
	chart := LambdaCurve(rows)
	if chart == nil || len(chart.Panels) != 2 {
		t.Fatalf("chart %+v", chart)
	}
	if p := chart.Panels[1]; len(p.Curves[0].X) != 2 || !strings.Contains(p.Title, "at λ = 1") || p.Marks[0].X != 0.1 {
		t.Errorf("panel %+v: want two points, a title that says one is left out, and the mark at the best W1", p)
	}
	if LambdaCurve(rows[:2]) != nil {
		t.Error("a curve of one point was drawn")
	}
}
