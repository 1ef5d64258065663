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
		sort.Float64s(grid)
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
	var names, colors, dashed, layers []any
	for j, kind := range kinds {
		if kind != "" {
			names, colors = append(names, looks[j].label), append(colors, hex(looks[j].color))
			dashed = append(dashed, vegaDashes(looks[j].dashes))
		}
	}
	if truth {
		names, colors, dashed = append(names, "true value"), append(colors, hex(black)), append(dashed, []any{4, 3})
	}
	// One legend for colours and dashes: Vega-Lite merges those of scales with the same domain.
	told := func(label string, values []any) object {
		return object{"datum": label, "scale": object{"domain": names, "range": values},
			"legend": object{"title": nil, "orient": "top", "columns": 4, "labelLimit": 260, "symbolOpacity": 1,
				"symbolType": "stroke", "symbolStrokeWidth": 2.2, "symbolSize": 500}}
	}
	x := func(field string) object { return along(field, m.XLabel, xs) }
	y := func(j int) object {
		return quantity(curveField(j), "density",
			object{"scale": object{"domainMin": 0, "domainMax": object{"expr": "tops[panel]"}}})
	}
	shown := func(field string) []any {
		return []any{object{"filter": fmt.Sprintf("datum.p === panel && isValid(datum.%s)", field)}}
	}
	layer := func(j int, needs string, mark, encoding object) {
		mark["clip"] = true
		encoding["color"], encoding["y"] = told(looks[j].label, colors), y(j)
		layers = append(layers,
			object{"transform": append(shown(curveField(j)), shown(needs)...), "mark": mark, "encoding": encoding})
	}
	for j, kind := range kinds {
		if kind == "bars" {
			left := x("l")
			left["bin"] = "binned"
			layer(j, "l", object{"type": "bar", "opacity": 0.45, "binSpacing": 0.5},
				object{"x": left, "x2": object{"field": "r"}})
		}
	}
	for j, kind := range kinds {
		if kind == "curve" {
			layer(j, "x", object{"type": "line", "strokeWidth": 2.2},
				object{"x": x("x"), "strokeDash": told(looks[j].label, dashed)})
		}
	}
	if truth {
		layers = append(layers, object{"transform": shown("t"), "mark": object{"type": "rule", "strokeWidth": 2},
			"encoding": object{"x": x("t"), "color": told("true value", colors),
				"strokeDash": told("true value", dashed)}})
	}
	return panelBrowser(m.Title, nil, object{"width": 640, "height": 260,
		"params": append(m.sliders(), param("titles", titles), param("tops", tops)),
		"data":   object{"values": rows}, "layer": layers, "config": vegaConfig(true)}), nil
}

// panelBrowser is a Vega-Lite specification of a view of one panel at a time, with what its title has beside the text.
// Its parameters have to hold the panels' titles and panel, the one that is shown.
func panelBrowser(title string, beside, spec object) object {
	heading := object{"text": object{"expr": strconv.Quote(title+": ") + " + titles[panel]"},
		"anchor": "start", "fontSize": 15}
	maps.Copy(heading, beside)
	spec["$schema"], spec["padding"] = "https://vega.github.io/schema/vega-lite/v5.json", 14
	spec["title"] = heading
	return spec
}

// param is a parameter that stays as it is.
func param(name string, value any) object {
	return object{"name": name, "value": value}
}

// input is a parameter, or a signal, that the reader sets by an input of a kind, with its label and its options.
func input(param string, value any, kind string, label any, options object) object {
	options["input"], options["name"] = kind, label
	return object{"name": param, "value": value, "bind": options}
}

// slider is a parameter that the reader slides from 0 through so many positions.
func slider(param, name string, positions int) object {
	return input(param, 0, "range", name+" ", object{"min": 0, "max": positions - 1, "step": 1})
}

// quantity is the channel of a field of numbers, with what else it has.
func quantity(field, title string, more object) object {
	more["field"], more["type"], more["title"] = field, "quantitative", title
	return more
}

// along is the horizontal channel of a field, over the range that all panels share.
func along(field, title string, xs span) object {
	return quantity(field, title, object{"scale": object{"domain": xs.ends()}})
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
	return append(out, object{"name": "panel", "expr": panel})
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
