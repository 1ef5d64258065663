package refinement

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// tiny is the experiment on two 3×3 worlds, and one for the diagnoses, with short computations.
func tiny() Config {
	c := Quick()
	p := &c.Posteriors
	p.World.Width, p.World.Height = 3, 3
	p.Seeds, p.Draws, p.Chunk = experiment.Seeds(3000, 2), 400, 1
	p.ValueWalk.Samples, p.QVIRL.Steps, p.QVIRL.Rounds = 2000, 300, 1
	p.Match.Samples, p.Refine.Samples = 1500, 2000
	c.Families = []string{Paper, Start, Values, Rewards, Matched, Refined, ExactValues, ExactRewards, ExactWarped}
	c.Transitions, c.Walkers, c.Judged = []int{0, 8}, 1000, experiment.Seeds(3002, 1)
	return c
}

func TestWholeExperimentOnTinyWorlds(t *testing.T) {
	rows, _, record := experimenttest.Run(t, Name, tiny())
	compared, judged := split(rows)
	mean := func(method, name string) float64 {
		e := experiment.Average(compared, method, name)
		if e == nil || e.N != 2 {
			t.Fatalf("%s of %s: %+v, want an average over 2 worlds", name, method, e)
		}
		return e.Mean
	}
	// the start is far off, and matching it to a walk brings it closer, as refinement does
	if start, best, refined := mean(Start, metric.W1), mean(Matched, metric.W1),
		mean(Refined, metric.W1); !(best < start) || !(refined < start) {
		t.Errorf("W1 of the start %.3f, of the matched posterior %.3f, refined %.3f", start, best, refined)
	}
	if none, some := mean(turned(Paper, 0), metric.W1), mean(turned(Paper, 8), metric.W1); !(some < none) {
		t.Errorf("W1 is %.3f without a transition, %.3f after 8", none, some)
	}
	// a family that is matched to the exact samples themselves is closest; Monte Carlo error is none then
	for _, name := range []string{ExactValues, ExactRewards, ExactWarped} {
		if d := mean(name, metric.W1); !(d > 0.001 && d < 0.5) {
			t.Errorf("W1 of %s is %.3f", name, d)
		}
	}
	if len(judged) == 0 {
		t.Fatal("no diagnoses")
	}
	for _, suspect := range tiny().Suspects {
		for _, name := range []string{Verdict, Right, Error, RefinedError, metric.PolicyTV, RefinedTV} {
			if len(experiment.Series(judged, suspect, name)) != 1 {
				t.Errorf("no %s of %s", name, suspect)
			}
		}
	}
	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, table := range report.Tables {
		text.WriteString(table.Title)
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				t.Errorf("table %s, row %s: %d cells in %d columns", table.Name, row.Method, len(row.Cells),
					len(table.Columns))
			}
		}
	}
	if len(report.Tables) != 2 || len(report.Charts) != 1 || len(report.Charts[0].Panels) != 3 ||
		!strings.Contains(text.String(), "Diagnoses") {
		t.Errorf("%d tables (%s), charts %+v", len(report.Tables), text.String(), report.Charts)
	}
	if s := secondsOf(rows, record, Matched); s == nil || !(s.Mean > 0) || secondsOf(rows, record, "nobody") != nil {
		t.Errorf("seconds of the matched posterior %+v", s)
	}
}

// TestTablesTakeTheirOwnWorlds: of rows as they are stored, the comparison counts those of worlds without a diagnosis,
// and the verdicts the others.
func TestTablesTakeTheirOwnWorlds(t *testing.T) {
	var rows []experiment.Row
	add := func(seed uint64, method, name string, v float64) {
		rows = append(rows, experiment.Row{Seed: seed, Method: method, Metric: name, Value: v})
	}
	for _, method := range []string{Paper, turned(Paper, 0), turned(Paper, 1)} {
		for seed, tv := range []float64{0.1, 0.3} {
			add(uint64(seed), method, metric.W1, 2*tv)
			add(uint64(seed), method, metric.PolicyTV, tv)
		}
		add(7, method, metric.PolicyTV, 0.9)
	}
	add(7, Paper, Verdict, float64(improve))
	add(7, Paper, Right, 1)
	table, err := Families(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.4, 0.2} {
		if e := table.Rows[0].Cells[i].Estimate; e.N != 2 || math.Abs(e.Mean-want) > 1e-12 {
			t.Errorf("%s %+v, want %g over 2 worlds", table.Columns[i].Name, e, want)
		}
	}
	if y := Transitions(rows, nil).Panels[1].Curves[0].Y; math.Abs(y[0]-0.2) > 1e-12 {
		t.Errorf("TV over transitions %v, want 0.2 first", y)
	}
	if row := Verdicts(rows).Rows[0]; row.Cells[2*improve].Estimate.Mean != 1 {
		t.Errorf("verdicts %+v, want one to refine", row)
	}
}

// TestDiagnosesAreJudged checks all cases of the rule.
func TestDiagnosesAreJudged(t *testing.T) {
	for _, c := range []struct {
		of                 diagnosis
		good, after, right bool
	}{
		{trust, true, true, true}, {trust, false, true, false}, {improve, false, true, true},
		{improve, true, true, false}, {improve, false, false, false}, {doNotUse, false, false, true},
		{doNotUse, false, true, false},
	} {
		if right := c.of.right(c.good, c.after); right != c.right {
			t.Errorf("%+v: right %t", c, right)
		}
	}
}

// TestDiagnose: a rule on what a refinement says of itself.
func TestDiagnose(t *testing.T) {
	clean := valuewalk.RefineDiagnostics{Drift: 0.05, Noise: 0.03, Settling: 0.04, PolicyDrift: 0.02}
	for name, c := range map[string]struct {
		change func(*valuewalk.RefineDiagnostics)
		want   diagnosis
	}{
		"near":         {func(d *valuewalk.RefineDiagnostics) {}, trust},
		"rewards move": {func(d *valuewalk.RefineDiagnostics) { d.Drift = 0.2 }, improve},
		"the policy":   {func(d *valuewalk.RefineDiagnostics) { d.PolicyDrift = 0.2 }, improve},
		"mostly noise": {func(d *valuewalk.RefineDiagnostics) { d.Drift, d.Noise = 0.12, 0.1 }, trust},
	} {
		d := clean
		c.change(&d)
		if got := diagnose(true, d); got != c.want {
			t.Errorf("%s: %s, want %s", name, diagnoses[got], diagnoses[c.want])
		}
		if got := diagnose(false, d); got != doNotUse {
			t.Errorf("%s, not at rest: %s", name, diagnoses[got])
		}
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, Quick, map[string]func(*Config){
		"Walkers = 1":         func(c *Config) { c.Walkers = 1 },
		"Transitions[1] = 0":  func(c *Config) { c.Transitions = []int{0, 0} },
		"posterior \"magic\"": func(c *Config) { c.Families = []string{"magic"} },
		"stands twice":        func(c *Config) { c.Suspects = []string{Start, Start} },
		"0 seeds":             func(c *Config) { c.Posteriors.Seeds = nil },
	})
	for _, c := range []Config{Quick(), PaperScale()} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}
