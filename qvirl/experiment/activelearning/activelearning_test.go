package activelearning

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

// tiny is the experiment on three 3×3 worlds with short computations.
func tiny() Config {
	c := Quick()
	c.World.Width, c.World.Height = 3, 3
	c.Seeds, c.Chunk, c.Queries, c.ReferenceAt = []uint64{2000, 2001, 2002}, 2, 3, []int{3}
	c.Methods = []string{QVIRL, QVIRLSVI, "avril-0.17", ValueWalk}
	c.QVIRL.Steps, c.QVIRL.Rounds, c.QVIRL.LearningRate = 120, 1, 0.05
	c.QVIRLSVI.Steps, c.QVIRLSVI.Rounds, c.QVIRLSVI.LearningRate = 120, 1, 0.05
	c.AVRIL.Steps = 2000
	c.Samples, c.Trajectories = 200, 10
	return c
}

func TestWholeExperimentOnTinyWorlds(t *testing.T) {
	c := tiny()
	rows, _, record := experimenttest.Run(t, Name, c)
	if !record.Complete {
		t.Fatalf("units %v are missing", record.Missing)
	}
	count := map[string]int{}
	mean := map[string]float64{} // of 3 runs, by method, metric and queries
	key := func(method, name string, k int) string { return method + name + string(rune('0'+k)) }
	for _, r := range rows {
		if r.Experiment != Name || r.Environment != "gridworld-3x3" || r.Demos > 3 {
			t.Fatalf("row %+v", r)
		}
		count[r.Method+r.Metric]++
		mean[key(r.Method, r.Metric, r.Demos)] += r.Value / 3
	}
	for _, method := range c.Methods {
		for name, n := range map[string]int{ReturnTrue: 12, RewardEntropy: 12, W1: 3, PolicyTV: 3, Query: 9,
			QueryScore: 9} {
			if got := count[method+name]; got != n {
				t.Errorf("%d rows of %s for %s, want %d", got, name, method, n)
			}
		}
		if record.Seconds[method] <= 0 || record.Seconds[referenceKey] <= 0 {
			t.Errorf("seconds %v", record.Seconds)
		}
	}
	for _, method := range []string{QVIRL, QVIRLSVI, ValueWalk} {
		if gain := mean[key(method, RewardEntropy, 0)] - mean[key(method, RewardEntropy, 3)]; !(gain > 0.3) {
			t.Errorf("three demonstrations brought %s %g nats", method, gain)
		}
		if last := mean[key(method, ReturnTrue, 3)]; !(last > 50 && last <= 100+1e-9) {
			t.Errorf("return of %s after 3 queries: %g", method, last)
		}
	}
	// The floor is σ/√n·√(2/π)·√2 ≈ 0.2 for σ ≈ 3 and n ≈ 400 effective samples (at least 200); QVIRL is within one of
	// the prior's 3.
	vw := mean[key(ValueWalk, W1, 3)]
	for _, method := range []string{QVIRL, QVIRLSVI} {
		if q := mean[key(method, W1, 3)]; !(vw > 0.01 && vw < 0.4 && q > vw && q < 1.5) {
			t.Errorf("W1 of ValueWalk %g, of %s %g", vw, method, q)
		}
	}

	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	if panels := report.Charts[0].Panels; len(panels) != 2 || len(panels[0].Curves) != 4 ||
		len(panels[0].Curves[0].X) != 4 || len(panels[0].Curves[0].StdErr) != 4 {
		t.Errorf("chart %+v", panels)
	}
	if len(report.Tables) != 3 {
		t.Fatalf("%d tables, want 3", len(report.Tables))
	}
	if at := report.Tables[1]; len(at.Columns) != 1 || at.Columns[0].Name != "after 3" ||
		!scalar.EqualWithinAbs(at.Rows[0].Cells[0].Estimate.Mean, mean[key(QVIRL, W1, 3)], 1e-9) {
		t.Errorf("distances %+v", at)
	}
	row := report.Tables[0].Rows[0]
	if row.Method != "qvirl-eig" || !scalar.EqualWithinAbs(row.Cells[0].Estimate.Mean, mean[key(QVIRL, ReturnTrue, 0)],
		1e-9) || row.Cells[0].Estimate.N != 3 {
		t.Errorf("table row %+v", row)
	}
	if text := strings.Join(report.Text, " "); !strings.Contains(text, "of qvirl lies within") ||
		!strings.Contains(text, "of 3 queries") {
		t.Errorf("text %q", text)
	}
}

