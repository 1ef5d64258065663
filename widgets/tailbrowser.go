package widgets

import (
	"fmt"
	"math"
)

// The two choices of the interactive view.
var choiceColors = [2]string{hex(blue), hex(vermillion)}

// noteSpace is the height in pixels of the two lines of numbers between the title and the plot.
const noteSpace = 46

// VegaLite returns the Vega-Lite 5 specification of an interactive view: two methods, which the reader chooses, in one
// panel at a time. first and second are those that it begins with, as positions in Methods.
func (m Tails) VegaLite(first, second int) (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	for _, i := range []int{first, second} {
		if i < 0 || i >= len(m.Methods) {
			return nil, fmt.Errorf("widgets: Tails.VegaLite: method %d is outside 0..%d", i, len(m.Methods)-1)
		}
	}
	xs := m.extent()
	looks := appearances(m.Methods)
	var rows, options, numbers, titles []any
	for i, panel := range m.Panels {
		numbers, titles = append(numbers, i), append(titles, panel.Title)
		for j, samples := range panel.Samples {
			if samples == nil {
				continue
			}
			t := newTail(samples, m.Level, xs)
			peak := t.peak()
			for k, x := range t.x {
				if t.density[k] < invisible*peak {
					continue
				}
				row := object{"p": i, "m": looks[j].label, "x": rounded(x), "y": rounded(t.density[k])}
				if x <= t.quantile {
					row["t"] = 1
				}
				rows = append(rows, row)
			}
			note := fmt.Sprintf("%s: mean %.1f, worst %g %% %.1f", looks[j].label, t.mean, 100*m.Level, t.tail)
			summary := object{"p": i, "m": looks[j].label, "mean": rounded(t.mean), "worst": rounded(t.tail)}
			if panel.Truth != nil && !math.IsNaN(panel.Truth[j]) {
				note += fmt.Sprintf(", true %.1f", panel.Truth[j])
				summary["truth"] = rounded(panel.Truth[j])
			}
			summary["note"] = note
			rows = append(rows, summary)
		}
	}
	for _, a := range looks {
		options = append(options, a.label)
	}
	var layers []any
	for c, choice := range []string{"first", "second"} {
		layer := func(field string, mark, encoding object) {
			mark["color"], mark["clip"] = choiceColors[c], field != "note"
			shown := fmt.Sprintf("datum.p === panel && datum.m === %s && isValid(datum.%s)", choice, field)
			layers = append(layers,
				object{"transform": []any{object{"filter": shown}}, "mark": mark, "encoding": encoding})
		}
		x := func(field string) object { return along(field, m.XLabel, xs) }
		y := quantity("y", "density", object{"stack": nil, "axis": object{"labels": false, "ticks": false}})
		line := object{"color": choiceColors[c], "strokeWidth": 2}
		layer("y", object{"type": "area", "opacity": 0.22, "line": line}, object{"x": x("x"), "y": y})
		layer("t", object{"type": "area", "opacity": 0.5}, object{"x": x("x"), "y": y})
		layer("mean", object{"type": "rule", "strokeWidth": 2}, object{"x": x("mean")})
		layer("worst", object{"type": "rule", "strokeWidth": 2, "strokeDash": []any{5, 3}}, object{"x": x("worst")})
		layer("truth", object{"type": "point", "shape": "diamond", "size": 90, "filled": false, "strokeWidth": 2},
			object{"x": x("truth"), "y": object{"value": 300 - 9}})
		layer("note", object{"type": "text", "align": "left", "baseline": "top", "fontSize": 13,
			"fontWeight": "bold"}, object{"text": object{"field": "note"}, "x": object{"value": 6},
			"y": object{"value": 19*c - noteSpace + 6}})
	}
	choose := func(name, label string, i int) object {
		return input(name, looks[i].label, "select", label, object{"options": options})
	}
	panel := input("panel", 0, "select", "show ", object{"options": numbers, "labels": titles})
	subtitle := object{"offset": noteSpace, "subtitleColor": hex(paleInk),
		"subtitle": "lines: mean; dashed: mean of the worst; diamonds: under the true reward"}
	return panelBrowser(m.Title, subtitle, object{"width": 680, "height": 300,
		"params": []any{panel, choose("first", "blue ", first), choose("second", "orange ", second),
			param("titles", titles)},
		"data": object{"values": rows}, "layer": layers, "config": vegaConfig(true)}), nil
}

// ShowTails displays the interactive view of m, which begins with the methods at the positions first and second.
// JupyterLab draws it, also in a saved notebook and without a kernel; elsewhere stands the figure of all methods in the
// panels at the given positions.
func ShowTails(m Tails, first, second int, static ...int) error {
	return showPanels("ShowTails", func() (map[string]any, error) { return m.VegaLite(first, second) }, m.Panels,
		static, 1, func(some []TailPanel) Drawing {
			m.Panels = some
			return m
		})
}
