package widgets

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// newPanel returns an empty plot in the theme.
func newPanel(title, xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle = axisLine
		axis.Padding = 0
		axis.Label.Padding = 3
		axis.Label.TextStyle = textStyle(textSize, ink, draw.XCenter, draw.YBottom)
		axis.Tick.LineStyle = axis.LineStyle
		axis.Tick.Length = 3
		axis.Tick.Marker = niceTicks{5}
	}
	p.X.Tick.Label = textStyle(smallSize, ink, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = textStyle(smallSize, ink, draw.XRight, draw.YCenter)
	p.Y.Tick.Marker = niceTicks{4}
	p.Add(gridLines{})
	return p
}

// panelGap is the space between panels; a panel's title takes titleSpace above it.
const (
	panelGap   = vg.Length(14)
	titleSpace = vg.Length(17)
)

// panelRows returns the height of the rows of n panels, columns to a row.
func panelRows(n, columns int, height vg.Length) vg.Length {
	return vg.Length((n+columns-1)/columns) * height
}

// drawPanels paints plots row by row in aligned tiles, columns to a row.
func drawPanels(c draw.Canvas, plots []*plot.Plot, columns int) { drawLabelled(c, plots, columns, 0) }

// drawColored does so and leaves room on the right for the bar of a colour scale.
func drawColored(c draw.Canvas, plots []*plot.Plot, columns int, scale colorScale, label string) {
	drawPanels(draw.Crop(c, 0, -barWidth-panelGap, 0, 0), plots, columns)
	side := draw.Crop(c, c.Max.X-c.Min.X-barWidth, 0, 0, -18)
	side.Min.Y = side.Max.Y - 150
	scale.paint(side, label)
}

// drawLabelled does so and leaves room on the right of each panel for labels.
func drawLabelled(c draw.Canvas, plots []*plot.Plot, columns int, room vg.Length) {
	rows := (len(plots) + columns - 1) / columns
	grid, titles, labels := make([][]*plot.Plot, rows), make([]string, len(plots)), make([]string, len(plots))
	space := vg.Length(4)
	for i, p := range plots {
		// The titles are set here, since a plot's own depends on how far its tick labels stick out.
		if titles[i], p.Title.Text = p.Title.Text, ""; titles[i] != "" {
			space = titleSpace
		}
		// Gonum leaves room for a label in the middle of an axis's numbers, which is no middle of a logarithmic axis.
		if _, ok := p.Y.Scale.(plot.LinearScale); !ok && p.Y.Label.Text != "" {
			labels[i], p.Y.Label.Text = p.Y.Label.Text, " "
		}
		grid[i/columns] = append(grid[i/columns], p)
	}
	for len(grid[rows-1]) < columns {
		grid[rows-1] = append(grid[rows-1], nil)
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: panelGap + room, PadY: panelGap/2 + space,
		PadTop: space, PadRight: 4 + room}
	style := bold(textStyle(textSize, ink, draw.XCenter, draw.YCenter))
	canvases := plot.Align(grid, tiles, c)
	for i, p := range plots {
		tile := canvases[i/columns][i%columns]
		p.Draw(tile)
		data := p.DataCanvas(tile)
		writeText(c, style, data.Center().X, data.Max.Y+titleSpace/2+1, titles[i])
		p.Title.Text = titles[i] // a figure may be drawn again
		if labels[i] != "" {
			across := p.Y.Label.TextStyle
			across.Rotation += math.Pi / 2
			x := tile.Min.X + across.Height(labels[i]) - across.FontExtents().Descent
			tile.FillText(across, vg.Point{X: x, Y: data.Center().Y}, labels[i])
			p.Y.Label.Text = labels[i]
		}
	}
}

// gridLines are horizontal lines at the ticks of the vertical axis.
type gridLines struct{}

func (gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	_, yOf := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" && t.Value > p.Y.Min && t.Value <= p.Y.Max {
			y := yOf(t.Value)
			c.StrokeLine2(gridLine, c.Min.X, y, c.Max.X, y)
		}
	}
}

// painter is a plotter made of a function, which gets the transforms from data to canvas.
type painter func(c draw.Canvas, x, y func(float64) vg.Length)

func (f painter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	f(c, x, y)
}

// niceTicks are about n ticks at multiples of 1, 2, 2.5 or 5 times a power of ten.
type niceTicks struct{ n int }

func (t niceTicks) Ticks(low, high float64) []plot.Tick {
	return multiples(niceStep(high-low, t.n), low, high)
}

// wholeTicks are about n ticks at whole numbers, such as those of states.
type wholeTicks struct{ n int }

func (t wholeTicks) Ticks(low, high float64) []plot.Tick {
	return multiples(math.Ceil(niceStep(high-low, t.n)), low, high)
}

// multiples returns ticks at the multiples of a step, as far as they can be counted.
func multiples(step, low, high float64) []plot.Tick {
	const countable = 1 << 52 // beyond twice this, i+1 is i
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step && math.Abs(i) < countable; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: number(i*step, decimals(step))})
	}
	return ticks
}

func niceStep(span float64, n int) float64 {
	raw := span / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= 0.75*raw {
			return m * power
		}
	}
	return 10 * power
}

// decimals is the number of decimals that a multiple of step needs.
func decimals(step float64) int {
	for d := 0; d < 12; d++ {
		scaled := step * math.Pow(10, float64(d))
		if math.Abs(scaled-math.Round(scaled)) < 1e-6*scaled {
			return d
		}
	}
	return 12
}

// logTicks are ticks for a logarithmic axis: the powers of ten, and 2 and 5 times them where there are few; those of a
// linear one where the range is short.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	decades := math.Min(math.Log10(high/low), 2*decadesAtMost) // high/low may overflow
	if decades < 0.6 {
		return niceTicks{4}.Ticks(low, high)
	}
	every := max(1, int(math.Ceil(decades/6)))
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, float64(e))
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			label := ""
			if m == 1 && (e-first)%every == 0 || decades <= 2 && (m == 2 || m == 5) {
				label = shortNumber(v)
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// span is a closed range of numbers that grows to include what it is given.
type span struct{ low, high float64 }

func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) include(values ...float64) {
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.low, s.high = math.Min(s.low, v), math.Max(s.high, v)
		}
	}
}

// includeMost includes all samples but marginalTail of them at each end.
func (s *span) includeMost(samples []float64) {
	sorted := slices.Sorted(slices.Values(samples))
	cut := int(marginalTail * float64(len(sorted)))
	s.include(sorted[cut], sorted[len(sorted)-1-cut])
}

// padded returns the span widened by a fraction on both sides, and never empty.
func (s span) padded(fraction float64) span {
	if s.low > s.high {
		return span{0, 1}
	}
	width := s.high - s.low
	if width <= 1e-9*math.Max(math.Abs(s.low), math.Abs(s.high)) || width == 0 {
		width = math.Max(math.Abs(s.high), 1)
	}
	return span{s.low - fraction*width, s.high + fraction*width}
}
