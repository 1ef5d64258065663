package widgets

// vegaConfig is the look of a Vega or Vega-Lite view, with or without lines of a grid. Its background is white, as that
// of other figures; every colour of text and lines is set, since a page of another theme would choose ones for its own.
func vegaConfig(grid bool) object {
	ink, line, filled := hex(black), hex(axisGrey), object{"fill": hex(black)}
	return object{
		"background": "white",
		"title":      object{"color": ink, "subtitleColor": ink},
		"style":      object{"guide-label": filled, "guide-title": filled, "group-title": filled},
		"view":       object{"stroke": hex(gridGrey)},
		"axis": object{"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "grid": grid,
			"gridColor": hex(gridGrey), "domainColor": line, "tickColor": line, "labelColor": ink, "titleColor": ink},
		"text":   object{"font": "Liberation Sans, Arial, Helvetica, sans-serif", "fontSize": 12, "fill": ink},
		"legend": object{"labelFontSize": 12, "labelColor": ink, "titleColor": ink},
	}
}
