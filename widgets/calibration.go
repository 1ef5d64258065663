package widgets

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Calibration compares the nominal level of central credible intervals with the fraction of true values that they
// cover. A curve above the diagonal means intervals that are too wide, one below it intervals that are too narrow.
type Calibration struct {
	Title  string
	Panels []CalibrationPanel
}

// CalibrationPanel is one panel of Calibration, for one quantity.
type CalibrationPanel struct {
	Title  string
	Curves []Curve // X: nominal level; Y: covered fraction; StdErr: its standard error, or nil
}

// Figure implements Drawing.
func (m Calibration) Figure() (*Figure, error) {
	curves := Curves{Title: m.Title}
	for i, panel := range m.Panels {
		for j, curve := range panel.Curves {
			for k := range curve.X {
				if curve.X[k] < 0 || curve.X[k] > 1 || k < len(curve.Y) && (curve.Y[k] < 0 || curve.Y[k] > 1) {
					return nil, fmt.Errorf("widgets: Calibration.Panels[%d].Curves[%d]: point %d lies outside the "+
						"unit square", i, j, k)
				}
			}
		}
		curves.Panels = append(curves.Panels, CurvePanel{Title: panel.Title, Curves: panel.Curves,
			XLabel: "nominal level", YLabel: "covered fraction"})
	}
	if _, err := curves.Figure(); err != nil {
		return nil, fmt.Errorf("widgets: Calibration: %w", err)
	}
	looks, order := curves.looks()
	plots := make([]*plot.Plot, len(m.Panels))
	for i, panel := range curves.Panels {
		p := curvePanel(panel).plot(looks, 0, maxWidth)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		p.Y.Tick.Marker = p.X.Tick.Marker
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
			c.StrokeLine2(targetLine, x(0), y(0), x(1), y(1))
			c.FillText(textStyle(smallSize, paleInk, draw.XLeft, draw.YTop), vg.Point{X: x(0.04), Y: y(0.97)},
				"intervals too wide")
			c.FillText(textStyle(smallSize, paleInk, draw.XRight, draw.YBottom), vg.Point{X: x(0.97), Y: y(0.04)},
				"intervals too narrow")
		}))
		plots[i] = p
	}
	columns := min(2, len(plots))
	side := vg.Length(285)
	return card{
		title: m.Title, legend: curves.legend(order, looks),
		description: "Covered fraction over nominal level of credible intervals: " +
			labels(order) + ".",
		width:      vg.Length(columns)*(side+panelGap+20) + 2*cardPad,
		bodyHeight: panelRows(len(plots), columns, side+40),
		body:       func(c draw.Canvas) { drawPanels(c, plots, columns) }, records: curves.records,
	}.figure(), nil
}
