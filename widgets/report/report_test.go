package report

import (
	"github.com/go-birl/birl/qvirl/exhibit"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() *exhibit.Report {
	published := &exhibit.Estimate{Mean: 0.486, StdErr: 0.011}
	return &exhibit.Report{
		Title: "A report", Text: []string{"A paragraph."},
		Tables: []exhibit.Table{{
			Name: "table1", Title: "Distances", Columns: []exhibit.Column{{Metric: "w1", Name: "W1", Decimals: 3},
				{Metric: "log_density", Name: "log density", Decimals: 2}},
			References: []string{"paper"}, Notes: []string{"A note."},
			Rows: []exhibit.Row{
				{Method: "qvirl", Cells: []exhibit.Cell{{Estimate: &exhibit.Estimate{Mean: 0.25, StdErr: 0.5, N: 3},
					References: []*exhibit.Estimate{published}}, {References: []*exhibit.Estimate{nil}}}},
				{Method: "avril", Cells: []exhibit.Cell{{References: []*exhibit.Estimate{nil}},
					{Estimate: &exhibit.Estimate{Mean: math.Inf(-1), StdErr: math.NaN(), N: 1},
						References: []*exhibit.Estimate{nil}}}},
			},
		}},
		Charts: []exhibit.Chart{{Name: "curve", Title: "A curve", Panels: []exhibit.Panel{{XLabel: "λ", YLabel: "W1",
			Curves: []exhibit.Curve{{Name: "avril", X: []float64{0, 1, 2}, Y: []float64{3, 4, 5},
				StdErr: []float64{1, 1, 1}}},
			Levels: []exhibit.Level{{Name: "nominal", Y: 4}}, Marks: []exhibit.Mark{{Note: "best", X: 1}}}}}},
		Ranks: []exhibit.RankChart{{Name: "ranks", Title: "Some ranks", Bins: 5, Panels: []exhibit.RankPanel{
			{Method: "qvirl", Ranks: []int{0, 1, 2, 9}, Max: 9}, {Method: "avril", Ranks: []int{9, 9, 0, 0}, Max: 9}}}},
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	files, err := Write(sample(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files, " "); got != "table1.csv ranks.svg curve.svg report.md" {
		t.Errorf("files %s", got)
	}
	for file, parts := range map[string][]string{
		"report.md": {"# A report", "A paragraph.", "Distances", "0.250 ± 0.500", "0.486 ± 0.011", "A note.",
			"The log density of AVRIL is −∞", "](curve.svg)"},
		"table1.csv": {"qvirl", "0.25", "0.486"},
		"ranks.svg":  {"<svg", "Some ranks", "QVIRL", "AVRIL"},
		"curve.svg":  {"<svg", "A curve", "best", "nominal", "AVRIL"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %q:\n%.2000s", file, part, text)
			}
		}
	}
	text, err := Text(sample())
	if err != nil || !strings.Contains(text, "0.250 ± 0.500") {
		t.Errorf("text %q, error %v", text, err)
	}
}

func TestWriteSaysWhatCannotBeDrawn(t *testing.T) {
	r := sample()
	r.Charts[0].Panels[0].Curves[0].Y[1] = math.Inf(1)
	if _, err := Write(r, t.TempDir()); err == nil || !strings.Contains(err.Error(), "figure curve") {
		t.Errorf("error %v, want one that names the figure", err)
	}
	r = sample()
	r.Tables[0].Rows[0].Cells = r.Tables[0].Rows[0].Cells[:1]
	if _, err := Write(r, t.TempDir()); err == nil || !strings.Contains(err.Error(), "table table1") {
		t.Errorf("error %v, want one that names the table", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o644)
	if _, err := Write(sample(), file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v, want one that names the folder", err)
	}
}

// Metrics say which values are the better ones where the table does not.
func TestTableHasTheDirectionsOfItsMetrics(t *testing.T) {
	in := sample().Tables[0]
	in.Columns = append(in.Columns, exhibit.Column{Metric: "w1", Name: "more", Better: exhibit.Higher})
	out := Table(in)
	for i, want := range []exhibit.Direction{exhibit.Lower, exhibit.Higher, exhibit.Higher} {
		if got := out.Columns[i].Better; got != want {
			t.Errorf("column %s: better %v, want %v", out.Columns[i].Name, got, want)
		}
	}
	if in.Columns[0].Better != 0 {
		t.Error("the caller's table is changed")
	}
}

func TestDots(t *testing.T) {
	d := Dots(sample().Tables[0])
	if len(d.Methods) != 2 || len(d.Panels) != 2 || d.Panels[0].Estimates[0].Mean != 0.25 ||
		d.Panels[0].Published[0].Mean != 0.486 {
		t.Errorf("dots %+v", d)
	}
	if d.Panels[1].Estimates[1] != nil || d.Panels[0].Published[1] != nil {
		t.Error("an infinite or absent number is drawn")
	}
	if _, err := d.Figure(); err != nil {
		t.Error(err)
	}
}
