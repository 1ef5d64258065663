package widgets

import "fmt"

// VegaLite returns the Vega-Lite 5 specification of an interactive view: one panel at a time, chosen with a slider that
// bears the given name. The colours mean the same in all panels, and the pointer shows the numbers of a cell.
func (m Surface) VegaLite(name string) (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	var titles, numbers []any
	var all [][]float64
	for _, panel := range m.Panels {
		titles, numbers, all = append(titles, panel.Title), append(numbers, list(panel.Z)), append(all, panel.Z)
	}
	scale := newScale(m.Diverges, all...)
	column := fmt.Sprintf("datum.k %% %d", len(m.X))
	line := fmt.Sprintf("floor(datum.k / %d)", len(m.X))
	var transform []any
	for _, f := range []struct{ as, expr string }{
		{"z", "numbers[panel][datum.k]"}, {"x", "xs[" + column + "]"}, {"y", "ys[" + line + "]"},
		{"left", "xEdges[" + column + "]"}, {"right", "xEdges[" + column + " + 1]"},
		{"low", "yEdges[" + line + "]"}, {"high", "yEdges[" + line + " + 1]"},
	} {
		transform = append(transform, object{"calculate": f.expr, "as": f.as})
	}
	axis := func(field, title string, edges []float64, logarithmic bool) object {
		kind := "linear"
		if logarithmic {
			kind = "log"
		}
		return quantity(field, title, object{"scale": object{"type": kind, "nice": false, "zero": false,
			"domain": span{edges[0], edges[len(edges)-1]}.ends()}})
	}
	xEdges, yEdges := edges(m.X, m.LogX), edges(m.Y, m.LogY)
	number := func(field, title string) object {
		return quantity(field, title, object{"format": ".4~g"})
	}
	return panelBrowser(m.Title, nil, object{"width": 560, "height": 320,
		"params": []any{slider("panel", name, len(m.Panels)), param("titles", titles), param("numbers", numbers),
			param("xs", list(m.X)), param("ys", list(m.Y)), param("xEdges", list(xEdges)),
			param("yEdges", list(yEdges))},
		"data":      object{"sequence": object{"start": 0, "stop": len(m.X) * len(m.Y), "as": "k"}},
		"transform": transform,
		"mark":      object{"type": "rect", "clip": true},
		"encoding": object{
			"x": axis("left", m.XLabel, xEdges, m.LogX), "x2": object{"field": "right"},
			"y": axis("low", m.YLabel, yEdges, m.LogY), "y2": object{"field": "high"},
			"color": quantity("z", m.ZLabel, object{"legend": object{"gradientLength": 220, "titleLimit": 260},
				"scale": object{"domain": list(uniform(scale.span, len(scale.ramp)-1)), "range": scale.ramp.hex(),
					"interpolate": "rgb"}}),
			"tooltip": []any{number("x", m.XLabel), number("y", m.YLabel), number("z", m.ZLabel)},
		},
		"config": vegaConfig(false),
	}), nil
}

// ShowSurface displays the panels of m one at a time, chosen with a slider that bears the given name and works in
// JupyterLab without a kernel. Elsewhere it shows the panels that stand at the given positions, side by side.
func ShowSurface(m Surface, slider string, static ...int) error {
	return showPanels("ShowSurface", func() (map[string]any, error) { return m.VegaLite(slider) }, m.Panels, static, 3,
		func(some []SurfacePanel) Drawing {
			m.Panels = some
			return m
		})
}
