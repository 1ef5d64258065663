package widgets

import (
	"encoding/csv"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

func TestDifference(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ a, b, want Estimate }{
		{Estimate{Mean: 1, StdErr: 0.3}, Estimate{Mean: 2, StdErr: 0.4}, Estimate{Mean: -2}}, // (1 − 2)/0.5
		{Estimate{Mean: 2, StdErr: 0.5}, Estimate{Mean: 1, StdErr: nan}, Estimate{Mean: 2}},
		{Estimate{Mean: 2, StdErr: 0.5}, Estimate{Mean: 1, StdErr: 0}, Estimate{Mean: 2}},
		{Estimate{Mean: 2, StdErr: nan}, Estimate{Mean: 1, StdErr: nan}, Estimate{Mean: nan}},
		{Estimate{Mean: 2, StdErr: 0}, Estimate{Mean: 1, StdErr: 0}, Estimate{Mean: nan}},
	} {
		got := Difference(c.a, c.b)
		if !scalar.Same(got, c.want.Mean) && !scalar.EqualWithinAbs(got, c.want.Mean, 1e-12) {
			t.Errorf("%v − %v is %g standard errors, want %g", c.a, c.b, got, c.want.Mean)
		}
	}
}

func TestTableText(t *testing.T) {
	text, err := exampleTable().Text()
	if err != nil {
		t.Fatal(err)
	}
	want := `Posterior quality on 100 random 8×8 gridworlds

method           W₁ ↓                  log density ↑          reward 90 % CI
──────────────────────────────────────────────────────────────────────────────────
ValueWalk        0.000 ± 0             −2.412 ± 0.012         0.881 ± 0.005
  paper                                −2.432 ± 0.016 (+1.0)  0.888 ± 0.004 (−1.1)
  other                                                       0.881         (0.0)
QVIRL            0.374 ± 0.013         −2.428 ± 0.015         0.909 ± 0.005
  paper          0.486 ± 0.011 (−6.6)  −2.437 ± 0.014 (+0.4)  0.901 ± 0.004 (+1.2)
AVRIL, λ = 0.17  1.480 ± 0.050              –                 0.515 ± 0.010
  paper          1.704 ± 0.060 (−2.9)

Mean ± standard error; in parentheses, our value minus the reference in standard errors of the difference.
↑ the more, ↓ the less the better.
W₁ is the distance to the exact ValueWalk posterior.
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestTableWithoutStandardErrors(t *testing.T) {
	table := Table{Columns: []Column{{Name: "n"}},
		Rows: []Row{{Method: "a b", Cells: []Cell{{Estimate: Value(3, math.NaN())}}}}}
	for name, write := range map[string]func() (string, error){"Text": table.Text, "Markdown": table.Markdown,
		"HTML": table.HTML} {
		if text, err := write(); err != nil || strings.Contains(text, "standard error") {
			t.Errorf("%s: %v; a note on standard errors is there:\n%s", name, err, text)
		}
	}
}

// A probability that would look like 0 is written as less than the last decimal.
func TestSmallNumbersAreNotZero(t *testing.T) {
	c := tableColumn{Decimals: 4}
	for value, want := range map[float64]string{0.00001: "<0.0001", 0: "0.0000", 0.00012: "0.0001"} {
		if got := c.entry(Value(value, math.NaN())).mean; got != want {
			t.Errorf("%g is written as %q, want %q", value, got, want)
		}
	}
}

// References of counts have no standard errors, and a note has minus signs as the cells do.
func TestTableOfCountsWithReferences(t *testing.T) {
	table := Table{References: []string{"paper"}, Columns: []Column{{Name: "cells"}}, Rows: []Row{{Method: "a b",
		Cells: []Cell{{Estimate: Value(9, math.NaN()), References: []*Estimate{Value(8, math.NaN())}}}}},
		Notes: []string{"Guesses have -1.67."}}
	if notes := table.notes(false); len(notes) != 1 || notes[0] != "Guesses have −1.67." {
		t.Errorf("notes %q", notes)
	}
}

// Queries of random states compete with others; random actions do not.
func TestWhatCanBeBest(t *testing.T) {
	table := Table{Columns: []Column{{Name: "return", Better: Higher}}}
	for i, name := range []string{"qvirl", "qvirl-random", "random"} {
		table.Rows = append(table.Rows, Row{Method: name, Cells: []Cell{{Estimate: Value(float64(i), 1)}}})
	}
	for i, want := range []bool{false, true, false} {
		if got := table.best(0, table.Rows[i]); got != want {
			t.Errorf("%s is best: %t", table.Rows[i].Method, got)
		}
	}
}

func TestTableMarkdown(t *testing.T) {
	table := exampleTable()
	table.Rows[0].Method = "a|b"
	text, err := table.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| method | W₁ ↓ | log density ↑ | reward 90 % CI |\n|:--|:--|:--|:--|\n",
		"| a\\|b | 0.000 ± 0 | **−2.412 ± 0.012** | 0.881 ± 0.005 |\n",
		"| QVIRL | **0.374 ± 0.013** | −2.428 ± 0.015 | 0.909 ± 0.005 |\n",
		"| *paper* | *0.486 ± 0.011 (−6.6)* | *−2.437 ± 0.014 (+0.4)* | *0.901 ± 0.004 (+1.2)* |\n",
		"W₁ is the distance",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestTableHTML(t *testing.T) {
	table := exampleTable()
	table.Title, table.Rows[0].Method = "a < b", `<script>`
	fragment, err := table.HTML()
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader("<div>" + fragment + "</div>"))
	cells := 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if e.Name.Local == "script" {
				t.Error("a name is not escaped")
			}
			if e.Name.Local == "td" || e.Name.Local == "th" {
				cells++
			}
		}
	}
	if want := 4 * (1 + 3 + 4); cells != want { // header, methods, reference lines
		t.Errorf("%d cells, want %d", cells, want)
	}
	if !strings.Contains(fragment, "<b>0.374 ± 0.013</b>") || !strings.Contains(fragment, "(−6.6)") {
		t.Error("numbers are missing")
	}
	if strings.Contains(fragment, "color:#") || strings.Contains(fragment, "background:#") {
		t.Error("fixed colours are not legible in every theme")
	}
}

func TestTableCSV(t *testing.T) {
	table := exampleTable()
	tenth := 0.1
	table.Rows[1].Cells[0].Estimate.Mean = tenth + 2*tenth // 0.30000000000000004: full precision
	data, err := table.CSV()
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 1+8+7 { // header, estimates, references
		t.Errorf("%d lines, want 16:\n%s", len(records), data)
	}
	want := map[string]string{
		"qvirl,W₁,ours": "0.30000000000000004,0.013,", "qvirl,W₁,paper": "0.486,0.011,",
		"valuewalk,reward 90 % CI,other": "0.881,,0",
	}
	for _, r := range records {
		key := strings.Join(r[:3], ",")
		if prefix, ok := want[key]; ok {
			if !strings.HasPrefix(strings.Join(r[3:], ","), prefix) {
				t.Errorf("%s: %v, want %s", key, r[3:], prefix)
			}
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("lines %v are missing", want)
	}
}

// Means end below one another and so do standard errors, too small a one says so, and what is best is bold in its own
// direction only.
func TestTableReading(t *testing.T) {
	table := Table{Title: "T", Columns: []Column{{Name: "time", Unit: "s", Decimals: 1, Better: Lower}}, Rows: []Row{
		{Method: "a b", Cells: []Cell{{Estimate: Value(-10.25, 0.01)}}},
		{Method: "c d", Cells: []Cell{{Estimate: Value(123.4, 12.3)}}},
		{Method: "e f", Cells: []Cell{{Estimate: Value(3, math.NaN())}}}}}
	text, err := table.Text()
	if err != nil {
		t.Fatal(err)
	}
	want := "T ↓\n\nmethod  time (s)\n────────────────────\na b     −10.2 ± <0.1\nc d     123.4 ± 12.3\n" +
		"e f       3.0\n\nMean ± standard error.\n↑ the more, ↓ the less the better.\n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	table.Rows[0].Cells[0].Estimate = Value(-8.19e8, math.NaN())
	if text, err := table.Text(); err != nil || !strings.Contains(text, "−8.19 × 10⁸") {
		t.Errorf("a large number is not written as a power of ten (%v):\n%s", err, text)
	}
	table.Rows[0].Cells[0].Estimate = Value(-10.25, 0.01)
	for direction, best := range map[Direction]string{Lower: "−10.2", Higher: "123.4"} {
		table.Columns[0].Better = direction
		if text, err := table.Markdown(); err != nil || !strings.Contains(text, "| **"+best) ||
			strings.Count(text, "**") != 4 {
			t.Errorf("%s is not the one in bold (%v):\n%s", best, err, text)
		}
	}
}
