package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/command/commandtest"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
)

type fakeConfig struct{ Worlds, Offset int }

// cancel, if set, is called by the fake experiment in its third world.
var cancel context.CancelFunc

// fake is an experiment of two methods, one world a unit, whose rows are known numbers.
var fake = experiment.Define("fake", "Known numbers", func() fakeConfig { return fakeConfig{Worlds: 4} },
	func() fakeConfig { return fakeConfig{Worlds: 9} }, fakeReport)

func (c fakeConfig) Validate() error { return check.AtLeast(1, "Worlds", c.Worlds) }

func (c fakeConfig) Units(string) ([]experiment.Unit, error) {
	var out []experiment.Unit
	for i := range c.Worlds {
		seed := uint64(i)
		out = append(out, experiment.Unit{Name: fmt.Sprintf("world-%d", i), On: []int{i, c.Offset},
			Owns: func(r experiment.Row) bool { return r.Seed == seed },
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				if i == 2 && cancel != nil {
					cancel()
				}
				row := func(method string, v float64) experiment.Row {
					return experiment.Row{Environment: "world", Method: method, Demos: 5, Seed: seed, Metric: "w1",
						Value: v + float64(c.Offset)}
				}
				r := &experiment.Result{Rows: []experiment.Row{row("qvirl", float64(i)), row("avril", 2)}}
				if i == 1 {
					r.Notes = []string{"look here"}
				}
				return r, t.Run("qvirl", "half", func(progress irl.Progress) error {
					progress.Report(1, 2, "")
					return ctx.Err()
				})
			}})
	}
	return out, nil
}

func fakeReport(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	t, err := experiment.Tabulate(rows, []string{"qvirl", "avril"},
		exhibit.Table{Name: "distance", Title: "Distances",
			Columns: []exhibit.Column{{Metric: "w1", Name: "W1", Decimals: 3}}},
		exhibit.Reference{Name: "paper",
			Values: map[string]map[string]exhibit.Estimate{"qvirl": {"w1": {Mean: 0.486, StdErr: 0.011}}}})
	if err != nil {
		return nil, err
	}
	chart := exhibit.Chart{Name: "curve", Title: "A curve", Panels: []exhibit.Panel{{XLabel: "x", YLabel: "y",
		Curves: []exhibit.Curve{{Name: "qvirl", X: []float64{1, 2}, Y: []float64{3, 4}}}}}}
	return &exhibit.Report{Title: "Fake", Tables: []exhibit.Table{*t}, Charts: []exhibit.Chart{chart}}, nil
}

// run runs a command line in the present folder.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if cancel != nil {
		cancel = stop
	}
	return commandtest.Run(ctx, newRoot([]experiment.Definition{fake}), args...)
}

func inScratch(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOMLX_BACKEND", "go")
}

func expect(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestRunThenReport(t *testing.T) {
	inScratch(t)
	status, out, errs := run(t, "run", "fake")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "output", out, "8 rows of fake (quick scale) in .birl/runs/fake-quick/rows.csv",
		"qvirl report fake --from .birl/runs/fake-quick")
	expect(t, "progress", errs, "4/4 units", "note: world-1: look here")
	status, out, errs = run(t, "report", "fake", "--from", ".birl/runs/fake-quick", "--out", "made/here")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "table", out, "QVIRL", "1.500", "0.486")
	page, err := os.ReadFile("made/here/report.md")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "report.md", string(page), "# Fake", "1.500", "curve.svg", "Drawn from 8 rows", "Go Portable")
	for _, name := range []string{"distance.csv", "curve.svg"} {
		if info, err := os.Stat(filepath.Join("made/here", name)); err != nil || info.Size() < 50 {
			t.Errorf("%s: %v", name, err)
		}
	}
	status, out, errs = run(t, "list")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "list", out, "Known numbers", "4 units; in .birl/runs/fake-quick 8 rows, 4 of 4 units, ",
		"9 units; in results/fake nothing yet")
}

