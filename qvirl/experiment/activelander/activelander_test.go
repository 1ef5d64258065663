package activelander

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/active"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

func TestPaperConfigIsThePapers(t *testing.T) {
	c := Paper()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if len(c.Runs) != 30 || c.Candidates != 100 || c.Length != 10 || c.Beta != 3 || c.Discount != 0.99 ||
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
	plan, err := experiment.NewPlan(Name, "paper", "go", Paper())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Units) != 90 || plan.Units[0].Name != "run-00-qvirl-eig" ||
		plan.Units[2].Name != "run-00-qvirl-random" || plan.Units[3].Name != "run-01-qvirl-eig" {
		t.Errorf("%+v", plan.Units)
	}
	// the expert answers the queries: rows of another one are other rows
	if c := Paper(); !slices.Equal(plan.Units[0].Data, []string{c.Demos, c.Expert}) {
		t.Errorf("the rows depend on the files %q, want demonstrations and expert", plan.Units[0].Data)
	}
}

// TestRunsOfASubsetBeginWithOtherTrajectories: what a run begins with is no other run's, nor among its own candidates.
func TestRunsOfASubsetBeginWithOtherTrajectories(t *testing.T) {
	c := Paper()
	c.Subsets, c.Train = 2, 8
	d := &Data{}
	for k := range c.Subsets {
		subset := make([]demo.Trajectory, c.Train/c.Subsets)
		for i := range subset {
			subset[i].Seed = int64(10*k + i)
		}
		d.Subsets = append(d.Subsets, subset)
	}
	begun := map[int64]bool{}
	for run := range uint64(6) {
		first, others, err := c.deal(d, run)
		if err != nil || begun[first.Seed] || first.Seed/10 != int64(run%2) || len(others) != 3-int(run/2) {
			t.Errorf("run %d begins with %d, beside %d others; error %v", run, first.Seed, len(others), err)
		}
		begun[first.Seed] = true
		for _, other := range others {
			if begun[other.Seed] || other.Seed/10 != first.Seed/10 {
				t.Errorf("run %d, which begins with %d, has candidates of %d", run, first.Seed, other.Seed)
			}
		}
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, Paper, map[string]func(*Config){
		"Expert":          func(c *Config) { c.Expert = "" },
		"Train = 0":       func(c *Config) { c.Train = 0 },
		"0 runs":          func(c *Config) { c.Runs = nil },
		"Runs[1] = 0":     func(c *Config) { c.Runs = []uint64{0, 0} },
		"Runs[0] = 790":   func(c *Config) { c.Runs = []uint64{790} },
		"At = [1 2]":      func(c *Config) { c.At = []int{1, 2} },
		"At = [0 101]":    func(c *Config) { c.At = []int{0, 101} },
		"At[2] = 1":       func(c *Config) { c.At = []int{0, 1, 1} },
		"Segments.Length": func(c *Config) { c.Length = 3 },
		"Folds = 5":       func(c *Config) { c.Training.Folds = 5 },
		"Episodes = 0":    func(c *Config) { c.Episodes = 0 },
		"qvirl-magic":     func(c *Config) { c.Methods = []string{"qvirl-magic"} },
		"Draws = 1":       func(c *Config) { c.Segments = active.Segments{Length: c.Length, Draws: 1, Replicates: 2} },
		"Level = 1":       func(c *Config) { c.Level = 1 },
		"Steps = 0":       func(c *Config) { c.MoreSteps = 0 },
		"prior_std = 0":   func(c *Config) { c.Objective.PriorStd = 0 },
	})
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
	// of a run that was interrupted after the first unit
	only := experiment.Where(rows, func(r experiment.Row) bool { return r.Method == Random && r.Seed == 1 })
	if r, err = Report(only, nil); err != nil || len(r.Tables) != 1 || r.Tables[0].Name != Return ||
		len(r.Charts[0].Panels) != 1 {
		t.Errorf("of random queries alone: %+v, error %v", r, err)
	}
}

