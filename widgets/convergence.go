package widgets

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/method"
)

// Convergence shows split-R̂ and effective sample sizes of many quantities as bars, with the lines that they should
// respect (Vehtari et al. 2021). Bars on the wrong side are vermillion.
type Convergence struct {
	Title   string
	XLabel  string    // what the quantities are, for instance "state"
	RHat    []float64 // split-R̂ of each quantity
	BulkESS []float64 // bulk effective sample size of each
	TailESS []float64 // tail effective sample size of each, or nil
	MinESS  float64   // effective sample size that is wanted; 0 means no line
}

const (
	maxBars = 4000 // that can be told apart, nearly
	maxRHat = 1.01 // of chains that have mixed
)

// Figure implements Drawing.
func (m Convergence) Figure() (*Figure, error) {
	n := len(m.RHat)
	if err := check.First(
		refuse(n == 0, "Convergence.RHat is empty"), refuse(n > maxBars, "Convergence has %d quantities, "+
			"want at most %d: show the worst of them", n, maxBars),
		checkLength("Convergence.BulkESS", len(m.BulkESS), n, "as RHat"),
		checkEach("Convergence.TailESS", m.TailESS, n, "as RHat"), checkFinite("Convergence.RHat", m.RHat),
		checkFinite("Convergence.BulkESS", m.BulkESS), checkFinite("Convergence.TailESS", m.TailESS),
		refuse(!finite(m.MinESS), "Convergence.MinESS = %g is not finite", m.MinESS)); err != nil {
		return nil, err
	}
	plots := []*plot.Plot{
		barPanel("split-R̂", m.XLabel, m.RHat, min(1, slices.Min(m.RHat)), maxRHat,
			func(v float64) bool { return v > maxRHat }),
		barPanel("bulk effective sample size", m.XLabel, m.BulkESS, 0, m.MinESS,
			func(v float64) bool { return v < m.MinESS }),
	}
	if m.TailESS != nil {
		plots = append(plots, barPanel("tail effective sample size", m.XLabel, m.TailESS, 0, 0,
			func(float64) bool { return false }))
	}
	return card{
		title: m.Title, description: fmt.Sprintf("Split-R̂ and effective sample sizes of %d quantities.", n),
		bodyHeight: 150,
		body:       func(c draw.Canvas) { drawPanels(c, plots, len(plots)) }, records: m.records,
	}.figure(), nil
}

// barPanel draws bars from base up, and a line at limit unless it is 0.
func barPanel(title, xLabel string, values []float64, base, limit float64, wrong func(float64) bool) *plot.Plot {
	p := newPanel(title, xLabel, "")
	high := max(base, limit, slices.Max(values))
	p.X.Min, p.X.Max = -0.5, float64(len(values))-0.5
	p.X.Tick.Marker = wholeTicks{4}
	p.Y.Min, p.Y.Max = base, high+0.08*(high-base)
	if p.Y.Max <= p.Y.Min {
		p.Y.Max = p.Y.Min + 1
	}
	p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		for i, v := range values {
			col := skyBlue
			if wrong(v) {
				col = vermillion
			}
			low, high := x(float64(i)-0.5), x(float64(i)+0.5)
			gap := min(0.5, (high-low)/6)
			fillPath(c, col, rect(low+gap, c.Min.Y, high-gap, y(v)).Path())
		}
		if limit != 0 {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1, Dashes: dashes[method.Dashed]}, c.Min.X, y(limit),
				c.Max.X, y(limit))
		}
	}))
	return p
}

func (m Convergence) records() [][]string {
	out := csvLines{{m.XLabel, "rhat", "bulk_ess", "tail_ess"}}
	for i := range m.RHat {
		out.add(i, m.RHat[i], m.BulkESS[i], entryOrNaN(m.TailESS, i))
	}
	return out
}