// TestListIsShort: of many commits it names the latest, and all as JSON.
func TestListIsShort(t *testing.T) {
	inScratch(t)
	r := experiment.Record{Scale: "paper", Rows: 7, Complete: true, Machines: []experiment.Machine{
		{Commit: "00000000000000"}, {Commit: "11111111111111", Dirty: true}, {Commit: "22222222222222"}}}
	for i, day := range []int{1, 3, 2} {
		r.Units = append(r.Units, experiment.UnitSummary{Machine: i,
			Finished: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)})
	}
	r.Finished = r.Units[1].Finished
	if err := errors.Join(os.MkdirAll("results/fake", 0o755),
		atomicfile.WriteJSON("results/fake/run.json", r)); err != nil {
		t.Fatal(err)
	}
	_, out, _ := run(t, "list")
	expect(t, "list", out, "9 units; in results/fake 7 rows, 3 of 3 units of an earlier plan, 2026-11-03, 3 "+
		"commits, the latest 111111111111 with changes\n")
	_, out, _ = run(t, "list", "--json")
	expect(t, "list --json", out, "commit 000000000000 (1 of 3 units)", "commit 222222222222 (1 of 3 units)")
}

func TestReportsTakeMethodsOfOtherRuns(t *testing.T) {
	inScratch(t)
	if status, _, errs := run(t, "run", "fake", "--out", "a"); status != 0 {
		t.Fatal(errs)
	}
	rows, err := experiment.ReadRowsFile("a/rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	var later strings.Builder
	rows = slices.DeleteFunc(rows, func(r experiment.Row) bool { return r.Method != "avril" })
	for i := range rows {
		rows[i].Value = 7
	}
	if err := experiment.WriteRows(&later, rows); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("b", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"b/rows.csv": later.String(),
		"b/run.json": fmt.Sprintf(`{"experiment": "fake", "machines": [{}], "rows_sha256": "%x"}`,
			sha256.Sum256([]byte(later.String())))} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	status, out, errs := run(t, "report", "fake", "--from", "a", "--with", "b")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "table", out, "1.500", "7.000")
	page, err := os.ReadFile("a/report/report.md")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "report.md", string(page), "The rows of avril are those in b.")
	if strings.Contains(out, "2.000") {
		t.Errorf("the report still has the first run's rows:\n%s", out)
	}
	if status, _, errs := run(t, "report", "fake", "--from", "a", "--with", "nowhere"); status != 1 ||
		!strings.Contains(errs, "--with") {
		t.Errorf("status %d, %q for a folder without rows", status, errs)
	}
}

// TestReportRefusesOtherRows: a report is drawn from the rows of the run, and of no others.
func TestReportRefusesOtherRows(t *testing.T) {
	inScratch(t)
	if status, _, errs := run(t, "run", "fake", "--out", "a"); status != 0 {
		t.Fatal(errs)
	}
	rows, err := os.ReadFile("a/rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(rows), "\n")
	for name, text := range map[string]string{
		"edited":  strings.Replace(string(rows), ",w1,2,", ",w1,1,", 1),
		"missing": strings.Join(append(lines[:1:1], lines[2:]...), ""),
		"twice":   string(rows) + lines[1],
	} {
		if text == string(rows) {
			t.Fatalf("%s: the rows are the same", name)
		}
		if err := os.WriteFile("a/rows.csv", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		status, _, errs := run(t, "report", "fake", "--from", "a", "--out", "made")
		if _, err := os.Stat("made"); status != 1 || err == nil || !strings.Contains(errs, "checksum") ||
			!strings.Contains(errs, "a/rows.csv") {
			t.Errorf("%s: status %d, %q", name, status, errs)
		}
	}
}

func TestReportSaysWhatIsMissing(t *testing.T) {
	inScratch(t)
	if status, _, errs := run(t, "run", "fake", "--shard", "1/2", "--out", "a"); status != 0 {
		t.Fatal(errs)
	}
	status, _, errs := run(t, "report", "fake", "--from", "a")
	if status != 0 {
		t.Fatal(errs)
	}
	page, err := os.ReadFile("a/report/report.md")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "report.md", string(page), "Incomplete", "world-1, world-3")
	expect(t, "message", errs, "note: the run in a is incomplete: 2 of 4 units are missing")
}

func TestShardsMerge(t *testing.T) {
	inScratch(t)
	for _, args := range [][]string{{"--out", "whole"}, {"--shard", "2/2", "--out", "b"}, {"--shard", "1/2", "--out",
		"a"}} {
		if status, _, errs := run(t, append([]string{"run", "fake", "--scale", "paper"}, args...)...); status != 0 {
			t.Fatal(errs)
		}
	}
	status, out, errs := run(t, "merge", "b", "a", "--out", "merged")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "output", out, "18 rows of fake (paper scale)")
	want, _ := os.ReadFile("whole/rows.csv")
	if got, err := os.ReadFile("merged/rows.csv"); err != nil || !bytes.Equal(got, want) || len(want) == 0 {
		t.Errorf("merged rows differ from those of one run (error %v)", err)
	}
}

