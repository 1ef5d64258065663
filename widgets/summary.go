package widgets

import (
	"math"

	"github.com/go-birl/birl/qvirl/summary"
)

// Summary returns the table of a posterior's lines: mean and standard deviation, each with its Monte Carlo standard
// error, the shortest interval, effective sample sizes and R̂. It has so many decimals that the smallest standard
// deviation has two digits, but at most six.
func Summary(title string, lines []summary.Line) Table {
	smallest := math.Inf(1)
	for _, l := range lines {
		if l.Std > 0 {
			smallest = math.Min(smallest, l.Std)
		}
	}
	decimals := 0
	if !math.IsInf(smallest, 1) {
		decimals = int(math.Min(math.Max(0, 1-math.Floor(math.Log10(smallest))), 6))
	}
	t := Table{Title: title, Of: "quantity", Columns: []Column{{Name: "mean", Decimals: decimals},
		{Name: "standard deviation", Decimals: decimals}, {Name: "94 % from", Decimals: decimals},
		{Name: "to", Decimals: decimals}, {Name: "bulk ESS"}, {Name: "tail ESS"}, {Name: "R̂", Decimals: 3}}}
	known := func(v, err float64) Cell {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Cell{}
		}
		return Cell{Estimate: Value(v, err)}
	}
	none := math.NaN()
	for _, l := range lines {
		t.Rows = append(t.Rows, Row{Method: l.Name, Cells: []Cell{known(l.Mean, l.MeanError), known(l.Std, l.StdError),
			known(l.Low, none), known(l.High, none), known(l.BulkESS, none), known(l.TailESS, none),
			known(l.RHat, none)}})
	}
	return t
}
