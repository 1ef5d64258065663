package widgets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Distribution is a distribution on the real line. Gonum's distuv.Normal is one.
type Distribution = exhibit.Marginal

// Sampled is a Distribution that is known through samples. It is drawn as a histogram of them instead of a curve.
type Sampled interface {
	Distribution
	Sorted() []float64 // in ascending order
}

// Marginals compares distributions panel by panel: the marginal posteriors of several states, or, in one panel, the
// distributions of a return. All panels have the same horizontal range. A density that is much higher than the rest,
// as that of a collapsed posterior, is cut off and its peak noted, so that the others stay readable.
type Marginals struct {
	Title   string
	XLabel  string   // of the quantity, with its unit if it has one
	Methods []string // names as in result rows, or labels (see Label), in the order in which they are drawn
	Panels  []MarginalPanel
	Columns int // panels to a row; 0 means up to 3

	// Choices are what the sliders of the interactive view choose; without any there is one control over all panels.
	// The panels are those of all combinations, the last choice varying fastest.
	Choices []Choice
}

// Choice is a slider of an interactive view with a number of positions.
type Choice struct {
	Name      string // beside the slider
	Positions int    // how many it has
}

// MarginalPanel is one panel of Marginals.
type MarginalPanel struct {
	Title         string
	Distributions []Distribution // one for each of the Methods; nil leaves the method out of this panel
	Truth         *float64       // true value, drawn as a vertical line; nil if there is none
}

// orNaN returns what p points to; NaN if that is nothing.
func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// entryOrNaN returns number i of a list; NaN if there is no list.
func entryOrNaN(list []float64, i int) float64 {
	if list == nil {
		return math.NaN()
	}
	return list[i]
}

const (
	curvePoints  = 240 // points of a density curve over the horizontal range
	spikeFactor  = 3.0 // a peak is cut off where it is this many times higher than the reference
	panelHeight  = vg.Length(165)
	maxPanels    = 1000
	marginalTail = 0.004 // the horizontal range leaves out this much of each distribution at each end
)

// Figure implements Drawing.
func (m Marginals) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	looks := appearances(m.Methods)
	xs := m.extent()
	kinds := make([]legendEntry, len(m.Methods))
	plots := make([]*plot.Plot, len(m.Panels))
	truth := false
	for i, panel := range m.Panels {
		shapes := panel.shapes(xs, looks)
		for j, s := range shapes {
			if panel.Distributions[j] != nil {
				kinds[j] = s.legend()
			}
		}
		truth = truth || !math.IsNaN(orNaN(panel.Truth))
		p := newPanel(panel.Title, "", "")
		if i%m.columns() == 0 {
			p.Y.Label.Text = "density"
		}
		if i+m.columns() >= len(m.Panels) {
			p.X.Label.Text = m.XLabel
		}
		p.X.Min, p.X.Max = xs.low, xs.high
		p.Y.Min, p.Y.Max = 0, ceiling(shapes)
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
			paintShapes(c, x, y, shapes, p.Y.Max)
			if truth := orNaN(panel.Truth); !math.IsNaN(truth) {
				c.StrokeLine2(truthLine, x(truth), c.Min.Y, x(truth), c.Max.Y)
			}
			notePeaks(c, x, shapes, p.Y.Max)
		}))
		plots[i] = p
	}
	var legend []legendEntry
	for _, e := range kinds {
		if e.sample != nil {
			legend = append(legend, e)
		}
	}
	if truth {
		legend = append(legend, verticalEntry("true value", truthLine))
	}
	return card{
		title: m.Title, legend: legend,
		description: fmt.Sprintf("Densities of %s in %s: %s.", m.XLabel,
			progress.Count(len(m.Panels), "panel", "panels"), labels(m.Methods)),
		bodyHeight: panelRows(len(plots), m.columns(), panelHeight+panelGap) + 12,
		body:       func(c draw.Canvas) { drawPanels(c, plots, m.columns()) }, records: m.records,
	}.figure(), nil
}

// extent is the common horizontal range of all panels.
func (m Marginals) extent() span {
	xs := emptySpan()
	for _, panel := range m.Panels {
		xs.include(orNaN(panel.Truth))
		for _, d := range panel.Distributions {
			if d != nil {
				xs.include(d.Quantile(marginalTail), d.Quantile(1-marginalTail))
			}
		}
	}
	return xs.padded(0.03)
}

func (m Marginals) columns() int {
	return min(cmp.Or(m.Columns, 3), len(m.Panels))
}

