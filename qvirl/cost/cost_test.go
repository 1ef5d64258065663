package cost

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bench")
	want := Cost{States: 16, Method: "qvirl", Seconds: 1.5, Processor: 2.25, PeakMiB: 40, Evaluations: 7,
		Converged: true, Compile: 0.26}
	peer := Cost{States: 25, Method: "numpyro", RHat: 1.003, ESS: 824, Version: "a 1, b 2"}
	if err := Write(dir, []Cost{want, peer}, map[string]string{"go": "1.26"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	got, others := strings.Join(rows[1], " "), strings.Join(rows[2], " ")
	if got != "16 qvirl 1.50 2.25 40 7 true   0.3 " || others != "25 numpyro 0.00 0.00 0 0  1.003 824 0.0 a 1, b 2" {
		t.Errorf("rows %v", rows)
	}
	again, err := Read(dir)
	if want.Compile = 0.3; err != nil || len(again) != 2 || again[0] != want || again[1] != peer {
		t.Errorf("read %+v, %v; want %+v", again, err, want)
	}
	for column, want := range map[string]float64{"processor_seconds": 2.25, "peak_mib": 40} {
		if v, err := again[0].Number(column); err != nil || v != want {
			t.Errorf("%s: %g, %v; want %g", column, v, err, want)
		}
	}
	if _, err := again[0].Number("second"); err == nil || !strings.Contains(err.Error(), `"seconds"`) {
		t.Errorf("a column that there is not: %v", err)
	}
	broken := []byte(strings.Join(rows[0], ",") + "\n16,qvirl,quick,2.25,40,7,true,,,0.3,\n")
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), broken, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("seconds that are no number: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "machine.json"))
	if err != nil || !strings.Contains(string(text), `"go"`) {
		t.Errorf("machine.json: %s, %v", text, err)
	}
}

// Costs that grow as a power of the size are found to, and named where that is steep; rows of other sizes and methods
// stay in the folder.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	var costs []Cost
	for _, n := range []int{64, 256, 1024} {
		s := float64(n)
		costs = append(costs, Cost{States: n, Method: "qvirl", Processor: 1e-3 * s * s, PeakMiB: 3 * s},
			Cost{States: n, Method: "qvirl-low-rank", Processor: 1e-2 * s, PeakMiB: 100})
	}
	if err := Write(dir, costs, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	again := Join(kept, Cost{States: 256, Method: "qvirl", Processor: 65.536, PeakMiB: 768, Evaluations: 9})
	if len(again) != 6 || again[1].Evaluations != 9 || again[2].States != 1024 || again[3].Method != "qvirl-low-rank" {
		t.Errorf("joined: %+v", again)
	}
	r := Growth(again)
	text := strings.Join(r.Text, "\n")
	if text != "The processor time of qvirl grows as S^2.00 from 64 to 1024 states, and as S^2.00 between the two "+
		"largest: faster than S^1.5 both times." {
		t.Errorf("text %q", text)
	}
	curves := r.Charts[0].Panels[1].Curves
	if len(curves) != 2 || curves[0].Name != "qvirl" || curves[1].Name != "qvirl-low-rank" {
		t.Errorf("curves %+v", curves)
	}
	for want, seconds := range map[string][]float64{"as S^3.00 between the two largest: faster than S^1.5 there": {1, 1,
		64}, "as S^1.00 between the two largest: faster than S^1.5 overall": {1, 256, 1024}} {
		var costs []Cost
		for i, s := range seconds {
			costs = append(costs, Cost{States: 64 << (2 * i), Method: "qvirl", Processor: s})
		}
		if text := strings.Join(Growth(costs).Text, "\n"); !strings.Contains(text, want) {
			t.Errorf("of %g seconds: %q, want %q", seconds, text, want)
		}
	}
	if got := r.Tables[0].Rows[1].Cells[0].Estimate.Mean; got < 0.999 || got > 1.001 {
		t.Errorf("power %g, want 1", got)
	}
}
