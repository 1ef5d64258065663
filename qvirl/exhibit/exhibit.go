// Package exhibit is tables and figures as plain data: what experiments say and widgets draw.
package exhibit

import "math"

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

// Table compares methods, a row each, by metrics, a column each. Under each estimate stand the published ones.
type Table struct {
	Name       string // file name without its ending
	Title      string
	Of         string // what the rows are, above their names; empty for "method"
	Columns    []Column
	References []string // where published values come from, for instance "paper"
	Rows       []Row
	Notes      []string // sentences below the table
}

// AddRow adds a row of estimates, one for each column, without references. Absent ones are nil.
func (t *Table) AddRow(method string, estimates ...*Estimate) {
	row := Row{Method: method}
	for _, e := range estimates {
		row.Cells = append(row.Cells, Cell{Estimate: e})
	}
	t.Rows = append(t.Rows, row)
}

// Only returns the table with the rows of the given methods, in this order; methods without rows are left out.
func (t Table) Only(methods ...string) Table {
	var rows []Row
	for _, method := range methods {
		for _, row := range t.Rows {
			if row.Method == method {
				rows = append(rows, row)
			}
		}
	}
	t.Rows = rows
	return t
}

// Column is a metric of a table.
type Column struct {
	Metric   string // as in result rows; empty where it stands in none
	Name     string
	Decimals int       // digits after the point
	Better   Direction // which of its values are the better ones
	Unit     string    // for instance "s"; empty where there is none
}

// Direction says which of two numbers is the better one.
type Direction int

// The directions.
const (
	Neither Direction = iota
	Higher
	Lower
)

// Row is a method of a table.
type Row struct {
	Method string // as in result rows, or any other title
	Cells  []Cell // one for each column
}

// Cell is what is known about a metric of a method. Absent estimates are nil.
type Cell struct {
	Estimate   *Estimate
	References []*Estimate // one for each of the table's references, or nil for none
}

// Number is a number that has no standard error.
func Number(v float64) *Estimate { return &Estimate{Mean: v, StdErr: math.NaN()} }

// Reference holds published values of metrics.
type Reference struct {
	Name   string
	Values map[string]map[string]Estimate // by method and metric
}

// Published returns the reference of a table that has a mean and its standard error of each of the metrics, in their
// order, by method.
func Published(name string, metrics []string, rows map[string][]float64) Reference {
	r := Reference{Name: name, Values: map[string]map[string]Estimate{}}
	for method, v := range rows {
		r.Values[method] = map[string]Estimate{}
		for i, metric := range metrics {
			r.Values[method][metric] = Estimate{Mean: v[2*i], StdErr: v[2*i+1]}
		}
	}
	return r
}

// Chart is a figure of curves, one or more panels.
type Chart struct {
	Name   string // file name without its ending
	Title  string
	Panels []Panel
	Notes  map[string]string // by name of a curve: what a legend adds to its label
}

// Panel is a set of curves with common axes.
type Panel struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool // a logarithmic Y is of numbers of one sign; negative ones go by their size
	Curves                []Curve
	Levels                []Level     // horizontal reference lines
	Marks                 []Mark      // vertical lines with a note, such as the chosen value of a hyper-parameter
	YRange                *[2]float64 // nil: all that is drawn
	// error bars in place of bands, and the points of different curves a little apart sideways: for few X in common
	Bars bool
}

// Curve is a line through points, with a band of ± one standard error if there is one.
type Curve struct {
	Name   string    // method as in result rows, or another name
	X, Y   []float64 // X ascending; a NaN in Y breaks the line
	StdErr []float64 // of Y, or nil
	// Low and High, if not nil, are the ends of a band in place of Y ± StdErr, and Band says in the legend what it is.
	Low, High []float64
	Band      string
	Points    bool      // a dot on each point
	Published []float64 // of Y, as others have it: open diamonds, none for NaN; nil for none at all
}

// Add appends an estimate at x, if there is one. The curve has a band if all of its standard errors are known.
func (c *Curve) Add(x float64, e *Estimate) {
	if e == nil {
		return
	}
	if len(c.StdErr) == len(c.X) && !math.IsNaN(e.StdErr) {
		c.StdErr = append(c.StdErr, e.StdErr)
	} else {
		c.StdErr = nil
	}
	c.X, c.Y = append(c.X, x), append(c.Y, e.Mean)
}

// Level is a horizontal reference line: a method as in result rows, or another name, which lies in the legend.
type Level struct {
	Name string
	Y    float64
}

// Mark is a vertical line with a note at its top.
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
	Title  string // empty for the method's label
	Method string // as in result rows
	Ranks  []int  // number of posterior samples below each true value
	Max    int    // number of samples that each truth is ranked among
}

// VerdictChart is a figure of the answers of methods to problems: how far off each is, and whether the method knows.
type VerdictChart struct {
	Name     string // file name without its ending
	Title    string
	Methods  []string // as in result rows
	Families []VerdictFamily
}

// Counts returns the number of each method's answers of each kind.
func (c VerdictChart) Counts() [][kinds]int {
	out := make([][kinds]int, len(c.Methods))
	for _, f := range c.Families {
		for _, row := range f.Verdicts {
			for i, v := range row {
				if v != nil {
					out[i][v.Kind()]++
				}
			}
		}
	}
	return out
}

// VerdictFamily is a group of problems.
type VerdictFamily struct {
	Title    string
	Problems []string     // names
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
	RightClaimed Kind = iota // right, and the method says so
	WrongDoubted             // wrong, and the method says so
	WrongTrusted             // wrong, and the method says that it is right
	RightDoubted             // right, and the method doubts it
	NoAnswer

	kinds = iota
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
