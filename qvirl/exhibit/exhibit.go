// Package exhibit is tables and figures as plain data: what experiments say and widgets draw.
package exhibit

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

// Only returns the table with the rows of the given methods, in this order; methods without rows are left out.
func (t Table) Only(methods ...string) Table {
	var rows []TableRow
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
	Bars                  bool    // error bars in place of bands: for few X that curves have in common
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
	RightClaimed Kind = iota // right, and the method says so
	WrongDoubted             // wrong, and the method says so
	WrongTrusted             // wrong, and the method says that it is right
	RightDoubted             // right, and the method doubts it
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