// TestShardWithoutUnits: more tasks than units is no error, and the others' rows are complete without it.
func TestShardWithoutUnits(t *testing.T) {
	inScratch(t)
	status, out, errs := run(t, "run", "fake", "--shard", "5/5", "--out", "a")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "output", out, "nothing to compute", "has 4 units", "shard 5/5")
	status, out, errs = run(t, "run", "fake", "--shard", "5/5", "--out", "a", "--json")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "events", out, `"event":"finished"`, `"missing_units":["world-0","world-1","world-2","world-3"]`)
	for i := 1; i <= 4; i++ {
		if status, _, errs := run(t, "run", "fake", "--shard", fmt.Sprintf("%d/5", i), "--out", "a"); status != 0 {
			t.Fatal(errs)
		}
	}
	status, out, errs = run(t, "run", "fake", "--shard", "5/5", "--out", "a")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "output", out, "8 rows of fake")
}

func TestInterruptAndResume(t *testing.T) {
	inScratch(t)
	cancel = func() {}
	status, _, errs := run(t, "run", "fake", "--out", "x")
	cancel = nil
	if status != 130 {
		t.Errorf("status %d, want 130", status)
	}
	expect(t, "message", errs, "interrupted", "2 finished units are kept in x", "The same command goes on")
	if status, out, errs := run(t, "run", "fake", "--out", "x"); status != 0 ||
		!strings.Contains(out, "8 rows") {
		t.Errorf("going on: status %d, %s, %s", status, out, errs)
	}
}

func TestJSONEvents(t *testing.T) {
	inScratch(t)
	status, out, errs := run(t, "run", "fake", "--json")
	if status != 0 {
		t.Fatal(errs)
	}
	var last progress.Event
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		last = progress.Event{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
	}
	if len(lines) != 4*4+1 || last.Kind != progress.Finished || last.Rows != 8 || last.Fraction != 1 {
		t.Errorf("%d lines, the last %+v", len(lines), last)
	}
	if _, out, _ = run(t, "list", "--json"); !json.Valid([]byte(out)) {
		t.Errorf("list --json wrote %s", out)
	}
}

func TestConfigFile(t *testing.T) {
	inScratch(t)
	os.WriteFile("c.json", []byte(`{"Worlds": 2, "Offset": 10}`), 0o644)
	if status, out, errs := run(t, "run", "fake", "--config", "c.json", "--out", "x"); status != 0 ||
		!strings.Contains(out, "4 rows") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	rows, err := experiment.ReadRowsFile("x/rows.csv")
	if err != nil || rows[0].Value != 12 {
		t.Errorf("rows %v, error %v", rows, err)
	}
	r, err := experiment.ReadRecord("x")
	if err != nil || !strings.Contains(string(r.Config), `"Offset": 10`) {
		t.Errorf("config in the record: %s, error %v", r.Config, err)
	}
}

