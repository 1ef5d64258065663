package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/metric"
)

// Report is what rows say: tables and charts as plain data. Drawing them is left to others.
type Report struct {
	Title    string
	Text     []string // paragraphs before the tables
	Tables   []Table
	Charts   []Chart
	Ranks    []RankChart
	Verdicts []VerdictChart
}

// Estimate is a mean over seeds with its standard error.
type Estimate struct {
	Mean   float64
	StdErr float64 // NaN if it is not known
	N      int     // number of seeds; 0 if it is not known
}

// Table compares methods, a row each, by metrics, a column each.
type Table struct {
	Name       string // file name without its ending
	Title      string
	Columns    []Column
	References []string // where published values come from, for instance "paper"
	Rows       []TableRow
	Notes      []string
}

// Column is a metric of a table.
type Column struct {
	Metric   string // as in result rows
	Title    string
	Decimals int
}

// TableRow is a method of a table.
type TableRow struct {
	Method string // as in result rows
	Cells  []Cell // one for each column
}

// Cell is what is known about a metric of a method. Absent estimates are nil.
type Cell struct {
	Estimate   *Estimate
	References []*Estimate // one for each of the table's references
}

// Reference holds published values of metrics.
type Reference struct {
	Name   string
	Values map[string]map[string]Estimate // by method and metric
}

// Chart is a figure of curves, one or more panels.
type Chart struct {
	Name   string // file name without its ending
	Title  string
	Panels []Panel
}

// Panel is a set of curves with common axes.
type Panel struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool
	Curves                []Curve
	Levels                []Level // horizontal reference lines
	Marks                 []Mark  // vertical lines with a note
}

// Curve is a line through means, with their standard errors.
type Curve struct {
	Name   string // method as in result rows, or another name
	X, Y   []float64
	StdErr []float64 // nil if they are not known
}

// Level is a horizontal line.
type Level struct {
	Name string
	Y    float64
}

// Mark is a vertical line.
type Mark struct {
	Note string
	X    float64
}

// RankChart is a figure of rank histograms, side by side.
type RankChart struct {
	Name   string // file name without its ending
	Title  string
	Bins   int // bars of each
	Panels []RankPanel
}

// RankPanel is the histogram of a method's ranks, each in 0..Max.
type RankPanel struct {
	Method string // as in result rows
	Ranks  []int
	Max    int
}

// VerdictChart is a figure of the answers of methods to problems: how far off each is, and whether the method knows.
type VerdictChart struct {
	Name     string // file name without its ending
	Title    string
	Methods  []string // as in result rows
	Families []VerdictFamily
}

// VerdictFamily is a group of problems.
type VerdictFamily struct {
	Title    string
	Problems []string
	Verdicts [][]*Verdict // of each problem and method; nil where there is none
}

// Verdict is what is known about one answer.
type Verdict struct {
	Error  float64 // in posterior standard deviations; +Inf where it is not finite
	Right  bool    // within the tolerances
	Claims bool    // the method says that it is right
	Failed bool    // there is no answer
}

// Kind is one of the kinds of an answer.
type Kind int

// The kinds of an answer.
const (
	RightClaimed Kind = iota
	WrongDoubted
	WrongTrusted
	RightDoubted
	NoAnswer
)

// Kind returns the kind of the answer.
func (v *Verdict) Kind() Kind {
	switch {
	case v.Failed:
		return NoAnswer
	case v.Right && v.Claims:
		return RightClaimed
	case v.Right:
		return RightDoubted
	case v.Claims:
		return WrongTrusted
	}
	return WrongDoubted
}

// Series are the values of one metric of one method, by seed.
func Series(rows []Row, method, metric string) map[uint64]float64 {
	out := map[uint64]float64{}
	for _, r := range rows {
		if r.Method == method && r.Metric == metric {
			out[r.Seed] = r.Value
		}
	}
	return out
}

// Average returns the mean over seeds of a metric of a method, or nil if no row holds it.
func Average(rows []Row, method, metricName string) *Estimate {
	var values []float64
	for _, r := range rows { // in the order of the rows, so that equal rows give equal sums
		if r.Method == method && r.Metric == metricName {
			values = append(values, r.Value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	s := metric.Summarise(values)
	if s.N == 1 {
		s.StdErr = math.NaN()
	}
	return &Estimate{s.Mean, s.StdErr, s.N}
}

// Tabulate averages rows over seeds, and sets published values beside them. Methods without rows are left out.
func Tabulate(rows []Row, methods []string, columns []Column, references ...Reference) (*Table, error) {
	t := &Table{Columns: columns}
	for _, ref := range references {
		t.References = append(t.References, ref.Name)
	}
	for _, method := range methods {
		row := TableRow{Method: method}
		some := false
		for _, c := range columns {
			cell := Cell{Estimate: Average(rows, method, c.Metric)}
			for _, ref := range references {
				var known *Estimate
				if e, ok := ref.Values[method][c.Metric]; ok {
					known = &e
				}
				cell.References = append(cell.References, known)
			}
			some = some || cell.Estimate != nil
			row.Cells = append(row.Cells, cell)
		}
		if some {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("experiment: no row is of any of the methods %q", methods)
	}
	return t, nil
}

// Methods returns the methods of the rows, sorted.
func Methods(rows []Row) []string {
	seen := map[string]bool{}
	var out []string
	for _, r := range rows {
		if !seen[r.Method] {
			seen[r.Method] = true
			out = append(out, r.Method)
		}
	}
	slices.Sort(out)
	return out
}

// SecondsText lists in words how long each method took: the processor time if the record has it, else the time by the clock.
func (r *Record) SecondsText() string {
	text, seconds := "Seconds of processor time", r.Processor
	if len(seconds) == 0 {
		text, seconds = "Seconds by the clock", r.Seconds
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(seconds)) {
		parts = append(parts, fmt.Sprintf("%s %.1f", name, seconds[name]))
	}
	text += ", summed over units: " + strings.Join(parts, ", ") + "."
	for i := range r.Renewals {
		text += fmt.Sprintf(" Of the later run that the rows of %s are of: %s", strings.Join(r.Renewals[i].Methods, ", "), r.Renewals[i].Run.SecondsText())
	}
	return text
}
