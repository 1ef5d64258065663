package widgets

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/method"
)

// Curves shows lines with error bands in one or more panels: learning curves, a metric over a hyper-parameter, an
// objective during optimisation. Labels stand at the ends of lines where no panel has more than four and there is room;
// otherwise there is one legend.
type Curves struct {
	Title   string
	Panels  []CurvePanel
	Columns int               // panels to a row; 0 means up to 3
	Notes   map[string]string // by name of a curve: what a legend adds to its label
}

// The parts of a figure of curves.
type (
	CurvePanel = exhibit.Panel
	Curve      = exhibit.Curve
	Level      = exhibit.Level
	Mark       = exhibit.Mark
)

// curvePanel and curve check and draw them.
type (
	curvePanel exhibit.Panel
	curve      exhibit.Curve
)

// Figure implements Drawing.
func (m Curves) Figure() (*Figure, error) {
	looks, order := m.looks()
	if err := check.First(refuse(len(m.Panels) == 0, "Curves has no panels"), checkColumns("Curves", m.Columns),
		ours(method.CheckCurves(order...)), forEach("Curves.Panels", m.Panels, func(field string, p CurvePanel) error {
			return curvePanel(p).validate(field)
		})); err != nil {
		return nil, err
	}
	columns := min(cmp.Or(m.Columns, 3), len(m.Panels))
	plots := make([]*plot.Plot, len(m.Panels))
	height := vg.Length(185)
	if columns == 2 {
		height = 230
	}
	width := maxWidth
	if len(m.Panels) == 1 {
		height, width = 250, 520
	}
	room := m.labelRoom(looks, (width-2*cardPad)/vg.Length(columns))
	legend := m.legend(order, looks)
	if room > 0 {
		legend = m.bands()
	}
	for i, panel := range m.Panels {
		plots[i] = curvePanel(panel).plot(looks, room, (width-2*cardPad)/vg.Length(columns))
	}
	return card{
		title: m.Title, legend: legend, width: width,
		description: fmt.Sprintf("Curves of %s over %s: %s.", m.Panels[0].YLabel, m.Panels[0].XLabel, labels(order)),
		bodyHeight:  panelRows(len(plots), columns, height+panelGap) - panelGap,
		body:        func(c draw.Canvas) { drawLabelled(c, plots, columns, room) }, records: m.records,
	}.figure(), nil
}

// looks returns the appearance of every name in the figure, and the names in order.
func (m Curves) looks() (map[string]appearance, []string) {
	var order []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			order = append(order, name)
		}
	}
	for _, panel := range m.Panels {
		for _, curve := range panel.Curves {
			add(curve.Name)
		}
		for _, level := range panel.Levels {
			add(level.Name)
		}
	}
	looks := map[string]appearance{}
	for i, a := range appearances(order) {
		looks[order[i]] = a
	}
	return looks, order
}

// legend returns an entry for each name, and those of bands.
func (m Curves) legend(order []string, looks map[string]appearance) []legendEntry {
	var out []legendEntry
	lone := map[string]bool{}
	for _, p := range m.Panels {
		for _, k := range p.Curves {
			before, ok := lone[k.Name]
			lone[k.Name] = len(k.X) == 1 && (before || !ok)
		}
	}
	for _, name := range order {
		if lone[name] {
			continue // its name stands at the point
		}
		label := looks[name].label
		if note := m.Notes[name]; note != "" {
			label += " (" + note + ")"
		}
		out = append(out, lineEntry(label, looks[name].line(lineWidth)))
	}
	return append(out, m.bands()...)
}

// bands returns an entry for each kind of band or bar, which says what it is, and one for published values.
func (m Curves) bands() []legendEntry {
	var out []legendEntry
	seen := map[string]bool{}
	for _, panel := range m.Panels {
		for _, curve := range panel.Curves {
			name := curve.Band
			if curve.StdErr != nil {
				name = "± s.e."
			}
			if curve.StdErr == nil && curve.Low == nil || seen[name] {
				continue
			}
			seen[name] = true
			grey := appearance{color: axisGrey}
			if panel.Bars {
				out = append(out, verticalEntry(name, grey.line(1)))
			} else {
				out = append(out, bandEntry(name, grey))
			}
		}
	}
	if slices.ContainsFunc(m.Panels, func(p CurvePanel) bool {
		return slices.ContainsFunc(p.Curves, func(k Curve) bool { return k.Published != nil })
	}) {
		out = append(out, legendEntry{"published", func(c draw.Canvas) { diamond(c, oracle, c.Center()) }})
	}
	return out
}

