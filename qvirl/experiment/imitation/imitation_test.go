package imitation

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/neural/cloning"
)

// writeDemos stores 30 trajectories of two features, a position and a leg that touches the ground in every second step;
// the position's sign is the action.
func writeDemos(t *testing.T) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	set := demo.Set{Description: demo.Description{Environment: "Signs-v0", ObservationShape: []int{2}, Actions: 2}}
	for e := range 30 {
		d := demo.Trajectory{Terminated: true, Seed: int64(e)}
		for i := range 11 {
			d.Observations = append(d.Observations, float32(random.NormFloat64()), float32(i%2))
		}
		for i := range 10 {
			a := 0
			if d.Observations[2*i] > 0 {
				a = 1
			}
			d.Actions = append(d.Actions, a)
		}
		set.Trajectories = append(set.Trajectories, d)
	}
	path := filepath.Join(t.TempDir(), "demos.npz")
	if err := set.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func testConfig(t *testing.T) Config {
	c := QuickLunarLander()
	c.Environment, c.Demos, c.Train, c.Validation, c.Test, c.Subsets = "Signs-v0", writeDemos(t), 20, 4, 6, 5
	c.Runs, c.Sizes, c.Legs = []uint64{0, 3}, []int{1, 2}, []int{1}
	c.Learners = []Learner{{Name: cloning.Name, Method: cloning.Name}}
	c.Training.Hidden, c.Training.Steps, c.Training.ReportEvery, c.Training.LearningRate, c.Training.Backend = []int{8,
		8}, 100, 50, 0.02, "go"
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCommittedConfigsAreValid(t *testing.T) {
	for _, d := range Definitions() {
		for _, scale := range d.Scales {
			p, err := d.Plan(experiment.Settings{Scale: scale})
			if err != nil {
				t.Fatal(err)
			}
			c := p.Config.(Config)
			want := 0
			if c.Constant != nil {
				want++
			}
			for _, l := range c.Learners {
				sizes := len(c.Sizes)
				if l.Sizes != nil {
					sizes = len(l.Sizes)
				}
				if l.runs() {
					sizes *= len(c.Runs)
				}
				want += sizes
			}
			if len(p.Units) != want {
				t.Errorf("%s %s: %d units for %d sizes and %d learners, want %d", d.Name, scale, len(p.Units),
					len(c.Sizes),
					len(c.Learners), want)
			}
			text, err := json.Marshal(p.Config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Plan(experiment.Settings{Scale: scale, Override: text}); err != nil {
				t.Errorf("%s %s: its own config does not override it: %v", d.Name, scale, err)
			}
		}
	}
}

func TestUnitsDependOnTheirPartOfTheConfig(t *testing.T) {
	parts := func(change func(*Config)) (plain, exploring string) {
		c := PaperHighway()
		change(&c)
		keys := experimenttest.Keys(t, c)
		plain, exploring = keys["qvirl-03"], keys[QVIRLAux+"-03"]
		if plain == "" || exploring == "" {
			t.Fatalf("there is no such unit in %v", keys)
		}
		return plain, exploring
	}
	plain, exploring := parts(func(*Config) {})
	for name, c := range map[string]struct {
		change                   func(*Config)
		samePlain, sameExploring bool
	}{
		"fewer sizes":          {func(c *Config) { c.Sizes = []int{3, 10} }, true, true},
		"another learner gone": {func(c *Config) { c.Learners = slices.Delete(c.Learners, 1, 3) }, true, true},
		"another constant":     {func(c *Config) { c.Constant = nil }, true, true},
		"other exploration":    {func(c *Config) { c.Explore.Every = 7 }, true, false},
		"other training":       {func(c *Config) { c.Training.Steps = 7 }, false, false},
		"training said elsewhere": {func(c *Config) {
			c.Training.WeightDecay = 5
			c.Learners[0].Config = nil
		}, true, true},
		"fewer runs":             {func(c *Config) { c.Runs = c.Runs[:3] }, false, false},
		"the learner's settings": {func(c *Config) { c.Learners[0].Config = json.RawMessage(`{}`) }, false, true},
	} {
		p, e := parts(c.change)
		if (p == plain) != c.samePlain || (e == exploring) != c.sameExploring {
			t.Errorf("%s: the parts of qvirl and qvirl-aux are the same: %v, %v, want %v, %v", name, p == plain,
				e == exploring, c.samePlain, c.sameExploring)
		}
	}
}

func TestTheWorstTwentieth(t *testing.T) {
	var episodes []demo.Trajectory
	for k := range 30 {
		episodes = append(episodes, demo.Trajectory{Actions: []int{0}, Rewards: []float64{float64((7*k)%30 + 1)},
			Terminated: k < 6})
	}
	got := outcomeOf(episodes)
	// a twentieth of the returns 1, …, 30 are one and a half: (1 + ½·2)/1.5
	if !scalar.EqualWithinAbs(got.mean, 15.5, 1e-9) || !scalar.EqualWithinAbs(got.worst, 4.0/3, 1e-9) ||
		!scalar.EqualWithinAbs(got.terminated, 0.2, 1e-9) {
		t.Errorf("mean, worst and terminated are %+v, want 15.5, 1.333 and 0.2", got)
	}
}

func TestPlannedApprenticesShareWhatTheyArePlannedOn(t *testing.T) {
	c := PaperLunarLander()
	n := len(c.Learners)
	averse, neutral, visits := c.Learners[n-3], c.Learners[n-2], c.Learners[n-1]
	key := func(l Learner, run uint64) string { return work{l, 3, []uint64{run}}.group() }
	if neutral.Plan.Risk != 0 || !(averse.Plan.Risk > 0) || key(neutral, 2) == "" ||
		key(neutral, 2) != key(averse, 2) || key(neutral, 2) == key(neutral, 3) {
		t.Errorf("risks %g and %g, models %q and %q", neutral.Plan.Risk, averse.Plan.Risk, key(neutral, 2),
			key(averse, 2))
	}
	if !visits.Plan.Visits || neutral.Plan.Visits || averse.Plan.Visits || key(visits, 2) != key(neutral, 2) {
		t.Errorf("visits %t, %t and %t", visits.Plan.Visits, neutral.Plan.Visits, averse.Plan.Visits)
	}
	sizes := map[string]int{}
	for _, u := range c.units() {
		sizes[u.learner.Name]++
	}
	if sizes[neutral.Name] != len(neutral.Sizes)*len(c.Runs) || sizes["bc"] != len(c.Sizes) {
		t.Errorf("there are %v units by learner", sizes)
	}
	unit := neutral.Name + "-01-run-2"
	a := experimenttest.Keys(t, c)[unit]
	c.Learners[n-2].Sizes = []int{1}
	if b := experimenttest.Keys(t, c)[unit]; a != b || a == "" {
		t.Error("other sizes change what a unit depends on")
	}
	c.Learners[n-2].Plan.Length = 7
	if b := experimenttest.Keys(t, c)[unit]; a == b {
		t.Error("another plan changes nothing of what a unit depends on")
	}
}

func TestRunsLearnFromDisjointNestedSubsets(t *testing.T) {
	c := testConfig(t)
	d, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	seeds := func(trajectories []demo.Trajectory) (out []int64) {
		for i := range trajectories {
			out = append(out, trajectories[i].Seed)
		}
		return out
	}
	all := append(seeds(d.Validation), seeds(d.Test)...)
	for _, s := range d.Subsets {
		all = append(all, seeds(s)...)
	}
	slices.Sort(all)
	for i := range all {
		if all[i] != int64(i) {
			t.Fatalf("the parts hold %v, want each of 0 to 29 once", all)
		}
	}
	one, err := c.Task(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.Task(d, 2)
	if err != nil {
		t.Fatal(err)
	}
	for r, k := range c.Runs {
		few, more := seeds(one.Runs[r].Demos), seeds(two.Runs[r].Demos)
		if len(few) != 1 || len(more) != 2 || few[0] != more[0] || !slices.Contains(seeds(d.Subsets[k]), more[1]) ||
			one.Runs[r].Seed != k {
			t.Errorf("run %d learns from %v, then from %v; its subset is %v", k, few, more, seeds(d.Subsets[k]))
		}
	}
}

func TestThinnedTrajectoriesKeepTheirTransitions(t *testing.T) {
	long := demo.Trajectory{Observations: []float32{0, 10, 1, 11, 2, 12, 3, 13, 4, 14}, Actions: []int{5, 6, 7, 8},
		Terminated: true, Seed: 9}
	short := demo.Trajectory{Observations: []float32{20, 30, 21, 31}, Actions: []int{9}, Terminated: true}
	got := thin([]demo.Trajectory{long, short}, 3)
	want := []demo.Trajectory{
		{Observations: []float32{0, 10, 1, 11}, Actions: []int{5}, Seed: demo.NoSeed},
		{Observations: []float32{3, 13, 4, 14}, Actions: []int{8}, Terminated: true, Seed: demo.NoSeed},
		{Observations: []float32{20, 30, 21, 31}, Actions: []int{9}, Terminated: true, Seed: demo.NoSeed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("one transition in three (-want +got):\n%s", diff)
	}
}

func TestRowsHoldWhatModelsScore(t *testing.T) {
	c := testConfig(t)
	d, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	task, err := c.Task(d, 2)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Method(c.Learners[0], "go")
	if err != nil {
		t.Fatal(err)
	}
	models, err := m.Fit(context.Background(), task, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.rows("bc", 2, d, models, []outcome{{12, 10, 1}, {34, 21, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rows {
		if r.Environment != "Signs-v0" || r.Method != "bc" || r.Demos != 2 {
			t.Errorf("row %+v", r)
		}
		if r.Seed == 3 {
			got[r.Metric] = r.Value
		}
	}
	air, n := 0.0, 0.0
	all, own, count := 0.0, 0.0, 0.0
	for _, x := range d.Test {
		p, err := models[1].Predict(x.Observations)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range x.Actions {
			logProb := float64(p.LogProbs[2*i+a])
			all, own, count = all+logProb, own+float64(p.Own[2*i+a]), count+1
			if x.Observation(i)[1] == 0 {
				air, n = air+logProb, n+1
			}
		}
	}
	for metric, want := range map[string]float64{Return: 34, ReturnWorst: 21, Terminated: 0.5, HeldOut: all / count,
		HeldOutUncalibrated: own / count,
		HeldOutAirborne:     air / n} {
		if !scalar.EqualWithinAbs(got[metric], want, 1e-9) || want == 0 {
			t.Errorf("%s is %g, want %g", metric, got[metric], want)
		}
	}
	if len(got) != 9 || !(got[ECE] > 0) || !(got[ECEUncalibrated] > 0) || !(got[TrainSeconds] > 0) ||
		got[HeldOut] == got[HeldOutUncalibrated] {
		t.Errorf("run 3 has %v, want nine metrics", got)
	}
}

func TestNothingIsTrainedForAnEnvironmentThatIsNotThere(t *testing.T) {
	t.Setenv("BIRL_PYTHON", "no-such-python")
	p, err := experiment.NewPlan(LunarLander, "quick", "go", testConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Units[0].Run(context.Background(), experiment.NewStages(func(done, total int, status string) {
		t.Errorf("progress before the environment was opened: %d of %d, %s", done, total, status)
	}))
	if err == nil || !strings.Contains(err.Error(), "no-such-python") {
		t.Errorf("error %v, want one that names the missing Python", err)
	}
}

func TestConfigsOutOfRangeAreRefused(t *testing.T) {
	experimenttest.Refuses(t, func() Config { return testConfig(t) }, map[string]func(*Config){
		"Demos":           func(c *Config) { c.Demos = "" },
		"Subsets":         func(c *Config) { c.Subsets = 0 },
		"Runs[1]":         func(c *Config) { c.Runs[1] = 5 },
		"Sizes[0]":        func(c *Config) { c.Sizes[0] = 5 },
		"Episodes":        func(c *Config) { c.Episodes = 0 },
		"dqn":             func(c *Config) { c.Learners[0].Method = "dqn" },
		"is to explore":   func(c *Config) { c.Learners[0].Explore = true },
		"Every = -1":      func(c *Config) { c.Learners[0].Every = -1 },
		"two learners":    func(c *Config) { c.Learners = append(c.Learners, c.Learners[0]) },
		`no field "Beta"`: func(c *Config) { c.Learners[0].Config = json.RawMessage(`{"Beta": 1}`) },
		"LearningRate":    func(c *Config) { c.Training.LearningRate = 0 },
		"0 sizes":         func(c *Config) { c.Sizes = nil },
		"EvaluationSeed":  func(c *Config) { c.EvaluationSeed = -1 },
		"Test = 0":        func(c *Config) { c.Test = 0 },
		"0 learners":      func(c *Config) { c.Learners = nil },
	})
	c := testConfig(t)
	c.Environment = "Other-v0"
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "Signs-v0") {
		t.Errorf("error %v for demonstrations in another environment", err)
	}
	c.Demos = "no/such/file.npz"
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "no/such/file.npz") {
		t.Errorf("error %v for a missing file", err)
	}
}

func TestReportsKeepWhatIsNotCalibratedApart(t *testing.T) {
	row := func(method, metric string, value float64) experiment.Row {
		return experiment.Row{Experiment: Highway, Environment: "highway-fast-v0", Method: method, Demos: 1,
			Metric: metric, Value: value}
	}
	rows := []experiment.Row{
		row("bc", HeldOut, -1.5), row("bc", HeldOutUncalibrated, -40), row("bc", ECE, 0.1), row("bc", ECEUncalibrated,
			0.3),
		row("iqlearn-ensemble", HeldOut, -30), row("iqlearn-ensemble", ECE, 0.2), row("bc", TrainSeconds, 3),
	}
	r, err := Report(Highway, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			got[table.Name+" "+row.Method] = row.Cells[0].Estimate.Mean
		}
	}
	want := map[string]float64{HeldOut + " bc": -1.5, HeldOutUncalibrated + " bc": -40, HeldOutUncalibrated +
		" iqlearn-ensemble": -30,
		ECE + " bc": 0.1, ECEUncalibrated + " bc": 0.3, ECEUncalibrated + " iqlearn-ensemble": 0.2, TrainSeconds +
			" bc": 3}
	if !maps.Equal(got, want) {
		t.Errorf("the tables hold %v, want %v", got, want)
	}
	// The return is missing, so that only the figure of calibration can be drawn, and that of calibrated methods.
	if len(r.Charts) != 1 || r.Charts[0].Name != "calibrated" || len(r.Charts[0].Panels[0].Curves) != 1 {
		t.Errorf("the figures are %+v, want that of behaviour cloning after calibration", r.Charts)
	}
	if rows[4].Metric != HeldOut {
		t.Error("the rows themselves were changed")
	}
}

func TestReportAveragesRuns(t *testing.T) {
	var rows []experiment.Row
	for _, n := range []int{1, 3} {
		for k := range uint64(3) {
			for method, base := range map[string]float64{"bc": 100, "iqlearn": 150} {
				rows = append(rows,
					experiment.Row{Environment: "LunarLander-v3", Method: method, Demos: n, Seed: k, Metric: Return,
						Value: base + float64(n) + float64(k)},
					experiment.Row{Environment: "LunarLander-v3", Method: method, Demos: n, Seed: k, Metric: HeldOut,
						Value: -base / 100})
			}
		}
	}
	r, err := Report(LunarLander, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tables) != 3 || len(r.Charts) != 1 || len(r.Charts[0].Panels) != 2 {
		t.Fatalf("%d tables, %d charts, want 3 tables and a chart of 2 panels", len(r.Tables), len(r.Charts))
	}
	cell := r.Tables[0].Rows[1].Cells[1]
	if r.Tables[0].Rows[1].Method != "iqlearn" || cell.Estimate.Mean != 154 ||
		!scalar.EqualWithinAbs(cell.Estimate.StdErr, 1/math.Sqrt(3), 1e-12) || len(cell.References) != 0 {
		t.Errorf("the return of %s at 3 is %+v, want 154 ± 0.577", r.Tables[0].Rows[1].Method,
			cell)
	}
	if s := r.Tables[1].Rows[1].Cells[1].Estimate; s.Mean != 1 || s.StdErr != 0.5 { // of 153, 154, 155
		t.Errorf("the spread of iqlearn's return at 3 is %+v, want 1 ± 0.5", s)
	}
	if y := r.Charts[0].Panels[1].Curves[1].Y; !r.Charts[0].Panels[1].LogY || !slices.Equal(y, []float64{-1.5, -1.5}) {
		t.Errorf("IQ-Learn's log-likelihoods are %v, want −1.5", y)
	}
	curve := r.Charts[0].Panels[0].Curves[0]
	if curve.Name != "bc" || !slices.Equal(curve.X, []float64{1, 3}) || !slices.Equal(curve.Y, []float64{102, 104}) ||
		len(curve.StdErr) != 2 {
		t.Errorf("the first curve is %+v", curve)
	}
	for i := range rows {
		rows[i].Environment = "CartPole-v1"
	}
	if r, err = Report(RivalsCartPole, rows, nil); err != nil {
		t.Fatal(err)
	}
	if got := r.Tables[0]; got.References[0] != "published" || got.Rows[0].Cells[1].References[0].Mean != 300 ||
		got.Rows[1].Cells[1].References[0].Mean != 484.5 {
		t.Errorf("beside behaviour cloning at 3 stands %+v, beside IQ-Learn %+v, want the published 300 and 484.5",
			got.Rows[0].Cells[1].References[0], got.Rows[1].Cells[1].References[0])
	}
	rows = append(rows, experiment.Row{Method: "qvirl", Demos: 1, Metric: Return, Value: 1},
		experiment.Row{Method: "qvirl", Demos: 1, Metric: HeldOut, Value: -1},
		experiment.Row{Method: "qvirl-tuned", Demos: 1, Metric: Return, Value: 2},
		experiment.Row{Method: "qvirl-tuned", Demos: 1, Metric: HeldOut, Value: -2})
	varied, err := Report(LunarLander, rows, nil)
	if err != nil || len(varied.Charts) != 2 || len(varied.Charts[0].Panels[0].Curves) != 3 ||
		len(varied.Charts[1].Panels[0].Curves) != 2 {
		t.Errorf("figures %+v, error %v: want the three of the paper, and QVIRL beside its variant", varied, err)
	}
	if len(r.Tables[2].References) != 0 {
		t.Errorf("the log-likelihoods have the references %v, want none", r.Tables[2].References)
	}
	if _, err := Report(LunarLander, nil, nil); err == nil {
		t.Error("no error without rows")
	}
}
