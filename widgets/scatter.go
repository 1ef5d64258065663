package widgets

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
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
	plots := make([]*plot.Plot, len(m.Panels))
	for i, panel := range m.Panels {
		p := newPanel(panel.Title, m.XLabel, m.YLabel)
		setRange(&p.X, xs, 0, 0.05)
		setRange(&p.Y, ys, 0, 0.05)
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
		bodyHeight:  panelRows(len(plots), columns, height+panelGap),
		body: func(c draw.Canvas) {
			if !colored {
				drawPanels(c, plots, columns)
				return
			}
			drawColored(c, plots, columns, scale, m.ZLabel)
		},
	}.figure(), nil
}

// paint draws the points of a panel, the marked ones last.
func (panel ScatterPanel) paint(c draw.Canvas, x, y func(float64) vg.Length, scale colorScale) {
	if l := panel.Line; l != nil {
		c.StrokeLine2(markLine, x(l[0]), y(l[1]), x(l[2]), y(l[3]))
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
	return check.First(refuse(len(m.Panels) == 0, "Scatter has no panels"),
		forEach("Scatter.Panels", m.Panels, func(field string, panel ScatterPanel) error {
			n := len(panel.X)
			err := check.First(
				refuse(n == 0, "%s has no points", field), refuse(n > maxPoints, "%s has %d points, want at "+
					"most %d: draw a part of them", field, n, maxPoints),
				checkLength(field+".Y", len(panel.Y), n, "one for each X"), refuse((panel.Z == nil) !=
					(m.Panels[0].Z == nil), "of Scatter.Panels[0] and %s, one has Z and the other has none", field),
				checkEach(field+".Z", panel.Z, n, "one for each X"),
				checkEach(field+".Line", panel.Line, 4, "x, y, x, y"), checkFinite(field+".X", panel.X),
				checkFinite(field+".Y", panel.Y), checkFinite(field+".Z", panel.Z),
				checkFinite(field+".Line", panel.Line))
			for k := range panel.Marked {
				err = check.First(err, refuse(k < 0 || k >= n, "%s.Marked has point %d, want 0 to %d", field, k, n-1))
			}
			return err
		}))
}
