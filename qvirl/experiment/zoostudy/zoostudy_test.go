package zoostudy

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"github.com/go-birl/birl/qvirl/experiment"
)

// tiny is the experiment on two small problems.
func tiny() Config {
	c := Quick()
	c.Problems, c.Methods = []string{"corridor", "beta-corridor"}, []string{ValueWalk, Paper}
	return c
}

func TestWholeExperimentOnTinyProblems(t *testing.T) {
	rows, _, record := experimenttest.Run(t, Name, tiny())
	value := func(problem, method, metric string) float64 {
		i := slices.IndexFunc(rows, func(r experiment.Row) bool {
			return r.Environment == problem && r.Method == method && r.Metric == metric
		})
		if i < 0 {
			return math.NaN()
		}
		return rows[i].Value
	}
	for _, problem := range tiny().Problems {
		if value(problem, ValueWalk, Right) != 1 || value(problem, ValueWalk, Claims) != 1 ||
			!(value(problem, ValueWalk, MeanError) < 0.2) {
			t.Errorf("ValueWalk is wrong on %s: %v", problem, rows)
		}
	}
	if value("beta-corridor", Paper, Failed) != 1 || !math.IsNaN(value("beta-corridor", Paper, MeanError)) ||
		value("corridor", Paper, Failed) != 0 {
		t.Errorf("the paper's method infers β, or fails on the corridor")
	}
	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Verdicts[0].Families); n != 2 {
		t.Errorf("%d families in the figure, want 2", n)
	}
	counts := report.Tables[0]
	i := slices.IndexFunc(counts.Rows, func(r exhibit.Row) bool { return r.Method == ValueWalk })
	if got := counts.Rows[i].Cells[0].Estimate.Mean; got != 2 {
		t.Errorf("ValueWalk is right %g times, want 2", got)
	}
}

// judged returns the rows and notes of a made-up method on the corridor.
func judged(t *testing.T, fit Fitter) (map[string]float64, string) {
	t.Helper()
	c := tiny()
	cases, err := c.cases()
	if err != nil {
		t.Fatal(err)
	}
	result, err := judge(t.Context(), &cases[0], "made-up", fit, experiment.NewStages(nil))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]float64{}
	for _, r := range result.Rows {
		rows[r.Metric] = r.Value
	}
	return rows, strings.Join(result.Notes, "\n")
}

func TestJudgements(t *testing.T) {
	exact := func() *summary.Summary {
		cases, err := tiny().cases()
		if err != nil {
			t.Fatal(err)
		}
		s := cases[0].Exact.Summary
		s.Error = nil
		s.RewardMean = slices.Clone(s.RewardMean)
		return &s
	}
	for name, test := range map[string]struct {
		fit  Fitter
		want map[string]float64
		note string
	}{
		"right": {func(context.Context, *irl.Problem, irl.Progress) (*summary.Summary, bool, string, error) {
			return exact(), true, "", nil
		}, map[string]float64{Right: 1, Claims: 1, Failed: 0, MeanError: 0, PolicyTV: 0}, ""},
		"wrong and trusted": {func(context.Context, *irl.Problem, irl.Progress) (*summary.Summary, bool, string,
			error) {
			s := exact()
			s.RewardMean[0] = math.Inf(1)
			return s, true, "", nil
		}, map[string]float64{Right: 0, Claims: 1, Failed: 0, MeanError: math.Inf(1), StdError: 0}, "does not say so"},
		"doubted": {func(context.Context, *irl.Problem, irl.Progress) (*summary.Summary, bool, string, error) {
			return exact(), false, "a bad night", nil
		}, map[string]float64{Right: 1, Claims: 0, Failed: 0}, "a bad night"},
		"failed": {func(context.Context, *irl.Problem, irl.Progress) (*summary.Summary, bool, string, error) {
			return nil, false, "", errors.New("NaN")
		}, map[string]float64{Right: 0, Claims: 0, Failed: 1}, "failed: NaN"},
	} {
		rows, note := judged(t, test.fit)
		for metric, want := range test.want {
			if got, ok := rows[metric]; !ok || got != want {
				t.Errorf("%s: %s = %g, want %g", name, metric, got, want)
			}
		}
		if !strings.Contains(note, test.note) || (test.note == "") != (note == "") {
			t.Errorf("%s: note %q, want one with %q", name, note, test.note)
		}
	}
}

func TestUnitsDependOnTheirMethodAlone(t *testing.T) {
	a, b := tiny(), tiny()
	b.Paper.Seed++
	before, after := experimenttest.Keys(t, a), experimenttest.Keys(t, b)
	if v := "corridor--valuewalk"; before[v] == "" || before[v] != after[v] {
		t.Error("a unit depends on the config of another method")
	}
	if v := "corridor--qvirl"; before[v] == after[v] {
		t.Error("a unit does not depend on its own method")
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"unknown problem": func(c *Config) { c.Problems[0] = "okapi" },
		"unknown method":  func(c *Config) { c.Methods[0] = "guess" },
		"problem twice":   func(c *Config) { c.Problems[0] = c.Problems[1] },
		"no methods":      func(c *Config) { c.Methods = nil },
		"no draws":        func(c *Config) { c.Draws = 0 },
	} {
		c := tiny()
		if change(&c); c.Validate() == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
