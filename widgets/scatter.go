package widgets

import (
	"fmt"
	"maps"
	"math"
	"slices"

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
	Marked  map[int]string // points with a ring and a short text near them, by index
	Line    []float64      // a dotted line through these two points, across the panel: x, y, x, y; nil for none
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
		from, to := vg.Point{X: x(l[0]), Y: y(l[1])}, vg.Point{X: x(l[2]), Y: y(l[3])}
		along := to.Sub(from)
		if length := vg.Length(math.Hypot(float64(along.X), float64(along.Y))); length > 0 {
			far := along.Scale(2 * (c.Max.X - c.Min.X + c.Max.Y - c.Min.Y) / length)
			c.StrokeLines(markLine, c.ClipLinesXY([]vg.Point{from.Sub(far), from.Add(far)})...)
		}
	}
	at := pointsAt(x, y, panel.X, panel.Y)
	for i, centre := range at {
		col := fade(oracle, 0.4)
		if panel.Z != nil {
			col = scale.color(panel.Z[i])
		}
		fillPath(c, col, disc(centre, pointRadius))
		strokePath(c, draw.LineStyle{Color: axisGrey, Width: 0.4}, disc(centre, pointRadius))
	}
	marked := slices.Sorted(maps.Keys(panel.Marked))
	for _, i := range marked {
		strokePath(c, draw.LineStyle{Color: black, Width: 1.2}, disc(at[i], ringRadius))
	}
	style := textStyle(smallSize, ink, draw.XCenter, draw.YCenter)
	texts := make([]string, len(marked))
	for k, i := range marked {
		texts[k] = panel.Marked[i]
	}
	labels := spread(c.Rectangle, at, marked, func(k int) vg.Length { return style.Width(texts[k]) })
	for _, l := range labels {
		if l.leads() {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: thinWidth}, l.from.X, l.from.Y, l.to.X, l.to.Y)
		}
	}
	for k, l := range labels { // above all lines
		writeBacked(c, style, l.at.X, l.at.Y, texts[k])
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

func (m Scatter) records() [][]string {
	out := csvLines{{"panel", m.XLabel, m.YLabel, m.ZLabel, "mark"}}
	for _, p := range m.Panels {
		for i, x := range p.X {
			out.add(p.Title, x, p.Y[i], entryOrNaN(p.Z, i), p.Marked[i])
		}
	}
	return out
}
