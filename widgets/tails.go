package widgets

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
)

// Tails compares distributions by their means and their lower tails, such as the returns of several policies under a
// posterior: a row for each method with the density of its samples, the worst of them darker, their mean and the mean
// of the worst (the conditional value at risk).
type Tails struct {
	Title   string
	XLabel  string      // of the quantity, with its unit if it has one
	Level   float64     // fraction of the samples that is the tail, in (0, 1)
	Methods []string    // names as in result rows
	Panels  []TailPanel // such as worlds; side by side, up to 3 to a row
}

// TailPanel is one panel of Tails.
type TailPanel struct {
	Title   string
	Samples [][]float64 // of each method, in any order; nil leaves it out
	Truth   []float64   // true value of each method's quantity, a diamond; NaN for none, nil for none at all
}

// tailPoints is how many points the density of samples is drawn with.
const tailPoints = 72

// Figure implements Drawing.
func (m Tails) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	looks := appearances(m.Methods)
	xs := m.extent()
	const rowHeight, axisSpace = vg.Length(30), vg.Length(34)
	style := textStyle(textSize, ink, draw.XLeft, draw.YCenter)
	names := widest(style, looks) + 10
	columns := min(3, len(m.Panels))
	legend := []legendEntry{
		{"mean", func(c draw.Canvas) { dot(c, oracle, c.Center(), 3) }},
		{fmt.Sprintf("mean of the worst %g %%", 100*m.Level), func(c draw.Canvas) {
			tick(c, oracle, c.Center().X, c.Min.Y+1, c.Max.Y-1)
		}},
	}
	if slices.ContainsFunc(m.Panels, func(p TailPanel) bool { return p.Truth != nil }) {
		legend = append(legend, legendEntry{"under the true reward",
			func(c draw.Canvas) { diamond(c, oracle, c.Center()) }})
	}
	block := vg.Length(len(m.Methods))*rowHeight + axisSpace + titleSpace
	return card{
		title: m.Title, legend: legend,
		description: fmt.Sprintf("Densities of %s in %s: %s.", m.XLabel,
			progress.Count(len(m.Panels), "panel", "panels"), labels(m.Methods)),
		bodyHeight: panelRows(len(m.Panels), columns, block), records: m.records,
		body: func(c draw.Canvas) {
			width := (c.Max.X-c.Min.X-names)/vg.Length(columns) - panelGap
			for i, panel := range m.Panels {
				top := c.Max.Y - vg.Length(i/columns)*block - titleSpace
				left := c.Min.X + names + vg.Length(i%columns)*(width+panelGap)
				if i%columns == 0 {
					for j, a := range looks {
						writeText(c, style, c.Min.X, top-(vg.Length(j)+0.6)*rowHeight, a.label)
					}
				}
				area := rect(left, top-vg.Length(len(m.Methods))*rowHeight, left+width, top)
				m.paint(within(c, area), panel, looks, xs, rowHeight)
			}
		},
	}.figure(), nil
}

func (m Tails) paint(c draw.Canvas, panel TailPanel, looks []appearance, xs span, rowHeight vg.Length) {
	x := func(v float64) vg.Length { return c.X((v - xs.low) / (xs.high - xs.low)) }
	c.FillText(bold(textStyle(textSize, ink, draw.XCenter, draw.YBottom)), vg.Point{X: c.Center().X, Y: c.Max.Y + 3},
		panel.Title)
	for _, t := range (niceTicks{4}).Ticks(xs.low, xs.high) {
		c.StrokeLine2(gridLine, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		c.FillText(textStyle(smallSize, ink, draw.XCenter, draw.YTop), vg.Point{X: x(t.Value), Y: c.Min.Y - 5}, t.Label)
	}
	c.StrokeLine2(axisLine, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	c.FillText(textStyle(textSize, ink, draw.XCenter, draw.YTop), vg.Point{X: c.Center().X, Y: c.Min.Y - 17}, m.XLabel)
	for i, samples := range panel.Samples {
		if samples == nil {
			continue
		}
		t := newTail(samples, m.Level, xs)
		base := c.Max.Y - vg.Length(i+1)*rowHeight + 3
		y := func(density float64) vg.Length { return base + vg.Length(density/t.peak())*(rowHeight-7) }
		outline := func(until float64) []vg.Point {
			points := []vg.Point{{X: x(t.x[0]), Y: base}}
			for k, v := range t.x {
				if v <= until {
					points = append(points, vg.Point{X: x(v), Y: y(t.density[k])})
				}
			}
			return append(points, vg.Point{X: points[len(points)-1].X, Y: base})
		}
		fillPath(c, tint(looks[i].color, 0.25), polygon(outline(math.Inf(1))...))
		fillPath(c, tint(looks[i].color, 0.75), polygon(outline(t.quantile)...))
		c.StrokeLines(draw.LineStyle{Color: looks[i].color, Width: 0.9}, outline(math.Inf(1)))
		tick(c, looks[i].color, x(t.tail), base-2, base+(rowHeight-7)*0.8)
		if truth := entryOrNaN(panel.Truth, i); truth >= xs.low && truth <= xs.high {
			diamond(c, looks[i].color, vg.Point{X: x(truth), Y: base + 4})
		}
		dot(c, looks[i].color, vg.Point{X: x(t.mean), Y: base + 4}, 2.6)
	}
}

// tick paints a thick vertical line with a white rim.
func tick(c draw.Canvas, col color.Color, x, low, high vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: white, Width: 4}, x, low, x, high)
	c.StrokeLine2(draw.LineStyle{Color: col, Width: 2}, x, low, x, high)
}