// TestShardsGiveTheSameRows checks that sharing out the units changes nothing, with a method that compiles nothing.
func TestShardsGiveTheSameRows(t *testing.T) {
	c := tiny()
	c.Methods = []string{"avril-0.02", "avril-0.17"}
	_, text, _ := experimenttest.Run(t, Name, c)
	if _, again, _ := experimenttest.Run(t, Name, c, experiment.Shard{Index: 2, Count: 2}, experiment.Shard{Index: 1,
		Count: 2}); again != text {
		t.Error("two shards gave other rows than one run")
	}
}

// TestCoursesAreAveraged compares three courses of ValueWalk with runs of their seeds, one course each.
func TestCoursesAreAveraged(t *testing.T) {
	c := tiny()
	c.Methods, c.Courses, c.Chunk = []string{ValueWalk}, map[string]int{ValueWalk: 3}, 3
	type key struct {
		metric string
		seed   uint64
		demos  int
	}
	values := func(c Config) (map[key]float64, []experiment.Row) {
		rows, _, _ := experimenttest.Run(t, Name, c)
		out := map[key]float64{}
		for _, r := range rows {
			out[key{r.Metric, r.Seed, r.Demos}] = r.Value
		}
		return out, rows
	}
	all, rows := values(c)
	c.Courses = nil
	var alone [3]map[key]float64
	for i := range alone {
		alone[i], _ = values(c.course(i))
	}
	if len(alone[0]) != 3*(4*2+1*2+3*2) || len(all) != len(alone[0])+3*4*3 {
		t.Fatalf("%d and %d rows", len(alone[0]), len(all))
	}
	differ := map[string]bool{} // metrics in which courses differ somewhere
	for k, first := range alone[0] {
		second, third := alone[1][k], alone[2][k]
		differ[k.metric] = differ[k.metric] || first != second || second != third
		want := first
		if k.metric == ReturnTrue || k.metric == RewardEntropy {
			want = (first + second + third) / 3
		}
		if !scalar.EqualWithinAbs(all[k], want, 1e-9) {
			t.Errorf("%+v: %g, want %g of %g, %g, %g", k, all[k], want, first, second, third)
		}
		if k.metric == ReturnTrue {
			for i := range alone {
				if got := all[key{courseMetric(i + 1), k.seed, k.demos}]; got != alone[i][k] {
					t.Errorf("%+v: course %d has %g, a run of its seeds %g", k, i+1, got, alone[i][k])
				}
			}
		}
	}
	if !differ[ReturnTrue] || !differ[RewardEntropy] || !differ[QueryScore] {
		t.Errorf("metrics in which the courses differ: %v", differ)
	}
	report, err := Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(report.Text, " "); !strings.Contains(text, "valuewalk are those of 3 courses") ||
		strings.Count(text, "of 3, ") != 2 {
		t.Errorf("text %q", text)
	}
}

// TestCoursesHaveSeedsOfTheirOwn checks every seed that a course draws from, and that the others stay.
func TestCoursesHaveSeedsOfTheirOwn(t *testing.T) {
	seeds := func(c Config) []uint64 {
		return []uint64{c.QVIRL.Seed, c.QVIRLSVI.Seed, c.QVIRLStart.Seed, c.Match.Seed, c.Refine.Seed, c.AVRIL.Seed,
			c.ValueWalk.Seed, c.QuerySeed}
	}
	c := Paper()
	for i, seed := range seeds(c.course(2)) {
		if seed == seeds(c)[i] || seed == seeds(c.course(1))[i] || seed == c.Reference.Seed {
			t.Errorf("seed %d of the third course is %d", i, seed)
		}
	}
	if got := c.course(2); got.Reference.Seed != c.Reference.Seed || !slices.Equal(got.Seeds, c.Seeds) ||
		!slices.Equal(seeds(c.course(0)), seeds(c)) {
		t.Error("the reference, the worlds or the first course have other seeds")
	}
}

