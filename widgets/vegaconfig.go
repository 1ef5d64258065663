package widgets

// vegaConfig is the look of a Vega or Vega-Lite view, with or without lines of a grid. Its background is white, as that
// of other figures; every colour of text and lines is set, since a page of another theme would choose ones for its own.
func vegaConfig(grid bool) map[string]any {
	ink, line := hex(black), hex(axisGrey)
	return map[string]any{
		"background": "white",
		"title":      map[string]any{"color": ink, "subtitleColor": ink},
		"style": map[string]any{"guide-label": map[string]any{"fill": ink}, "guide-title": map[string]any{"fill": ink},
			"group-title": map[string]any{"fill": ink}},
		"view": map[string]any{"stroke": hex(gridGrey)},
		"axis": map[string]any{"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "grid": grid,
			"gridColor": hex(gridGrey), "domainColor": line, "tickColor": line, "labelColor": ink, "titleColor": ink},
		"text":   map[string]any{"font": "Liberation Sans, Arial, Helvetica, sans-serif", "fontSize": 12, "fill": ink},
		"legend": map[string]any{"labelFontSize": 12, "labelColor": ink, "titleColor": ink},
	}
}