func (m Marginals) validate() error {
	if err := check.First(checkBoth("Marginals", "panels", len(m.Panels), "methods", len(m.Methods)),
		refuse(len(m.Panels) > maxPanels, "Marginals has %d panels, want at most %d: show some of them", len(m.Panels),
			maxPanels), checkMethods(m.Methods...), checkColumns("Marginals", m.Columns)); err != nil {
		return err
	}
	combinations := 1
	err := forEach("Marginals.Choices", m.Choices, func(field string, c Choice) error {
		combinations *= c.Positions
		return refuse(c.Positions < 1, "%s has %d positions, want at least 1", field, c.Positions)
	})
	return check.First(
		err, refuse(len(m.Choices) > 0 && combinations != len(m.Panels), "Marginals.Choices combine to %d "+
			"panels, but there are %d", combinations, len(m.Panels)),
		forEach("Marginals.Panels", m.Panels, func(field string, panel MarginalPanel) error {
			shown := false
			err := forEach(field+".Distributions", panel.Distributions, func(field string, d Distribution) error {
				if d == nil {
					return nil
				}
				shown = true
				return checkMarginal(field, d)
			})
			return check.First(checkLength(field+".Distributions", len(panel.Distributions), len(m.Methods),
				"one for each method"), checkNotInfinite(field+".Truth", orNaN(panel.Truth)), err,
				refuse(!shown, "%s.Distributions: all are nil, so that there is nothing to draw", field))
		}))
}

// checkMarginal refuses a distribution that cannot be drawn.
func checkMarginal(field string, d Distribution) error {
	if d == nil {
		return fmt.Errorf("widgets: %s is nil", field)
	}
	if of, ok := d.(Sampled); ok && len(of.Sorted()) < 2 {
		return fmt.Errorf("widgets: %s has %d samples, want at least 2", field, len(of.Sorted()))
	}
	return check.First(checkFinite(field+": mean, std, quantiles", []float64{d.Mean(), d.StdDev(),
		d.Quantile(marginalTail), d.Quantile(1 - marginalTail)}), refuse(d.StdDev() < 0,
		"%s has the negative standard deviation %g", field, d.StdDev()))
}

// shapes returns those of a panel's distributions, of which the first histogram is filled; empty ones where there is no
// distribution.
func (p MarginalPanel) shapes(xs span, looks []appearance) []shape {
	out, filled := make([]shape, len(looks)), false
	for j, d := range p.Distributions {
		if d != nil {
			out[j] = newShape(d, xs, looks[j])
			out[j].filled = out[j].bins != nil && !filled
			filled = filled || out[j].filled
		}
	}
	return out
}

// shape is one distribution made ready to paint: a histogram or a curve.
type shape struct {
	look     appearance
	filled   bool // histograms: as filled bars, else as an outline
	edges    []float64
	bins     []float64 // density in each bin
	x, y     []float64 // curve
	peak     float64
	mean, sd float64
}

func newShape(d Distribution, xs span, look appearance) shape {
	s := shape{look: look, mean: d.Mean(), sd: d.StdDev()}
	if sampled, ok := d.(Sampled); ok {
		s.edges, s.bins = histogram(sampled.Sorted(), xs)
		s.peak = slices.Max(s.bins)
		return s
	}
	s.x = append(uniform(xs, curvePoints), s.detail(xs)...)
	slices.Sort(s.x)
	for _, x := range s.x {
		s.y = append(s.y, density(d, x))
	}
	s.peak = slices.Max(s.y)
	return s
}

// detail returns the points around its mean that a narrow density needs beside the uniform ones.
func (s shape) detail(xs span) []float64 {
	if s.bins != nil || s.sd >= (xs.high-xs.low)/40 {
		return nil
	}
	var x []float64
	if s.sd == 0 {
		x = append(x, s.mean)
	}
	for k := -40; k <= 40 && s.sd > 0; k++ {
		if at := s.mean + s.sd*float64(k)/8; at > xs.low && at < xs.high {
			x = append(x, at)
		}
	}
	return x
}

// pointMass stands for the infinite density of a distribution without spread.
const pointMass = 1e12

func density(d Distribution, x float64) float64 {
	v := math.Exp(d.LogProb(x))
	if math.IsNaN(v) {
		// Gonum's normal distribution with σ = 0, at its mean or elsewhere.
		if v = 0; x == d.Mean() {
			v = pointMass
		}
	}
	return math.Min(v, pointMass)
}

// histogram returns the edges and densities of bins of Freedman and Diaconis' width (1981), 12 to 60 of them over the
// range.
func histogram(sorted []float64, xs span) (edges, density []float64) {
	n := len(sorted)
	iqr := sorted[(3*n)/4] - sorted[n/4]
	bins := 30
	if iqr > 0 {
		bins = int(math.Ceil((xs.high - xs.low) / (2 * iqr * math.Pow(float64(n), -1./3))))
	}
	bins = min(max(bins, 12), 60)
	width := (xs.high - xs.low) / float64(bins)
	for i := 0; i <= bins; i++ {
		edges = append(edges, xs.low+float64(i)*width)
	}
	return edges, binned(sorted, xs, bins)
}