// TestCourseIsARunOfTheExperiment compares a course with the rows of its seed.
func TestCourseIsARunOfTheExperiment(t *testing.T) {
	c := tiny()
	c.Methods = []string{ValueWalk}
	rows, _, _ := experimenttest.Run(t, Name, c)
	w, course, err := c.Course(context.Background(), ValueWalk, "", 2001, nil)
	if err != nil || len(course) != 4 {
		t.Fatalf("%d snapshots, error %v", len(course), err)
	}
	for _, r := range rows {
		if r.Seed != 2001 {
			continue
		}
		s := course[r.Demos]
		if r.Metric == ReturnTrue && s.Return != r.Value || r.Metric == Query && float64(s.Query) != r.Value ||
			r.Metric == QueryScore && s.Scores[s.Query].Value != r.Value {
			t.Errorf("row %+v, snapshot %+v", r, s)
		}
	}
	for k, s := range course {
		if s.Queries != k || len(s.Demos) != 1+k || len(s.Std) != 9 || !slices.Equal(s.Demos[0], w.Demos[0]) {
			t.Errorf("snapshot %d: %+v", k, s)
		}
		if k > 0 && !slices.Equal(s.Demos[k], course[k-1].Answer) {
			t.Errorf("snapshot %d: the last demonstration is not the answer", k)
		}
	}
	if _, _, err := c.Course(context.Background(), "magic", "", 1, nil); err == nil {
		t.Error("an unknown method was accepted")
	}
}

func TestGaussianEntropy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, dim, repeats = 120, 20, 200
	total := 0.0
	for range repeats {
		samples := mat.NewDense(n, dim, nil)
		for i := 0; i < n; i++ {
			row := samples.RawRowView(i)
			for j := range row {
				row[j] = 5 + 2*rng.NormFloat64()
				if j > 0 {
					row[j] += row[0]
				}
			}
		}
		entropy, err := GaussianEntropy(samples)
		if err != nil {
			t.Fatal(err)
		}
		total += entropy / repeats
	}
	// The sums have a unit Jacobian, so that the determinant is 4^dim. The log-determinant has the variance Σ
	// ψ'((n−1−i)/2) ≈ 2·dim/n, which leaves a standard error of 0.02; without the correction the mean would be off by
	// 0.9.
	if want := dim * 0.5 * math.Log(2*math.Pi*math.E*4); !scalar.EqualWithinAbs(total, want, 0.08) {
		t.Errorf("entropy %g, want %g", total, want)
	}
	if _, err := GaussianEntropy(mat.NewDense(20, 20, nil)); err == nil ||
		!strings.Contains(err.Error(), "more than 20 samples") {
		t.Errorf("error %v for too few samples", err)
	}
	if _, err := GaussianEntropy(mat.NewDense(30, 20, nil)); err == nil ||
		!strings.Contains(err.Error(), "positive definite") {
		t.Errorf("error %v for constant samples", err)
	}
}

