package widgets

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// The browser's data are stored in the notebook, so they are kept small.
const (
	browserPoints = 70   // of a curve
	invisible     = 1e-4 // a density below this fraction of the axis is left out
)

// VegaLite returns the Vega-Lite 5 specification of an interactive view: one panel at a time, chosen with several
// sliders (see Marginals.Choices), with one slider where the panels' titles count them from 0, as "state 0", "state 1"
// and so on do, or else from a list of the titles.
func (m Marginals) VegaLite() (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	xs := m.extent()
	looks := appearances(m.Methods)
	var rows []any
	var titles, tops []any
	kinds := make([]string, len(m.Methods)) // "bars" or "curve"; empty for a method in no panel
	truth := false
	for i, panel := range m.Panels {
		shapes := panel.shapes(xs, looks)
		grid := uniform(xs, browserPoints)
		for j, s := range shapes {
			if s.bins != nil {
				kinds[j] = "bars"
			}
			if s.x == nil {
				continue
			}
			kinds[j] = "curve"
			for k, x := range s.detail(xs) {
				if k%3 == 0 {
					grid = append(grid, x)
				}
			}
		}
		slices.Sort(grid)
		top := ceiling(shapes)
		for _, x := range grid {
			row := object{"p": i, "x": rounded(x)}
			for j, s := range shapes {
				if s.x == nil {
					continue
				}
				if v := density(panel.Distributions[j], x); v > invisible*top {
					row[curveField(j)] = rounded(v)
				}
			}
			if len(row) > 2 {
				rows = append(rows, row)
			}
		}
		for j, s := range shapes {
			for k, b := range s.bins {
				rows = append(rows, object{"p": i, "l": rounded(s.edges[k]), "r": rounded(s.edges[k+1]),
					curveField(j): rounded(b)})
			}
		}
		if at := orNaN(panel.Truth); !math.IsNaN(at) {
			truth = true
			rows = append(rows, object{"p": i, "t": rounded(at)})
		}
		titles = append(titles, panel.Title)
		tops = append(tops, rounded(top))
	}
	// One legend for colours and dashes: Vega-Lite merges those of scales with the same domain.
	var names, colors, dashed, bars, curves []any
	for j, kind := range kinds {
		if kind == "" {
			continue
		}
		names, colors = append(names, looks[j].label), append(colors, hex(looks[j].color))
		if kind == "bars" {
			dashed = append(dashed, vegaDashes(nil))
			bars = append(bars, object{"mark": "bar", "x": "l", "y": curveField(j), "label": looks[j].label})
		} else {
			dashed = append(dashed, vegaDashes(looks[j].dashes))
			curves = append(curves, object{"mark": "line", "x": "x", "y": curveField(j), "label": looks[j].label})
		}
	}
	if truth {
		names, colors, dashed = append(names, "true value"), append(colors, hex(black)), append(dashed, []any{4, 3})
		curves = append(curves, object{"mark": "rule", "x": "t", "y": "t", "label": "true value"})
	}
	return newView("marginals.vl", true, object{"m": m, "panel": Choice{m.counted(), len(m.Panels)},
		"titles": titles, "numbers": positions(len(m.Panels)), "tops": tops, "rows": rows, "names": names,
		"colors": colors, "dashes": dashed, "layers": append(bars, curves...), "extent": xs.ends()})
}

// counted returns what the panels' titles count from 0: "state" of "state 0", "state 1" and so on, "panel" where there
// is one without a title; nothing where they do not count.
func (m Marginals) counted() string {
	if slices.ContainsFunc(m.Panels, func(p MarginalPanel) bool { return p.Title == "" }) {
		return "panel"
	}
	what, _ := strings.CutSuffix(m.Panels[0].Title, " 0")
	for i, panel := range m.Panels {
		if panel.Title != fmt.Sprint(what, " ", i) {
			return ""
		}
	}
	return what
}

// positions are 0, 1, …, n−1.
func positions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// vegaDashes are dashes in pixels; [1, 0] is a line without gaps.
func vegaDashes(dashes []vg.Length) []any {
	if dashes == nil {
		return []any{1, 0}
	}
	var out []any
	for _, d := range dashes {
		out = append(out, 1.4*d.Points())
	}
	return out
}

func curveField(j int) string { return "m" + strconv.Itoa(j) }

func uniform(xs span, n int) []float64 {
	out := make([]float64, n+1)
	for i := range out {
		out[i] = xs.low + (xs.high-xs.low)*float64(i)/float64(n)
	}
	return out
}

// rounded keeps four significant digits, which is more than the eye sees and a third of the size.
func rounded(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return out
}