// TestLeadsAreDifferencesOfValues compares leads with what the values of each state say, for a demonstrator whose
// probabilities are known.
func TestLeadsAreDifferencesOfValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	trajectory := func() demo.Trajectory {
		d := demo.Trajectory{}
		for range 25 {
			d.Actions = append(d.Actions, rng.IntN(4))
			row := make([]float64, 4)
			for a := range row {
				row[a] = 2 * rng.NormFloat64()
			}
			floats.AddConst(-floats.LogSumExp(row), row)
			for _, l := range row {
				d.LogProbs = append(d.LogProbs, float32(l))
			}
		}
		for range 8 * 26 {
			d.Observations = append(d.Observations, float32(rng.NormFloat64()))
		}
		return d
	}
	c := Paper()
	c.Training.Hidden, c.Training.Batch, c.Training.Steps = []int{8}, 8, 5
	first, _, err := c.Learners("go")
	if err != nil {
		t.Fatal(err)
	}
	d := &Data{Test: []demo.Trajectory{trajectory(), trajectory()}}
	models, err := first.Fit(t.Context(), &neural.Task{Observation: 8, Actions: 4, Discount: 0.9, Beta: c.Beta,
		Runs: []neural.Run{{Demos: []demo.Trajectory{trajectory()}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := models[0].(*neural.Fitted)
	got, err := c.Leads(d, m, 25) // every other state
	if err != nil || len(got.Mean) != 25 {
		t.Fatalf("%+v, error %v", got, err)
	}
	posterior, err := variational.NewPosterior(m)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 25 {
		of, i := &d.Test[2*k/25], 2*k%25
		values, err := posterior.Values(of.Observation(i))
		if err != nil {
			t.Fatal(err)
		}
		row := slices.Clone(of.LogProbs[4*i : 4*i+4])
		sorted := slices.Sorted(slices.Values(row))
		best, second := slices.Index(row, sorted[3]), slices.Index(row, sorted[2])
		mean, std := values.Difference(best, second)
		truth := float64(sorted[3]-sorted[2]) / 3
		// Networks compute in single precision, and sums of a batch in another order than those of a state alone.
		if !scalar.EqualWithinAbsOrRel(got.Mean[k], mean, 1e-5, 1e-5) ||
			!scalar.EqualWithinAbsOrRel(got.Std[k], std, 1e-5, 1e-5) ||
			got.Truth[k] != truth || !(std > 0) || got.Errors()[k] !=
			math.Abs(min(max(got.Mean[k], -2), 2)-min(truth, 2)) {
			t.Errorf("state %d: %g ± %g for %g, want %g ± %g for %g", k, got.Mean[k], got.Std[k], got.Truth[k], mean,
				std, truth)
		}
	}
	monotone := Leads{Truth: []float64{0, 0, 0}, Mean: []float64{-1, 9, 2}, Std: []float64{1, 3, 2}, Certain: 8}
	if e := monotone.Errors(); !slices.Equal(e, []float64{1, 8, 2}) {
		t.Errorf("errors %v, want 1, 8 and 2", e)
	}
	if r := monotone.RankCorrelation(); !scalar.EqualWithinAbs(r, 1, 1e-12) {
		t.Errorf("rank correlation %g of numbers in the same order", r)
	}
	// Four leads are certain, without an error: their order among each other is nobody's.
	tied := Leads{Truth: []float64{9, 9, 9, 9, 0, 0}, Mean: []float64{5, 6, 7, 8, 1, 2},
		Std: []float64{1, 2, 3, 4, 5, 6}, Certain: 2}
	up := tied.RankCorrelation()
	slices.Reverse(tied.Std[:4])
	if down := tied.RankCorrelation(); !scalar.EqualWithinAbs(up, down, 1e-12) || !(up > 0.5 && up < 1) {
		t.Errorf("rank correlations %g and %g of the same errors", up, down)
	}
	if _, err := c.Leads(d, m, 51); err == nil {
		t.Error("no error for more states than there are")
	}
	d.Test[1].LogProbs = nil
	if _, err := c.Leads(d, m, 5); err == nil || !strings.Contains(err.Error(), "trajectory 1") {
		t.Errorf("error %v without the demonstrator's probabilities", err)
	}
}