func TestPaperConfigIsThePapers(t *testing.T) {
	c := Paper()
	if len(c.Seeds) != 16 || c.Seeds[15] != 15 || c.World.Width != 8 || c.Initial != 1 || c.Queries != 30 ||
		c.Length != 5 || c.Beta != 2 || c.Discount != 0.9 {
		t.Errorf("%+v", c)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for _, seed := range Quick().Seeds {
		if slices.Contains(c.Seeds, seed) {
			t.Errorf("seed %d is reported and tuned on", seed)
		}
	}
	names := map[string]string{QVIRL: "reward-eig", QVIRLActiveVaR: "active-var", QVIRLRandom: "random",
		"avril-0.17": "reward-eig", ValueWalk: "reward-eig",
		"valuewalk-random": "random", "avril-0.17-activevar": "active-var"}
	for method, want := range names {
		if l := c.Loop(method, nil); l.Acquisition.Name() != want || l.Queries != 30 {
			t.Errorf("%s: %+v", method, l)
		}
		if _, err := c.Fitter(method, "go"); err != nil {
			t.Error(err)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, tiny, map[string]func(*Config){
		"Queries = -1":    func(c *Config) { c.Queries = -1 },
		"Length = 0":      func(c *Config) { c.Length = 0 },
		"0 seeds":         func(c *Config) { c.Seeds = nil },
		"stands twice":    func(c *Config) { c.Seeds = []uint64{1, 1} },
		"no methods":      func(c *Config) { c.Methods = nil },
		"ReferenceAt":     func(c *Config) { c.ReferenceAt = []int{4} },
		"\"avril-x\"":     func(c *Config) { c.Methods = []string{"avril-x"} },
		"magic-random":    func(c *Config) { c.Methods = []string{"magic-random"} },
		"\"qvirl\"] = 0":  func(c *Config) { c.Courses = map[string]int{QVIRL: 0} },
		"Courses":         func(c *Config) { c.Courses = map[string]int{"valuwalk": 2} },
		"Samples = 1":     func(c *Config) { c.Samples = 1 },
		"TerminalProb":    func(c *Config) { c.World.TerminalProb = 2 },
		"β":               func(c *Config) { c.Beta = 0 },
		"valuewalk":       func(c *Config) { c.Reference.Samples = -1 },
		"tabular: Rounds": func(c *Config) { c.QVIRL.Rounds = 0 },
	})
}

func TestCancelledUnitReturnsContextError(t *testing.T) {
	c := tiny()
	c.Methods = []string{ValueWalk}
	plan, err := experiment.NewPlan(Name, "tiny", "go", c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stages := experiment.NewStages(func(int, int, string) { cancel() })
	if _, err = plan.Units[0].Run(ctx, stages); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestInsideBand(t *testing.T) {
	var rows []experiment.Row
	for k, means := range [][2]float64{{0, 0}, {10, 11}, {10, 12.5}, {10, 8.5}} {
		for seed, offset := range []float64{-math.Sqrt2, math.Sqrt2} { // standard error √2
			for m, method := range []string{ValueWalk, QVIRL} {
				rows = append(rows, experiment.Row{Method: method, Demos: k, Seed: uint64(seed), Metric: ReturnTrue,
					Value: means[m] + offset})
			}
		}
	}
	if inside, of := InsideBand(rows, QVIRL, ReturnTrue); inside != 1 || of != 3 {
		t.Errorf("%d of %d, want 1 of 3", inside, of)
	}
	for _, r := range slices.Clone(rows) { // a course that has ValueWalk's own returns
		if r.Method == ValueWalk {
			r.Method, r.Metric = QVIRL, courseMetric(1)
			rows = append(rows, r)
		}
	}
	if inside, of := InsideBand(rows, QVIRL, courseMetric(1)); inside != 3 || of != 3 {
		t.Errorf("the course: %d of %d, want 3 of 3", inside, of)
	}
	if got := courses(rows, QVIRL); len(got) != 1 || len(courses(rows, ValueWalk)) != 0 {
		t.Errorf("courses %q", got)
	}
	if _, of := InsideBand(rows, QVIRLRandom, ReturnTrue); of != 0 {
		t.Error("a method without rows was compared")
	}
}

// TestNoReturnIsNormalisedWhereAllPoliciesAreEqual: in a world of one state.
func TestNoReturnIsNormalisedWhereAllPoliciesAreEqual(t *testing.T) {
	c := tiny()
	c.World.Width, c.World.Height, c.World.TopFraction = 1, 1, 0
	if _, s, err := c.Course(t.Context(), "avril-0.17", "go", 2000, nil); err == nil ||
		!strings.Contains(err.Error(), "cannot be normalised") {
		t.Errorf("error %v of a course with %d snapshots", err, len(s))
	}
}
