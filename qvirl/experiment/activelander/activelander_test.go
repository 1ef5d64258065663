package activelander

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural/active"
)

func TestPaperConfigIsThePapers(t *testing.T) {
	c := Paper()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if len(c.Runs) != 10 || c.Candidates != 100 || c.Length != 10 || c.Beta != 3 || c.Discount != 0.99 ||
		c.Episodes != 30 || !slices.Equal(c.At, []int{0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40}) || c.Queries() != 40 {
		t.Errorf("%+v", c)
	}
	names := map[string]string{EIG: "reward-eig", VaR: "active-var", Random: "random"}
	for _, method := range c.Methods {
		a, err := c.Acquisition(method)
		if err != nil || a.Name() != names[method] {
			t.Errorf("%s: %+v, error %v", method, a, err)
		}
	}
	if err := Quick().Validate(); err != nil {
		t.Error(err)
	}
}

// TestUnitsAreCompleteRunsOneAfterAnother: what is finished early is whole runs of all methods.
func TestUnitsAreCompleteRunsOneAfterAnother(t *testing.T) {
	plan, err := Paper().Plan("paper", "go")
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Units) != 30 || plan.Units[0].Name != "run-00-qvirl-eig" || plan.Units[2].Name != "run-00-qvirl-random" ||
		plan.Units[3].Name != "run-01-qvirl-eig" {
		t.Errorf("%+v", plan.Units)
	}
}

func TestBadConfigs(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"Expert":          func(c *Config) { c.Expert = "" },
		"Train = 0":       func(c *Config) { c.Train = 0 },
		"0 runs":          func(c *Config) { c.Runs = nil },
		"Runs[1] is 0":    func(c *Config) { c.Runs = []uint64{0, 0} },
		"At = [1 2]":      func(c *Config) { c.At = []int{1, 2} },
		"At = [0 101]":    func(c *Config) { c.At = []int{0, 101} },
		"At[2] is 1":      func(c *Config) { c.At = []int{0, 1, 1} },
		"Segments.Length": func(c *Config) { c.Length = 3 },
		"Folds = 5":       func(c *Config) { c.Training.Folds = 5 },
		"Episodes = 0":    func(c *Config) { c.Episodes = 0 },
		`"qvirl-magic"`:   func(c *Config) { c.Methods = []string{"qvirl-magic"} },
		"Draws = 1":       func(c *Config) { c.Segments = active.Segments{Length: c.Length, Draws: 1, Replicates: 2} },
		"Level = 1":       func(c *Config) { c.Level = 1 },
		"Steps = 0":       func(c *Config) { c.MoreSteps = 0 },
		"PriorStd":        func(c *Config) { c.Objective.PriorStd = 0 },
	} {
		c := Paper()
		spoil(&c)
		if _, err := c.Plan("paper", "go"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Definition().Plan(experiment.Settings{Scale: "quick", Override: []byte(`{"Query": 3}`)}); err == nil ||
		!strings.Contains(err.Error(), "Query") {
		t.Errorf("unknown field: error %v", err)
	}
	c := Paper()
	c.Expert = "no/such/expert.npz"
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), c.Expert) {
		t.Errorf("error %v for a missing file", err)
	}
}

func TestReportTakesDifferencesWithinRuns(t *testing.T) {
	var rows []experiment.Row
	for run, base := range []float64{0, 100, 230} { // runs differ by much, methods within them by little
		for _, k := range []int{0, 10} {
			add := func(method string, value float64) {
				rows = append(rows, experiment.Row{Experiment: Name, Environment: "LunarLander-v3", Method: method,
					Demos: k, Seed: uint64(run), Metric: Return, Value: value})
			}
			add(Random, base+float64(k))
			if run < 2 || k == 0 {
				add(EIG, base+float64(k)+float64(k)*float64(1+run))
			}
		}
	}
	if d := Difference(rows, EIG, Return, 10); d == nil || d.N != 2 || !scalar.EqualWithinAbs(d.Mean, 15, 1e-12) ||
		!scalar.EqualWithinAbs(d.StdErr, math.Sqrt(50)/math.Sqrt(2), 1e-12) { // of 10 and 20
		t.Errorf("difference %+v, want 15 ± 5 of 2 runs", d)
	}
	if d := Difference(rows, VaR, Return, 10); d != nil {
		t.Errorf("difference %+v of a method without rows", d)
	}
	r, err := Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	curves := r.Charts[0].Panels[0].Curves
	if len(curves) != 2 || curves[0].Name != EIG || !slices.Equal(curves[1].X, []float64{0, 10}) ||
		!scalar.EqualWithinAbs(curves[1].Y[1], 120, 1e-12) {
		t.Errorf("curves %+v", curves)
	}
	if r.Tables[1].Name != "return_difference" || len(r.Tables[1].Rows) != 1 ||
		r.Tables[1].Rows[0].Cells[1].Estimate.Mean != 15 || !strings.Contains(r.Text[0], "3 runs") {
		t.Errorf("tables %+v, text %q", r.Tables, r.Text)
	}
	if _, err := Report(nil, nil); err == nil {
		t.Error("no error without rows")
	}
}
