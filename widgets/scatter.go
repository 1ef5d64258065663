package widgets

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter shows points in the plane in one or more panels with one colour scale, such as states by what it is worth to
// ask about them.
type Scatter struct {
	Title          string
	XLabel, YLabel string
	ZLabel         string // for the colour bar
	Panels         []ScatterPanel
}

// maxPoints is the most points of a panel of Scatter that can be told apart.
const maxPoints = 20_000

// ScatterPanel is one panel of Scatter.
type ScatterPanel struct {
	Title   string
	X, Y, Z []float64      // of each point; Z gives its colour, and nil means all points have one
	Marked  map[int]string // points with a ring and a short text beside them, by index
	Line    []float64      // a dotted line through these two points: x, y, x, y; nil for none
}

// Figure implements Drawing.
func (m Scatter) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	var all [][]float64
	var xs, ys = emptySpan(), emptySpan()
	for _, panel := range m.Panels {
		all = append(all, panel.Z)
		xs.include(panel.X...)
		ys.include(panel.Y...)
	}
	scale, colored := newScale(false, all...), len(m.Panels[0].Z) > 0
	columns := min(2, len(m.Panels))
	rows := (len(m.Panels) + columns - 1) / columns
	plots := make([]*plot.Plot, len(m.Panels))
	for i, panel := range m.Panels {
		p := newPanel(panel.Title, m.XLabel, m.YLabel)
		setRange(&p.X, xs, false, 0.05)
		setRange(&p.Y, ys, false, 0.05)
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) { panel.paint(c, x, y, scale) }))
		plots[i] = p
	}
	const height = vg.Length(230)
	width := maxWidth
	if columns == 1 {
		width = 420
	}
	return card{
		title: m.Title, width: width, records: m.records,
		description: fmt.Sprintf("%d points: %s over %s.", len(m.Panels[0].X), m.YLabel, m.XLabel),
		bodyHeight:  vg.Length(rows) * (height + panelGap),
		body: func(c draw.Canvas) {
			if !colored {
				drawPanels(c, plots, columns)
				return
			}
			drawPanels(draw.Crop(c, 0, -barWidth-panelGap, 0, 0), plots, columns)
			side := draw.Crop(c, c.Max.X-c.Min.X-barWidth, 0, 0, -18)
			side.Min.Y = side.Max.Y - 150
			scale.paint(side, m.ZLabel)
		},
	}.figure(), nil
}

// paint draws the points of a panel, the marked ones last.
func (panel ScatterPanel) paint(c draw.Canvas, x, y func(float64) vg.Length, scale colorScale) {
	if l := panel.Line; l != nil {
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.8, Dashes: dotted}, x(l[0]), y(l[1]), x(l[2]), y(l[3]))
	}
	at := func(i int) vg.Point { return vg.Point{X: x(panel.X[i]), Y: y(panel.Y[i])} }
	for i := range panel.X {
		col := fade(oracle, 0.4)
		if panel.Z != nil {
			col = scale.color(panel.Z[i])
		}
		fillPath(c, col, disc(at(i), 3))
		strokePath(c, draw.LineStyle{Color: axisGrey, Width: 0.4}, disc(at(i), 3))
	}
	for i := range panel.X {
		if note, ok := panel.Marked[i]; ok {
			strokePath(c, draw.LineStyle{Color: black, Width: 1.2}, disc(at(i), 4.5))
			writeBacked(c, textStyle(smallSize, ink, draw.XLeft, draw.YCenter), at(i).X+6, at(i).Y, note)
		}
	}
}

func (m Scatter) validate() error {
	if len(m.Panels) == 0 {
		return fmt.Errorf("widgets: Scatter has no panels")
	}
	for i, panel := range m.Panels {
		field := fmt.Sprintf("Scatter.Panels[%d]", i)
		if len(panel.X) == 0 {
			return fmt.Errorf("widgets: %s has no points", field)
		}
		if len(panel.X) > maxPoints {
			return fmt.Errorf("widgets: %s has %d points, want at most %d: draw a part of them", field, len(panel.X),
				maxPoints)
		}
		if err := checkLength(field+".Y", len(panel.Y), len(panel.X), "one for each X"); err != nil {
			return err
		}
		if (panel.Z == nil) != (m.Panels[0].Z == nil) {
			return fmt.Errorf("widgets: of Scatter.Panels[0] and %s, one has Z and the other has none", field)
		}
		if panel.Z != nil {
			if err := checkLength(field+".Z", len(panel.Z), len(panel.X), "one for each X"); err != nil {
				return err
			}
		}
		if panel.Line != nil {
			if err := checkLength(field+".Line", len(panel.Line), 4, "x, y, x, y"); err != nil {
				return err
			}
		}
		for name, numbers := range map[string][]float64{"X": panel.X, "Y": panel.Y, "Z": panel.Z, "Line": panel.Line} {
			if err := checkFinite(field+"."+name, numbers); err != nil {
				return err
			}
		}
		for k := range panel.Marked {
			if k < 0 || k >= len(panel.X) {
				return fmt.Errorf("widgets: %s.Marked has point %d, want 0 to %d", field, k, len(panel.X)-1)
			}
		}
	}
	return nil
}
