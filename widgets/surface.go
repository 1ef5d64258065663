package widgets

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
)

// Surface shows a function of two variables as a heat map in one or more panels with one colour scale, such as the
// error of an approximation.
type Surface struct {
	Title          string
	XLabel, YLabel string
	ZLabel         string    // for the colour bar
	X, Y           []float64 // grid, ascending; each value is the centre of its cells
	Panels         []SurfacePanel
	Diverges       bool // two hues about 0 instead of one from low to high
	LogX, LogY     bool // the grid is geometric

	// Numbers writes the values into the cells, with Decimals figures after the point, and ticks the axes at the grid's
	// own values. It is for grids of few cells.
	Numbers  bool
	Decimals int
}

// SurfacePanel is one panel of Surface.
type SurfacePanel struct {
	Title string
	Z     []float64 // value at X[i], Y[j] is Z[j·len(X)+i]; NaN where there is none
}

// Figure implements Drawing.
func (m Surface) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	var all [][]float64
	for _, panel := range m.Panels {
		all = append(all, panel.Z)
	}
	scale := newScale(m.Diverges, all...)
	xEdges, yEdges := edges(m.X, m.LogX), edges(m.Y, m.LogY)
	columns := min(3, len(m.Panels))
	plots := make([]*plot.Plot, len(m.Panels))
	for i, panel := range m.Panels {
		p := newPanel(panel.Title, m.XLabel, "")
		if i%columns == 0 {
			p.Y.Label.Text = m.YLabel
		}
		setRange(&p.X, span{xEdges[0], xEdges[len(xEdges)-1]}, logOf(m.LogX), 0)
		setRange(&p.Y, span{yEdges[0], yEdges[len(yEdges)-1]}, logOf(m.LogY), 0)
		if m.Numbers {
			p.X.Tick.Marker, p.Y.Tick.Marker = ticksAt(m.X), ticksAt(m.Y)
		}
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
			const overlap = vg.Length(1.2) // the next cell covers it; without it, seams show
			for j := range m.Y {
				for i := range m.X {
					cell := rect(x(xEdges[i]), y(yEdges[j]), min(x(xEdges[i+1])+overlap, c.Max.X),
						min(y(yEdges[j+1])+overlap, c.Max.Y))
					fillPath(c, scale.color(panel.Z[j*len(m.X)+i]), cell.Path())
				}
			}
			for k, v := range panel.Z {
				if m.Numbers && !math.IsNaN(v) {
					style := textStyle(smallSize, contrast(scale.color(v)), draw.XCenter, draw.YCenter)
					writeText(c, style, x(m.X[k%len(m.X)]), y(m.Y[k/len(m.X)]), number(v, m.Decimals))
				}
			}
			strokePath(c, axisLine, c.Rectangle.Path())
		}))
		plots[i] = p
	}
	const height = vg.Length(210)
	width := maxWidth
	if columns == 1 {
		width = 400
	}
	return card{
		title: m.Title, width: width, description: fmt.Sprintf("Heat map of %s over %s and %s.", m.ZLabel, m.XLabel,
			m.YLabel),
		bodyHeight: panelRows(len(plots), columns, height+panelGap), records: m.records,
		body: func(c draw.Canvas) { drawColored(c, plots, columns, scale, m.ZLabel) },
	}.figure(), nil
}

// ticksAt labels an axis at the given values.
func ticksAt(values []float64) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(values))
	for i, v := range values {
		out[i] = plot.Tick{Value: v, Label: strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "-", "−", 1)}
	}
	return out
}

func (m Surface) validate() error {
	err := refuse(len(m.X) < 2 || len(m.Y) < 2 || len(m.Panels) == 0,
		"Surface needs a grid of at least 2×2 and a panel, got %d×%d and %d", len(m.X), len(m.Y), len(m.Panels))
	for field, axis := range map[string]struct {
		values      []float64
		logarithmic bool
	}{"X": {m.X, m.LogX}, "Y": {m.Y, m.LogY}} {
		err = check.First(err, checkFinite("Surface."+field, axis.values))
		for i, v := range axis.values {
			err = check.First(err, refuse(i > 0 && v <= axis.values[max(i-1, 0)] || axis.logarithmic && v <= 0,
				"Surface.%s[%d] = %g: want ascending numbers, positive on a logarithmic axis", field, i, v))
		}
	}
	return check.First(err, forEach("Surface.Panels", m.Panels, func(field string, panel SurfacePanel) error {
		return check.First(checkLength(field+".Z", len(panel.Z), len(m.X)*len(m.Y), "len(X)·len(Y)"),
			forEach(field+".Z", panel.Z, checkNotInfinite))
	}))
}

// edges are the boundaries of cells with the given centres, half way between them.
func edges(centres []float64, logarithmic bool) []float64 {
	to, from := func(v float64) float64 { return v }, func(v float64) float64 { return v }
	if logarithmic {
		to, from = math.Log, math.Exp
	}
	n := len(centres)
	out := make([]float64, n+1)
	for i := 1; i < n; i++ {
		out[i] = from((to(centres[i-1]) + to(centres[i])) / 2)
	}
	out[0] = from(to(centres[0]) - (to(centres[1])-to(centres[0]))/2)
	out[n] = from(to(centres[n-1]) + (to(centres[n-1])-to(centres[n-2]))/2)
	return out
}

func (m Surface) records() [][]string {
	out := csvLines{{"panel", m.XLabel, m.YLabel, m.ZLabel}}
	for _, p := range m.Panels {
		for i, z := range p.Z {
			out.add(p.Title, m.X[i%len(m.X)], m.Y[i/len(m.X)], z)
		}
	}
	return out
}
