package cost

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// steep is the power of the number of states beyond which a cost is named.
const steep = 1.5

// Growth makes the figure of what costs grow as: processor time and memory over the number of states S, on logarithmic
// axes, with the power of S that fits them best, by least squares of the logarithms. Where that or the power between
// the two largest sizes, beside which fixed costs count least, is above steep, a sentence says so.
func Growth(costs []Cost) *exhibit.Report {
	quantities := []struct {
		name, label string
		of          func(c Cost) float64
	}{
		{"processor time", "processor seconds", func(c Cost) float64 { return c.Processor }},
		{"peak memory", "peak memory, MiB", func(c Cost) float64 { return c.PeakMiB }},
	}
	chart := exhibit.Chart{Name: "growth", Notes: map[string]string{},
		Title: "Processor time and peak memory of one fit, by the number of states S"}
	table := exhibit.Table{Name: "growth", Title: "Powers of the number of states that costs grow as",
		Columns: []exhibit.Column{{Name: quantities[0].name, Decimals: 2}, {Name: quantities[1].name, Decimals: 2}}}
	powers := map[string][]*exhibit.Estimate{}
	var methods, text []string
	for _, c := range costs {
		if !slices.Contains(methods, c.Method) {
			methods = append(methods, c.Method)
		}
	}
	for _, q := range quantities {
		panel := exhibit.Panel{Title: q.name, XLabel: "states", YLabel: q.label, LogX: true, LogY: true}
		for _, m := range methods {
			curve := exhibit.Curve{Name: m}
			var x, y []float64
			for _, c := range costs {
				if v := q.of(c); c.Method == m && v > 0 {
					curve.X, curve.Y = append(curve.X, float64(c.States)), append(curve.Y, v)
					x, y = append(x, math.Log(float64(c.States))), append(y, math.Log(v))
				}
			}
			power, last := math.NaN(), math.NaN()
			if k := len(x) - 1; k > 0 {
				_, power = stat.LinearRegression(x, y, nil, false)
				last = (y[k] - y[k-1]) / (x[k] - x[k-1])
			}
			if len(x) > 2 && max(power, last) > steep {
				where := "overall"
				switch {
				case min(power, last) > steep:
					where = "both times"
				case last > steep:
					where = "there"
				}
				text = append(text, fmt.Sprintf("The %s of %s grows as S^%.2f from %g to %g states, and as S^%.2f "+
					"between the two largest: faster than S^%g %s.", q.name, m, power, curve.X[0],
					curve.X[len(curve.X)-1], last, steep, where))
			}
			var estimate *exhibit.Estimate
			if len(x) > 2 { // of two sizes, it may be chance
				estimate = exhibit.Number(power)
				if chart.Notes[m] != "" {
					chart.Notes[m] += ", "
				}
				_, short, _ := strings.Cut(q.name, " ")
				chart.Notes[m] += fmt.Sprintf("%s S^%.2f", short, power)
			}
			powers[m] = append(powers[m], estimate)
			if len(curve.X) > 0 {
				panel.Curves = append(panel.Curves, curve)
			}
		}
		chart.Panels = append(chart.Panels, panel)
	}
	for _, m := range methods {
		table.AddRow(m, powers[m]...)
	}
	return &exhibit.Report{Title: "What one fit costs", Text: text, Tables: []exhibit.Table{table},
		Charts: []exhibit.Chart{chart}}
}
