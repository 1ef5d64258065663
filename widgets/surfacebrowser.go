package widgets

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
	xEdges, yEdges := edges(m.X, m.LogX), edges(m.Y, m.LogY)
	return newView("surface.vl", false, object{"m": m, "panel": Choice{name, len(m.Panels)}, "titles": titles,
		"numbers": numbers, "xs": list(m.X), "ys": list(m.Y), "xEdges": list(xEdges), "yEdges": list(yEdges),
		"xDomain": span{xEdges[0], xEdges[len(m.X)]}.ends(), "yDomain": span{yEdges[0], yEdges[len(m.Y)]}.ends(),
		"levels": list(uniform(scale.span, len(scale.ramp)-1)), "ramp": scale.ramp.hex()})
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