// binned returns the densities of numbers in bins over a range.
func binned(numbers []float64, xs span, bins int) []float64 {
	density, width := make([]float64, bins), (xs.high-xs.low)/float64(bins)
	for _, v := range numbers {
		if at := int(math.Floor((v - xs.low) / width)); at >= 0 && at < bins {
			density[at] += 1 / (float64(len(numbers)) * width)
		}
	}
	return density
}

// ceiling is the upper end of the vertical axis: above the highest peak, unless that is a spike, which is cut off. The
// reference for what counts as a spike is the histogram or, without one, the flattest curve.
func ceiling(shapes []shape) float64 {
	reference, highest := 0.0, 0.0
	flattest := math.Inf(1)
	for _, s := range shapes {
		if s.peak == 0 {
			continue
		}
		if s.bins != nil {
			reference = math.Max(reference, s.peak)
		}
		flattest = math.Min(flattest, s.peak)
	}
	reference = cmp.Or(reference, flattest)
	for _, s := range shapes {
		if s.peak <= spikeFactor*reference {
			highest = math.Max(highest, s.peak)
		}
	}
	if highest == 0 || math.IsInf(highest, 0) {
		return 1
	}
	for _, s := range shapes {
		if s.peak > spikeFactor*reference {
			return 1.5 * highest // room for the notes
		}
	}
	return 1.1 * highest
}

func paintShapes(c draw.Canvas, x, y func(float64) vg.Length, shapes []shape, top float64) {
	for _, s := range shapes {
		if s.bins == nil {
			continue
		}
		if s.filled {
			for i, b := range s.bins {
				if b > 0 {
					bar := rect(x(s.edges[i]), c.Min.Y, x(s.edges[i+1]), y(math.Min(b, top))).Path()
					fillPath(c, tint(s.look.color, histogramTint), bar)
					strokePath(c, draw.LineStyle{Color: white, Width: 0.4}, bar)
				}
			}
			continue
		}
		outline := make([]vg.Point, 0, 2*len(s.bins))
		for i, b := range s.bins {
			outline = append(outline, vg.Point{X: x(s.edges[i]), Y: y(math.Min(b, top))},
				vg.Point{X: x(s.edges[i+1]), Y: y(math.Min(b, top))})
		}
		c.StrokeLines(s.look.line(1), outline)
	}
	for _, s := range shapes {
		if s.bins != nil {
			continue
		}
		cut := func(v float64) vg.Length { return y(math.Min(v, 2*top)) }
		c.StrokeLines(s.look.line(lineWidth), c.ClipLinesXY(pointsAt(x, cut, s.x, s.y))...)
	}
}

const histogramTint = 0.42

// notePeaks says how high the densities are that are cut off, each beside its spike.
func notePeaks(c draw.Canvas, x func(float64) vg.Length, shapes []shape, top float64) {
	row := vg.Length(0)
	for _, s := range shapes {
		if s.peak <= top {
			continue
		}
		style := textStyle(smallSize, ink, draw.XLeft, draw.YCenter)
		note := fmt.Sprintf("↑ %s (σ = %s)", shortNumber(s.peak), shortNumber(s.sd))
		if s.peak >= pointMass {
			note = "↑ point mass"
		}
		side := vg.Length(1) // of the spike, on which key and note stand: to the right, if there is room
		if x(s.mean)+12+style.Width(note) > c.Max.X {
			style.XAlign, side = draw.XRight, -1
		}
		y := c.Max.Y - row - 5.5 // the ground of the first note ends with the panel, and leaves no line above it
		writeBacked(c, style, x(s.mean)+12*side, y, note)
		fillPath(c, s.look.color, disc(vg.Point{X: x(s.mean) + 6.5*side, Y: y}, 2.5))
		row += smallSize + 3
	}
}

func (s shape) legend() legendEntry {
	if s.bins == nil || !s.filled {
		return lineEntry(s.look.label, s.look.line(lineWidth))
	}
	return legendEntry{s.look.label, func(c draw.Canvas) {
		fillPath(c, tint(s.look.color, histogramTint), draw.Crop(c, 3, -3, 3, -3).Rectangle.Path())
	}}
}

// labels lists the labels of methods in prose.
func labels(methods []string) string {
	out := make([]string, len(methods))
	for i, name := range methods {
		out[i] = Label(name)
	}
	return strings.Join(out, ", ")
}

func (m Marginals) records() [][]string {
	out := csvLines{{"panel", "method", "x", "density"}}
	xs := m.extent()
	for _, p := range m.Panels {
		for j, s := range p.shapes(xs, make([]appearance, len(m.Methods))) {
			for i, v := range s.bins { // at their middles
				out.add(p.Title, m.Methods[j], (s.edges[i]+s.edges[i+1])/2, v)
			}
			for i, v := range s.y {
				out.add(p.Title, m.Methods[j], s.x[i], v)
			}
		}
		if truth := orNaN(p.Truth); !math.IsNaN(truth) {
			out.add(p.Title, "true value", truth, "")
		}
	}
	return out
}
