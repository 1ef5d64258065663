package widgets

import (
	"fmt"
	"maps"
	"math"
	"sort"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// The browser's data are stored in the notebook, so they are kept small.
const (
	browserPoints = 70   // of a curve
	invisible     = 1e-4 // a density below this fraction of the axis is left out
)

// VegaLite returns the Vega-Lite 5 specification of an interactive view: one panel at a time, chosen with one slider,
// or with several (see Marginals.Choices).
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
		shapes := make([]shape, len(m.Methods))
		grid := uniform(xs, browserPoints)
		for j, d := range panel.Distributions {
			if d == nil {
				continue
			}
			shapes[j] = newShape(d, xs, looks[j])
			kinds[j] = "curve"
			if shapes[j].bins != nil {
				kinds[j] = "bars"
			}
			for k, x := range shapes[j].detail(xs) {
				if k%3 == 0 {
					grid = append(grid, x)
				}
			}
		}
		sort.Float64s(grid)
		top := ceiling(shapes)
		for _, x := range grid {
			row := map[string]any{"p": i, "x": rounded(x)}
			for j, d := range panel.Distributions {
				if d == nil || shapes[j].bins != nil {
					continue
				}
				if v := density(d, x); v > invisible*top {
					row[curveField(j)] = rounded(v)
				}
			}
			if len(row) > 2 {
				rows = append(rows, row)
			}
		}
		for j, s := range shapes {
			for k, b := range s.bins {
				rows = append(rows, map[string]any{"p": i, "l": rounded(s.edges[k]), "r": rounded(s.edges[k+1]),
					curveField(j): rounded(b)})
			}
		}
		if !math.IsNaN(panel.Truth) {
			truth = true
			rows = append(rows, map[string]any{"p": i, "t": rounded(panel.Truth)})
		}
		titles = append(titles, panel.Title)
		tops = append(tops, rounded(top))
	}
	var names, colors, dashed, layers []any
	x := func(field string) map[string]any { return along(field, m.XLabel, xs) }
	y := func(j int) map[string]any {
		return map[string]any{"field": curveField(j), "type": "quantitative", "title": "density",
			"scale": map[string]any{"domainMin": 0, "domainMax": map[string]any{"expr": "tops[panel]"}}}
	}
	shown := func(field string) []any {
		return []any{map[string]any{"filter": fmt.Sprintf("datum.p === panel && isValid(datum.%s)", field)}}
	}
	layer := func(j int, needs string, mark, encoding map[string]any) {
		mark["clip"] = true
		encoding["color"] = map[string]any{"datum": looks[j].label}
		layers = append(layers, map[string]any{"transform": append(shown(curveField(j)), shown(needs)...), "mark": mark,
			"encoding": encoding})
	}
	for j, kind := range kinds {
		if kind == "" {
			continue
		}
		names, colors = append(names, looks[j].label), append(colors, hex(looks[j].color))
		dashed = append(dashed, vegaDashes(looks[j].dashes))
		if kind == "bars" {
			left := x("l")
			left["bin"] = "binned"
			layer(j, "l", map[string]any{"type": "bar", "opacity": 0.45, "binSpacing": 0.5},
				map[string]any{"x": left, "x2": map[string]any{"field": "r"}, "y": y(j)})
		}
	}
	for j, kind := range kinds {
		if kind == "curve" {
			layer(j, "x", map[string]any{"type": "line", "strokeWidth": 2.2}, map[string]any{"x": x("x"), "y": y(j),
				"strokeDash": map[string]any{"datum": looks[j].label}})
		}
	}
	if truth {
		names, colors, dashed = append(names, "true value"), append(colors, hex(black)), append(dashed, []any{4, 3})
		layers = append(layers, map[string]any{"transform": shown("t"),
			"mark": map[string]any{"type": "rule", "strokeWidth": 2},
			"encoding": map[string]any{"x": x("t"), "color": map[string]any{"datum": "true value"},
				"strokeDash": map[string]any{"datum": "true value"}}})
	}
	// One legend for colours and dashes: Vega-Lite merges those of scales with the same domain.
	for _, l := range layers {
		for channel, values := range map[string][]any{"color": colors, "strokeDash": dashed} {
			if of, ok := l.(map[string]any)["encoding"].(map[string]any)[channel].(map[string]any); ok {
				of["scale"] = map[string]any{"domain": names, "range": values}
				of["legend"] = map[string]any{"title": nil, "orient": "top", "columns": 4, "labelLimit": 260,
					"symbolOpacity": 1, "symbolType": "stroke", "symbolStrokeWidth": 2.2, "symbolSize": 500}
			}
		}
	}
	return panelBrowser(m.Title, nil, map[string]any{"width": 640, "height": 260,
		"params": append(m.sliders(), param("titles", titles), param("tops", tops)),
		"data":   map[string]any{"values": rows}, "layer": layers, "config": vegaConfig(true)}), nil
}

// panelBrowser is a Vega-Lite specification of a view of one panel at a time, with what its title has beside the text.
// Its parameters have to hold the panels' titles and panel, the one that is shown.
func panelBrowser(title string, beside, spec map[string]any) map[string]any {
	heading := map[string]any{"text": map[string]any{"expr": strconv.Quote(title+": ") + " + titles[panel]"},
		"anchor": "start", "fontSize": 15}
	maps.Copy(heading, beside)
	spec["$schema"], spec["padding"] = "https://vega.github.io/schema/vega-lite/v5.json", 14
	spec["title"] = heading
	return spec
}

// param is a parameter that stays as it is.
func param(name string, value any) map[string]any {
	return map[string]any{"name": name, "value": value}
}

// slider is a parameter that the reader slides from 0 through so many positions.
func slider(param, name string, positions int) map[string]any {
	return map[string]any{"name": param, "value": 0,
		"bind": map[string]any{"input": "range", "min": 0, "max": positions - 1, "step": 1, "name": name + " "}}
}

// along is the horizontal channel of a field, over the range that all panels share.
func along(field, title string, xs span) map[string]any {
	return map[string]any{"field": field, "type": "quantitative", "title": title,
		"scale": map[string]any{"domain": xs.ends()}}
}

// sliders returns the parameters of the sliders, and "panel", the panel that they choose.
func (m Marginals) sliders() []any {
	if len(m.Choices) == 0 {
		return []any{slider("panel", "panel", len(m.Panels))}
	}
	var out []any
	panel := "0"
	for i, c := range m.Choices {
		param := "choice" + strconv.Itoa(i)
		out = append(out, slider(param, c.Name, c.Positions))
		panel = fmt.Sprintf("(%s) * %d + %s", panel, c.Positions, param)
	}
	return append(out, map[string]any{"name": "panel", "expr": panel})
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