func (p curvePanel) validate(field string) error {
	r, log := p.YRange, p.logY()
	return check.First(refuse(len(p.Curves) == 0, "%s has no curves", field),
		forEach(field+".Curves", p.Curves, func(field string, c Curve) error {
			return curve(c).validate(field, p.LogX, log)
		}),
		forEach(field+".Levels", p.Levels, func(field string, level Level) error {
			return refuse(!finite(level.Y) || tooLarge(level.Y) || log.lacks(level.Y),
				"%s.Y = %g cannot be drawn on this axis", field, level.Y)
		}), forEach(field+".Marks", p.Marks, func(field string, mark Mark) error {
			return refuse(!finite(mark.X) || tooLarge(mark.X) || logOf(p.LogX).lacks(mark.X),
				"%s.X = %g cannot be drawn on this axis", field, mark.X)
		}), refuse(r != nil && (!(r[0] < r[1]) || math.IsInf(r[1]-r[0], 0) || log.lacks(r[0], r[1])),
			"%s.YRange = %v is not a range for this axis", field, *cmp.Or(r, &[2]float64{})))
}

func (k curve) validate(field string, logX bool, logY logAxis) error {
	banded := k.Low != nil || k.High != nil
	if err := check.First(refuse(len(k.X) == 0, "%s has no points", field), checkLength(field+".Y", len(k.Y), len(k.X),
		"as X"),
		checkEach(field+".StdErr", k.StdErr, len(k.X), "as X"),
		checkEach(field+".Published", k.Published, len(k.X), "as X"), checkEach(field+".Low", k.Low, len(k.X), "as X"),
		checkLength(field+".High", len(k.High), len(k.Low), "as Low"), refuse(banded && (k.StdErr != nil ||
			k.Band == ""), "%s has Low and High: want a Band that names them, and no StdErr", field),
		checkFinite(field+".X", k.X)); err != nil {
		return err
	}
	for i := range k.X {
		switch {
		case k.Low != nil && !(-largest <= k.Low[i] && k.Low[i] <= k.High[i] && k.High[i] <= largest):
			return fmt.Errorf("widgets: %s.Low[%d] = %g and High[%d] = %g, want finite numbers in this order, from "+
				"−1e300 to 1e300", field, i, k.Low[i], i, k.High[i])
		case k.Low != nil && logY.lacks(k.Low[i], k.High[i]):
			return fmt.Errorf("widgets: %s.Low[%d] = %g and High[%[2]d] = %[4]g cannot be drawn on a logarithmic axis",
				field, i, k.Low[i], k.High[i])
		case i > 0 && k.X[i] < k.X[i-1]:
			return fmt.Errorf("widgets: %s.X[%d] = %g is below its predecessor %g", field, i, k.X[i], k.X[i-1])
		case logOf(logX).lacks(k.X[i]):
			return fmt.Errorf("widgets: %s.X[%d] = %g cannot be drawn on a logarithmic axis", field, i, k.X[i])
		case logY.lacks(k.Y[i]):
			return fmt.Errorf("widgets: %s.Y[%d] = %g cannot be drawn on a logarithmic axis", field, i, k.Y[i])
		case k.Published != nil && (tooLarge(k.Published[i]) || logY.lacks(k.Published[i])):
			return fmt.Errorf("widgets: %s.Published[%d] = %g cannot be drawn on this axis", field, i, k.Published[i])
		case tooLarge(k.Y[i]):
			return fmt.Errorf("widgets: %s.Y[%d] = %g%s", field, i, k.Y[i], cannotDraw)
		case k.StdErr != nil && (k.StdErr[i] < 0 || tooLarge(k.StdErr[i])):
			return fmt.Errorf("widgets: %s.StdErr[%d] = %g, want a number from 0 to 1e300", field, i, k.StdErr[i])
		}
	}
	return nil
}

// bounds returns the ends of the band around point i, the point itself without one.
func (k curve) bounds(i int, logY logAxis) (low, high float64) {
	if k.Low != nil {
		return k.Low[i], k.High[i]
	}
	if k.StdErr == nil || math.IsNaN(k.StdErr[i]) {
		return k.Y[i], k.Y[i]
	}
	low, high = k.Y[i]-k.StdErr[i], k.Y[i]+k.StdErr[i]
	if logY.lacks(low) {
		low = k.Y[i] / 10
	}
	if logY.lacks(high) {
		high = k.Y[i] / 10
	}
	return low, high
}

