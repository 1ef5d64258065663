package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/widgets/report"
)

// What a process of bench says of one problem, and what is refused before any is measured.
func TestBenchMeasuresOneProblem(t *testing.T) {
	for _, cell := range []string{"16 qvirl", "16 valuewalk"} {
		status, out, errs := run(t, "bench", "--cell", cell)
		if status != 0 {
			t.Fatal(errs)
		}
		var c cost
		if err := json.Unmarshal([]byte(out), &c); err != nil {
			t.Fatal(err)
		}
		if sampled := c.ESS > 0; sampled != (cell == "16 valuewalk") || c.Evaluations < 10 || !c.Converged {
			t.Errorf("%s: %+v", cell, c)
		}
	}
	for want, args := range map[string][]string{
		"square number": {"--sizes", "60"}, "no method": {"--methods", "qvirl,best"},
	} {
		status, _, errs := run(t, append([]string{"bench"}, args...)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: error %q, want one with %q", args, errs, want)
		}
	}
}

// A peer that is not there is left out with a sentence.
func TestBenchWithoutPeers(t *testing.T) {
	for want, args := range map[string][]string{
		"blackjax is left out: --python does not say": {},
		"blackjax is left out: nowhere/python":        {"--python", "nowhere/python"},
	} {
		status, out, errs := run(t, append([]string{"bench", "--sizes", "16", "--methods", "blackjax"}, args...)...)
		if status != 0 || !strings.Contains(errs, want) || strings.Contains(out, "blackjax") {
			t.Errorf("%v: %d, %q, errors %q, want %q", args, status, out, errs, want)
		}
	}
}

func TestBenchWritesRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bench")
	want := cost{States: 16, Method: "qvirl", Seconds: 1.5, Processor: 2.25, PeakMiB: 40, Evaluations: 7,
		Converged: true, Compile: 0.26, Version: "a 1, b 2"}
	if err := writeBench(dir, []cost{want}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	got := strings.Join(rows[1], " ")
	if got != "16 qvirl 1.50 2.25 40 7 true 0.000 0 0.3 a 1, b 2" || len(rows[0]) != len(rows[1]) {
		t.Errorf("rows %v", rows)
	}
	text, err := os.ReadFile(filepath.Join(dir, "machine.json"))
	if err != nil || !strings.Contains(string(text), `"go"`) {
		t.Errorf("machine.json: %s, %v", text, err)
	}
}

// Costs that grow as a power of the size are found to, and named where that is steep; rows of other sizes and methods
// stay in the folder.
func TestBenchTellsGrowth(t *testing.T) {
	dir := t.TempDir()
	var costs []cost
	for _, n := range []int{64, 256, 1024} {
		s := float64(n)
		costs = append(costs, cost{States: n, Method: "qvirl", Processor: 1e-3 * s * s, PeakMiB: 3 * s},
			cost{States: n, Method: lowRankName, Processor: 1e-2 * s, PeakMiB: 100})
	}
	if err := writeBench(dir, costs); err != nil {
		t.Fatal(err)
	}
	kept, err := readBench(dir)
	if err != nil {
		t.Fatal(err)
	}
	again := joinBench(kept, []cost{{States: 256, Method: "qvirl", Processor: 65.536, PeakMiB: 768, Evaluations: 9}})
	if len(again) != 6 || again[1].Evaluations != 9 || again[2].States != 1024 || again[3].Method != lowRankName {
		t.Errorf("joined: %+v", again)
	}
	r := growth(again)
	text := strings.Join(r.Text, "\n")
	if text != "The processor time of qvirl grows faster than S^1.5: as S^2.00 from 64 to 1024 states, and S^2.00 "+
		"between the two largest." {
		t.Errorf("text %q", text)
	}
	curves := r.Charts[0].Panels[1].Curves
	if len(curves) != 2 || curves[0].Name != "qvirl" || curves[1].Name != lowRankName {
		t.Errorf("curves %+v", curves)
	}
	if got := r.Tables[0].Rows[1].Cells[0].Estimate.Mean; got < 0.999 || got > 1.001 {
		t.Errorf("power %g, want 1", got)
	}
	if _, err := report.Write(r, dir); err != nil {
		t.Error(err)
	}
}