func TestBadCommandLines(t *testing.T) {
	inScratch(t)
	os.WriteFile("bad.json", []byte(`{"Wrlds": 2}`), 0o644)
	os.WriteFile("few.json", []byte(`{"Worlds": 0}`), 0o644)
	os.WriteFile("file", nil, 0o644)
	for want, args := range map[string][]string{
		`no experiment "fke"; there is fake`: {"run", "fke"},
		`has no scale "huge"; it has quick`:  {"run", "fake", "--scale", "huge"},
		`shard "3/2"`:                        {"run", "fake", "--shard", "3/2"},
		"--parallel = -4, want at least 1":   {"run", "fake", "--parallel", "-4"},
		`--config bad.json: config: there is no field "Wrlds"; there is Worlds, Offset`: {"run", "fake", "--config",
			"bad.json"},
		"--config few.json: config: Worlds = 0": {"run", "fake", "--config", "few.json"},
		"absent.json":                           {"run", "fake", "--config", "absent.json"},
		"abacus":                                {"run", "fake", "--backend", "abacus"},
		"file/x":                                {"run", "fake", "--out", "file/x"},
		"nowhere/rows.csv: no such file or directory; run it first: \"qvirl run fake\"": {"report", "fake", "--from",
			"nowhere"},
		`required flag(s) "out"`:     {"merge", "a"},
		"a holds no units to merge":  {"merge", "a", "--out", "b"},
		"want: qvirl run EXPERIMENT": {"run"},
		`unknown command "rn"`:       {"rn"},
	} {
		status, _, errs := run(t, args...)
		if status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %q; want 1 and %q", args, status, errs, want)
		}
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"merge", "--help"},
		{"report", "--help"}, {"list", "--help"}} {
		status, out, _ := run(t, args...)
		if status != 0 || !strings.Contains(out, "Examples:") {
			t.Errorf("%v: status %d, %s", args, status, out)
		}
	}
	for _, c := range newRoot(definitions).Commands() {
		if strings.Contains(c.Long, "\n\t") { // somebody broke a line of the code
			t.Errorf("%s --help has broken lines:\n%s", c.Name(), c.Long)
		}
	}
	commandtest.HelpIsNarrow(t, func() *cobra.Command { return newRoot(definitions) })
	_, out, _ := run(t, "help", "scaling")
	expect(t, "help scaling", out, "--engine slurm", "--engine kubernetes", "qvirl merge")
}

func TestProcessorTimesOfPrograms(t *testing.T) {
	unit := func(method string, seconds float64) experiment.UnitSummary {
		return experiment.UnitSummary{Processor: map[string]float64{method: seconds}}
	}
	units := []experiment.UnitSummary{unit("qvirl", 5), unit("avril", 9), unit("qvirl", 3)}
	if got, err := firstMore(units); err != nil || got != 2 {
		t.Errorf("the first took %g s more, error %v, want 2", got, err)
	}
	if _, err := firstMore(units[:2]); err == nil {
		t.Error("no error without processor times")
	}
}

func TestDefinitionsArePlannable(t *testing.T) {
	for _, d := range definitions {
		for _, scale := range d.Scales {
			plan, err := d.Plan(experiment.Settings{Scale: scale})
			if err != nil || len(plan.Units) == 0 || plan.Experiment != d.Name || plan.Scale != scale {
				t.Errorf("%s, %s: plan %+v, error %v", d.Name, scale, plan, err)
			}
		}
	}
}

func TestRecordsHoldNoPaths(t *testing.T) {
	const described = "xla:/home/a.b/pjrt/plugin.so - PJRT plugin (/home/a.b/pjrt/plugin.so) v0.81 [4 device(s)], " +
		"3/4 used"
	if got := folders.ReplaceAllString(described,
		""); got != "xla:plugin.so - PJRT plugin (plugin.so) v0.81 [4 device(s)], 3/4 used" {
		t.Errorf("%q", got)
	}
}

// brokenPipe is a reader that went away.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestRunOutlivesItsListener(t *testing.T) {
	inScratch(t)
	if status := command.Execute(context.Background(), newRoot([]experiment.Definition{fake}),
		[]string{"run", "fake", "--json", "--out", "x"}, brokenPipe{}, brokenPipe{}); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
}