func (p curvePanel) plot(looks map[string]appearance, room, width vg.Length) *plot.Plot {
	out := newPanel(p.Title, p.XLabel, p.YLabel)
	if room > 0 { // which the panel lacks
		out.X.Tick.Marker = niceTicks{4}
	}
	xs, ys, log := emptySpan(), emptySpan(), p.logY()
	for _, c := range p.Curves {
		for i := range c.X {
			xs.include(c.X[i])
			ys.include(curve(c).bounds(i, log))
		}
		ys.include(c.Published...)
	}
	for _, level := range p.Levels {
		ys.include(level.Y)
	}
	for _, mark := range p.Marks {
		xs.include(mark.X)
	}
	pad := 0.02
	if p.Bars {
		pad = 0.06 // room for those that are moved sideways
	}
	if names := p.pointRoom(looks, xs.low); room == 0 && names > 0 && xs.high > xs.low {
		share := float64(names / (0.8*width - names)) // a fifth is for the vertical axis
		if p.LogX {
			xs.low *= math.Pow(xs.low/xs.high, share)
		} else {
			xs.low -= share * (xs.high - xs.low)
		}
	}
	setRange(&out.X, xs, logOf(p.LogX), pad)
	if ticks := p.ticksAtPoints(); p.LogX && len(ticks) <= fewTicks {
		out.X.Tick.Marker = ticks
	}
	setRange(&out.Y, ys, log, 0.06)
	if len(p.Marks) > 0 && !p.LogY { // room for the notes
		out.Y.Max += 0.1 * (out.Y.Max - out.Y.Min)
	}
	if p.YRange != nil {
		out.Y.Min, out.Y.Max = p.YRange[0], p.YRange[1]
	}
	out.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		for _, level := range p.Levels {
			c.StrokeLine2(looks[level.Name].line(1), c.Min.X, y(level.Y), c.Max.X, y(level.Y))
		}
		shifts := p.shifts(x)
		for i, k := range p.Curves {
			if p.Bars {
				curve(k).paintBars(c, shifts[i], y, looks[k.Name], log)
			} else {
				curve(k).paintBand(c, x, y, looks[k.Name], log)
			}
		}
		for i, k := range p.Curves {
			for j, v := range k.Published {
				if !math.IsNaN(v) {
					diamond(c, looks[k.Name].color, vg.Point{X: shifts[i](k.X[j]), Y: y(v)})
				}
			}
		}
		for i, k := range p.Curves {
			a := looks[k.Name]
			curve(k).runs(func(from, to int) {
				line := pointsAt(shifts[i], y, k.X[from:to], k.Y[from:to])
				c.StrokeLines(a.line(lineWidth), c.ClipLinesXY(line)...)
			})
			curve(k).paintDots(c, shifts[i], y, a)
		}
		if room > 0 {
			p.paintLabels(c, x, y, looks, room)
		} else {
			p.paintPointLabels(c, x, y, looks)
		}
		for _, mark := range p.Marks {
			c.StrokeLine2(markLine, x(mark.X), c.Min.Y, x(mark.X), c.Max.Y)
			style := textStyle(smallSize, paleInk, draw.XLeft, draw.YCenter)
			at := x(mark.X) + 3
			if at+style.Width(mark.Note) > c.Max.X {
				style.XAlign, at = draw.XRight, x(mark.X)-3
			}
			writeBacked(c, style, at, c.Max.Y-6, mark.Note)
		}
	}))
	return out
}

// paintPointLabels names curves of a single point, left of it where there is room.
func (p curvePanel) paintPointLabels(c draw.Canvas, x, y func(float64) vg.Length, looks map[string]appearance) {
	for _, k := range p.Curves {
		if a := looks[k.Name]; len(k.X) == 1 {
			style, at := textStyle(smallSize, a.color, draw.XRight, draw.YCenter), x(k.X[0])-pointGap
			if at-style.Width(a.label) < c.Min.X {
				style.XAlign, at = draw.XLeft, x(k.X[0])+pointGap
			}
			writeText(c, style, at, y(k.Y[0]), a.label)
		}
	}
}

// pointGap is between a point and its name.
const pointGap = vg.Length(6)

// pointRoom returns how wide the names of curves are that have one point, the leftmost of the panel.
func (p curvePanel) pointRoom(looks map[string]appearance, leftmost float64) vg.Length {
	room, style := vg.Length(0), textStyle(smallSize, ink, draw.XRight, draw.YCenter)
	for _, k := range p.Curves {
		if len(k.X) == 1 && k.X[0] <= leftmost {
			room = max(room, style.Width(looks[k.Name].label)+pointGap)
		}
	}
	return room
}