// tail is what is drawn of one distribution.
type tail struct {
	x, density     []float64 // of the samples; the quantile is among the points, if it lies in the range
	mean, tail     float64   // of all samples, and of the worst
	quantile, size float64   // the tail's upper end, and the samples' standard deviation
}

func (t tail) peak() float64 { return slices.Max(t.density) }

// newTail estimates the density with a Gaussian kernel of Scott's bandwidth (1992).
func newTail(samples []float64, level float64, xs span) tail {
	sorted := slices.Sorted(slices.Values(samples))
	count := max(1, int(math.Round(level*float64(len(sorted)))))
	t := tail{mean: stat.Mean(sorted, nil), tail: stat.Mean(sorted[:count], nil), quantile: sorted[count-1],
		size: stat.PopStdDev(sorted, nil)}
	t.x = uniform(xs, tailPoints)
	width := t.size * math.Pow(float64(len(sorted)), -0.2)
	// a distribution that is narrower than the steps is drawn as wide as they are
	width = math.Max(width, 0.5*(t.x[1]-t.x[0]))
	if t.quantile > xs.low && t.quantile < xs.high {
		t.x = append(t.x, t.quantile)
		slices.Sort(t.x)
	}
	for _, x := range t.x {
		first, _ := slices.BinarySearch(sorted, x-5*width)
		sum := 0.0
		for _, v := range sorted[first:] {
			z := (v - x) / width
			if z > 5 {
				break
			}
			sum += math.Exp(-0.5 * z * z)
		}
		t.density = append(t.density, sum/(float64(len(sorted))*width*math.Sqrt(2*math.Pi)))
	}
	return t
}

// extent is the common horizontal range: all but 0.4 % of the samples on either side, and all marks.
func (m Tails) extent() span {
	xs := emptySpan()
	for _, panel := range m.Panels {
		for _, samples := range panel.Samples {
			if samples != nil {
				xs.includeMost(samples)
			}
		}
		xs.include(panel.Truth...)
	}
	return xs.padded(0.03)
}

func (m Tails) validate() error {
	return check.First(
		checkBoth("Tails", "panels", len(m.Panels), "methods", len(m.Methods)), checkMethods(m.Methods...),
		refuse(!(m.Level > 0 && m.Level < 1), "Tails.Level = %g is outside (0, 1)", m.Level),
		forEach("Tails.Panels", m.Panels, func(field string, panel TailPanel) error {
			shown := slices.ContainsFunc(panel.Samples, func(samples []float64) bool { return samples != nil })
			return check.First(checkLength(field+".Samples", len(panel.Samples), len(m.Methods), "one for each method"),
				checkEach(field+".Truth", panel.Truth, len(m.Methods), "one for each method"),
				forEach(field+".Truth", panel.Truth, checkNotInfinite),
				forEach(field+".Samples", panel.Samples, func(field string, samples []float64) error {
					return check.First(refuse(samples != nil && len(samples) < 2, "%s has %d samples, want at least 2",
						field, len(samples)), checkFinite(field, samples))
				}), refuse(!shown, "%s.Samples: all are nil, so that there is nothing to draw", field))
		}))
}

func (m Tails) records() [][]string {
	out := csvLines{{"panel", "method", "quantity", "value"}}
	for _, p := range m.Panels {
		for j, samples := range p.Samples {
			for _, v := range samples {
				out.add(p.Title, m.Methods[j], "sample", v)
			}
			if p.Truth != nil {
				out.add(p.Title, m.Methods[j], "true", p.Truth[j])
			}
		}
	}
	return out
}
