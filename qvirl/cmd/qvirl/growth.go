package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// readBench reads the costs that writeBench has written to a folder; none where there are none.
func readBench(dir string) ([]cost, error) {
	f, err := os.Open(filepath.Join(dir, "rows.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 || !slices.Equal(rows[0], benchColumns) {
		return nil, errors.Join(err, fmt.Errorf("%s is not one that bench of this version wrote", f.Name()))
	}
	var costs []cost
	for _, row := range rows[1:] {
		var bad error
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(row[slices.Index(benchColumns, name)], 64)
			bad = errors.Join(bad, err)
			return v
		}
		c := cost{States: int(number("states")), Method: row[1], Seconds: number("seconds"),
			Processor: number("processor_seconds"), PeakMiB: number("peak_mib"),
			Evaluations: int(number("evaluations")), Converged: row[slices.Index(benchColumns, "converged")] == "true",
			RHat: number("rhat"), ESS: number("ess_bulk"), Compile: number("compile_seconds"),
			Version: row[slices.Index(benchColumns, "version")]}
		if bad != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), bad)
		}
		costs = append(costs, c)
	}
	return costs, nil
}

// joinBench returns the costs of both, the later ones in the place of earlier ones of the same problem and method,
// method by method and by growing size.
func joinBench(earlier, later []cost) []cost {
	same := func(a, b cost) bool { return a.States == b.States && a.Method == b.Method }
	all := slices.DeleteFunc(slices.Clone(earlier), func(c cost) bool {
		return slices.ContainsFunc(later, func(l cost) bool { return same(c, l) })
	})
	all = append(all, later...)
	order := map[string]int{}
	for _, c := range all {
		if _, ok := order[c.Method]; !ok {
			order[c.Method] = len(order)
		}
	}
	slices.SortStableFunc(all, func(a, b cost) int {
		if d := order[a.Method] - order[b.Method]; d != 0 {
			return d
		}
		return a.States - b.States
	})
	return all
}

// steep is the power of the number of states beyond which a cost is named.
const steep = 1.5

// growth makes the figure of what costs grow as: processor time and memory over the number of states S, on logarithmic
// axes, with the power of S that fits them best, by least squares of the logarithms. Where that or the power between
// the two largest sizes, beside which fixed costs count least, is above steep, a sentence says so.
func growth(costs []cost) *exhibit.Report {
	quantities := []struct {
		name, label string
		of          func(c cost) float64
	}{
		{"processor time", "processor seconds", func(c cost) float64 { return c.Processor }},
		{"peak memory", "peak memory, MiB", func(c cost) float64 { return c.PeakMiB }},
	}
	chart := exhibit.Chart{Name: "growth", Title: "What one fit costs"}
	table := exhibit.Table{Name: "growth", Title: "Powers of the number of states that costs grow as",
		Columns: []exhibit.Column{{Name: quantities[0].name, Decimals: 2}, {Name: quantities[1].name, Decimals: 2}}}
	cells := map[string][]exhibit.Cell{}
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
			if max(power, last) > steep {
				text = append(text, fmt.Sprintf("The %s of %s grows faster than S^%g: as S^%.2f from %g to %g states, "+
					"and S^%.2f between the two largest.", q.name, m, steep, power, curve.X[0],
					curve.X[len(curve.X)-1], last))
			}
			cell := exhibit.Cell{} // of a single size
			if !math.IsNaN(power) {
				cell.Estimate = &exhibit.Estimate{Mean: power, StdErr: math.NaN()}
			}
			cells[m] = append(cells[m], cell)
			if len(curve.X) > 0 {
				panel.Curves = append(panel.Curves, curve)
			}
		}
		chart.Panels = append(chart.Panels, panel)
	}
	for _, m := range methods {
		table.Rows = append(table.Rows, exhibit.Row{Method: m, Cells: cells[m]})
	}
	return &exhibit.Report{Title: chart.Title, Text: text, Tables: []exhibit.Table{table},
		Charts: []exhibit.Chart{chart}}
}
