package widgets

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
)

// Dots compares methods by several metrics: a row for each method, a panel for each metric, a dot with a bar of ± one
// standard error for the estimate, and an open diamond for the published value.
type Dots struct {
	Title   string
	Methods []string // names as in result rows
	Names   []string // of the rows as shown, "" for the method's label; nil for the labels of all
	Panels  []DotPanel
	Same    bool // all panels have the same scale, which begins or ends at 0 if no number is beyond
}

// DotPanel is one metric of Dots.
type DotPanel struct {
	Title     string
	Label     string      // of the axis, with its unit
	Estimates []*Estimate // of each method; nil where there is none
	Published []*Estimate // published values of each method; nil where there is none, or for all
	Target    *float64    // vertical reference line; nil if there is none
}

// Figure implements Drawing.
func (m Dots) Figure() (*Figure, error) {
	n, published, bars := len(m.Methods), false, false
	if err := check.First(checkBoth("Dots", "methods", n, "panels", len(m.Panels)),
		checkEach("Dots.Names", m.Names, n, "one for each method"),
		checkMethods(m.Methods...), forEach("Dots.Panels", m.Panels, func(field string, p DotPanel) error {
			published = published || p.Published != nil
			bars = bars || slices.ContainsFunc(p.Estimates, func(e *Estimate) bool { return e != nil && e.StdErr > 0 })
			return check.First(checkLength(field+".Estimates", len(p.Estimates), n, "one for each method"),
				checkEach(field+".Published", p.Published, n, "one for each method"),
				checkNotInfinite(field+".Target", orNaN(p.Target)),
				forEach(field+".Estimates", p.Estimates, checkEstimate),
				forEach(field+".Published", p.Published, checkEstimate))
		})); err != nil {
		return nil, err
	}
	looks, shown := appearances(m.Methods), make([]string, n)
	for i := range looks {
		if m.Names != nil {
			looks[i].label = cmp.Or(m.Names[i], looks[i].label)
		}
		shown[i] = looks[i].label
	}
	const rowHeight = vg.Length(21)
	axisSpace := vg.Length(22)
	if slices.ContainsFunc(m.Panels, func(p DotPanel) bool { return p.Label != "" }) {
		axisSpace += labelLine
	}
	same := emptySpan()
	if m.Same {
		same.include(0)
		for _, p := range m.Panels {
			same.include(p.span().low, p.span().high)
		}
	}
	style := textStyle(textSize, ink, draw.XLeft, draw.YCenter)
	names := widest(style, looks) + 10
	var legend []legendEntry
	switch {
	case bars:
		legend = append(legend, legendEntry{"mean ± s.e.", func(c draw.Canvas) {
			c.StrokeLine2(draw.LineStyle{Color: oracle, Width: 1.2}, c.Min.X+2, c.Center().Y, c.Max.X-2, c.Center().Y)
			dot(c, oracle, c.Center(), 3)
		}})
	case published:
		legend = append(legend, legendEntry{"computed", func(c draw.Canvas) { dot(c, oracle, c.Center(), 3) }})
	}
	if published {
		legend = append(legend, legendEntry{"published", func(c draw.Canvas) { diamond(c, oracle, c.Center()) }})
	}
	rows := vg.Length(len(m.Methods))
	return card{
		title: m.Title, legend: legend, description: "Estimates of " + strings.Join(shown, ", ") + ".",
		bodyHeight: rows*rowHeight + axisSpace + titleSpace, records: m.records,
		body: func(c draw.Canvas) {
			for i, a := range looks {
				y := c.Max.Y - titleSpace - (vg.Length(i)+0.5)*rowHeight
				writeText(c, style, c.Min.X, y, a.label)
				c.StrokeLine2(gridLine, c.Min.X+names, y, c.Max.X, y)
			}
			width := (c.Max.X-c.Min.X-names)/vg.Length(len(m.Panels)) - panelGap
			for i, panel := range m.Panels {
				left := c.Min.X + names + vg.Length(i)*(width+panelGap)
				panel.paint(within(c, rect(left, c.Min.Y+axisSpace, left+width, c.Max.Y-titleSpace)), same, looks,
					rowHeight)
			}
		},
	}.figure(), nil
}

// span is the range of the panel's numbers.
func (p DotPanel) span() span {
	xs := emptySpan()
	xs.include(orNaN(p.Target))
	for _, list := range [][]*Estimate{p.Estimates, p.Published} {
		for _, e := range list {
			if e != nil {
				xs.include(e.Mean, e.Mean-e.StdErr, e.Mean+e.StdErr)
			}
		}
	}
	return xs
}

func (p DotPanel) paint(c draw.Canvas, xs span, looks []appearance, rowHeight vg.Length) {
	if xs.low > xs.high {
		xs = p.span()
	}
	xs = xs.padded(0.08)
	x := func(v float64) vg.Length { return c.X((v - xs.low) / (xs.high - xs.low)) }
	c.FillText(bold(textStyle(textSize, ink, draw.XCenter, draw.YBottom)), vg.Point{X: c.Center().X, Y: c.Max.Y + 3},
		p.Title)
	c.StrokeLine2(axisLine, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	for _, t := range (niceTicks{3}).Ticks(xs.low, xs.high) {
		c.StrokeLine2(axisLine, x(t.Value), c.Min.Y, x(t.Value), c.Min.Y-3)
		c.FillText(textStyle(smallSize, ink, draw.XCenter, draw.YTop), vg.Point{X: x(t.Value), Y: c.Min.Y - 5}, t.Label)
	}
	c.FillText(textStyle(smallSize, paleInk, draw.XCenter, draw.YTop), vg.Point{X: c.Center().X,
		Y: c.Min.Y - 5 - labelLine}, p.Label)
	if target := orNaN(p.Target); !math.IsNaN(target) {
		c.StrokeLine2(targetLine, x(target), c.Min.Y, x(target), c.Max.Y)
	}
	for i, e := range p.Estimates {
		y := c.Max.Y - (vg.Length(i)+0.5)*rowHeight
		if p.Published != nil && p.Published[i] != nil {
			diamond(c, looks[i].color, vg.Point{X: x(p.Published[i].Mean), Y: y})
		}
		if e == nil {
			continue
		}
		if !math.IsNaN(e.StdErr) {
			c.StrokeLine2(draw.LineStyle{Color: looks[i].color, Width: 1.4}, x(e.Mean-e.StdErr), y, x(e.Mean+e.StdErr),
				y)
		}
		fillPath(c, looks[i].color, disc(vg.Point{X: x(e.Mean), Y: y}, 3))
	}
}

func diamond(c draw.Canvas, col color.Color, at vg.Point) {
	const r = vg.Length(5) // wider than a dot, which it may lie behind
	p := polygon(vg.Point{X: at.X - r, Y: at.Y}, vg.Point{X: at.X, Y: at.Y + r}, vg.Point{X: at.X + r, Y: at.Y},
		vg.Point{X: at.X, Y: at.Y - r})
	fillPath(c, white, p)
	strokePath(c, draw.LineStyle{Color: col, Width: 1.1}, p)
}

func (m Dots) records() [][]string {
	out := csvLines{{"panel", "method", "source", "mean", "stderr"}}
	for _, p := range m.Panels {
		for k, list := range [][]*Estimate{p.Estimates, p.Published} {
			for i, e := range list {
				if e != nil {
					out.add(p.Title, m.Methods[i], []string{"estimate", "published"}[k], e.Mean, e.StdErr)
				}
			}
		}
		if p.Target != nil {
			out.add(p.Title, "", "target", *p.Target, "")
		}
	}
	return out
}