// fewTicks is the largest number of points at which a logarithmic axis has ticks, instead of at round numbers.
const fewTicks = 8

// ticksAtPoints returns a tick at every x of the curves.
func (p curvePanel) ticksAtPoints() (ticks plot.ConstantTicks) {
	var xs []float64
	for _, c := range p.Curves {
		xs = append(xs, c.X...)
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		ticks = append(ticks, plot.Tick{Value: x, Label: shortNumber(x)})
	}
	return ticks
}

// runs calls paint with each stretch of points that no NaN interrupts.
func (k curve) runs(paint func(from, to int)) {
	from := 0
	for i := 0; i <= len(k.Y); i++ {
		if i == len(k.Y) || math.IsNaN(k.Y[i]) {
			if i > from {
				paint(from, i)
			}
			from = i + 1
		}
	}
}

// shifts returns how the points of each curve are moved from x to canvas: apart sideways where they have error bars.
func (p curvePanel) shifts(x func(float64) vg.Length) []func(float64) vg.Length {
	out := make([]func(float64) vg.Length, len(p.Curves))
	for i := range out {
		by := vg.Length(0)
		if p.Bars {
			by = 2.8 * (vg.Length(i) - vg.Length(len(p.Curves)-1)/2)
		}
		out[i] = func(v float64) vg.Length { return x(v) + by }
	}
	return out
}

// dotSpace is how far apart points of a broken line are at least that get dots, so that these leave dashes visible.
const dotSpace = vg.Length(13)

func (k curve) paintDots(c draw.Canvas, x, y func(float64) vg.Length, a appearance) {
	for i := range k.X {
		if !k.Points || a.dashes != nil && i > 0 && x(k.X[i])-x(k.X[i-1]) < dotSpace {
			return
		}
	}
	for i := range k.X {
		at := vg.Point{X: x(k.X[i]), Y: y(k.Y[i])}
		if !math.IsNaN(k.Y[i]) && c.Contains(at) {
			fillPath(c, a.color, disc(at, 2.1))
		}
	}
}

func (k curve) paintBars(c draw.Canvas, x, y func(float64) vg.Length, a appearance, logY logAxis) {
	for i := range k.X {
		if low, high := k.bounds(i, logY); high > low {
			line := c.ClipLinesXY([]vg.Point{{X: x(k.X[i]), Y: y(low)}, {X: x(k.X[i]), Y: y(high)}})
			c.StrokeLines(draw.LineStyle{Color: a.color, Width: 1}, line...)
		}
	}
}

func (k curve) paintBand(c draw.Canvas, x, y func(float64) vg.Length, a appearance, logY logAxis) {
	if k.StdErr == nil && k.Low == nil {
		return
	}
	k.runs(func(from, to int) {
		points := make([]vg.Point, 2*(to-from))
		for i := from; i < to; i++ {
			low, high := k.bounds(i, logY)
			points[i-from] = vg.Point{X: x(k.X[i]), Y: y(low)}
			points[len(points)-1-(i-from)] = vg.Point{X: x(k.X[i]), Y: y(high)}
		}
		if clipped := c.ClipPolygonXY(points); len(clipped) > 2 {
			fillPath(c, fade(a.color, bandAlpha), polygon(clipped...))
		}
	})
}

func (m Curves) records() [][]string {
	out := csvLines{{"panel", "curve", "x", "y", "low", "high"}}
	for _, p := range m.Panels {
		for _, k := range p.Curves {
			for i := range k.X {
				low, high := math.NaN(), math.NaN()
				switch {
				case k.Low != nil:
					low, high = k.Low[i], k.High[i]
				case k.StdErr != nil:
					low, high = k.Y[i]-k.StdErr[i], k.Y[i]+k.StdErr[i]
				}
				out.add(p.Title, k.Name, k.X[i], k.Y[i], low, high)
			}
			for i, v := range k.Published {
				if !math.IsNaN(v) {
					out.add(p.Title, k.Name+", published", k.X[i], v, "", "")
				}
			}
		}
		for _, l := range p.Levels {
			out.add(p.Title, l.Name, "", l.Y, "", "")
		}
		for _, k := range p.Marks {
			out.add(p.Title, k.Note, k.X, "", "", "")
		}
	}
	return out
}
