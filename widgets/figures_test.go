package widgets

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
)

func TestMarginals(t *testing.T) {
	m := exampleMarginals()
	p := parse(t, m)
	bars := 0
	for _, panel := range m.Panels {
		_, density := histogram(panel.Distributions[0].(Sampled).Sorted(), m.extent())
		for _, d := range density {
			if d > 0 {
				bars++
			}
		}
	}
	// one in the legend
	if got := p.filled(paint(tint(colorOf("valuewalk"), histogramTint))); got != bars+1 || bars < 30 {
		t.Errorf("%d bars, want %d and one in the legend", got, bars)
	}
	for _, method := range []string{"valuewalk-nodet", "qvirl"} {
		if got := p.stroked(paint(colorOf(method))); got != len(m.Panels)+1 {
			t.Errorf("%d lines of %s, want one a panel and one in the legend", got, method)
		}
	}
	// AVRIL at three λ, one of them a spike, which leaves its panel at the top: two lines, rising and falling.
	if got := p.stroked(paint(colorOf("avril-0.5"))); got < 3*(len(m.Panels)+1) {
		t.Errorf("%d lines of AVRIL at three λ", got)
	}
	if got := p.stroked(paint(black)); got != len(m.Panels)+1 {
		t.Errorf("%d lines for true values, want one a panel and one in the legend", got)
	}
	p.says(t, "↑ 39.9 (σ = 0.01)", "state 27", "AVRIL, λ = 0.17", "ValueWalk without determinant",
		"true value", "reward")
}

// The ground of a note on a spike reaches the panel's top: no piece of a line is left above the note, as a dot in it.
func TestNoLineAboveTheNoteOnASpike(t *testing.T) {
	truth := 1.5
	figure, err := Marginals{XLabel: "x", Methods: []string{"qvirl", "avril"}, Panels: []MarginalPanel{{Truth: &truth,
		Distributions: []Distribution{distuv.Normal{Sigma: 3}, distuv.Normal{Sigma: 0.01}}}}}.Figure()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := figure.SVG()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`,([\d.]+)" style="[^"]*stroke-dasharray:3,2"`).FindAllStringSubmatch(string(svg), -1)
	ground := regexp.MustCompile(`,([\d.]+)Z" style="fill:#FFFFFF" />\n<text[^>]*>↑`).FindStringSubmatch(string(svg))
	if len(lines) != 2 || ground == nil || lines[1][1] != ground[1] { // the first line is the legend's
		t.Errorf("the lines of true values end at %q, the ground of the note at %q", lines, ground)
	}
}

// The vertical axis ignores a spike but not a merely narrower density.
func TestCeiling(t *testing.T) {
	xs := span{-10, 10}
	flat := newShape(distuv.Normal{Mu: 0, Sigma: 2}, xs, appearance{})
	narrow := newShape(distuv.Normal{Mu: 0, Sigma: 1}, xs, appearance{})
	spike := newShape(distuv.Normal{Mu: 0, Sigma: 0.001}, xs, appearance{})
	point := newShape(distuv.Normal{Mu: 0, Sigma: 0}, xs, appearance{})
	peak := 1 / math.Sqrt(2*math.Pi)
	if got := ceiling([]shape{flat, narrow}); !scalar.EqualWithinAbs(got, 1.1*peak, 1e-9) {
		t.Errorf("ceiling %g, want 1.1 times the higher peak %g", got, peak)
	}
	if got := ceiling([]shape{flat, spike, point}); !scalar.EqualWithinAbs(got, 1.5*peak/2, 1e-9) {
		t.Errorf("ceiling %g, want 1.5 times the lower peak %g", got, peak/2)
	}
	if !scalar.EqualWithinAbs(spike.peak, 1000*peak, 1e-6*1000*peak) || point.peak != pointMass {
		t.Errorf("peaks %g and %g, want %g and %g", spike.peak, point.peak, 1000*peak, pointMass)
	}
}

func TestHistogramIsDensity(t *testing.T) {
	s := normalSamples(testRNG(), 1, 2, 4000)
	edges, density := histogram(s.Sorted(), span{-12, 14})
	sum, meanAt := 0.0, 0.0
	for i, d := range density {
		sum += d * (edges[i+1] - edges[i])
		meanAt += d * (edges[i+1] - edges[i]) * (edges[i] + edges[i+1]) / 2
	}
	// All samples are in range; binning moves the mean by at most half a bin.
	if !scalar.EqualWithinAbs(sum, 1, 1e-9) || !scalar.EqualWithinAbs(meanAt, s.Mean(), (edges[1]-edges[0])/2) {
		t.Errorf("mass %g, mean %g, want 1 and %g", sum, meanAt, s.Mean())
	}
	_, half := histogram(s.Sorted(), span{1, 14})
	mass := 0.0
	for _, d := range half {
		mass += d * 13 / float64(len(half))
	}
	if mass < 0.45 || mass > 0.55 {
		t.Errorf("the upper half has mass %g: density must be relative to all samples", mass)
	}
}

func TestMap(t *testing.T) {
	w, m := exampleWorld(t)
	p := parse(t, m)
	terminals, moves, stays := 0, 0, 0
	for _, terminal := range w.Terminal {
		if terminal {
			terminals++
		}
	}
	for _, step := range mdp.Flatten(m.Demonstrations) {
		if step.Action == gridworld.Stay {
			stays++
		} else {
			moves++
		}
	}
	if got := p.count(func(e element) bool {
		return e.style["stroke"] == paint(black) &&
			e.style["stroke-width"] == "2"
	}); got != terminals || terminals < 6 {
		t.Errorf("%d frames, want %d", got, terminals)
	}
	// An arrow is a shaft and a head, a dot is one disc; the legend has one of each.
	if got, want := p.filled("#000000")+p.count(isBlackFill), 2*(moves+1)+stays+1; got != want || moves < 5 {
		t.Errorf("%d black shapes for %d moves and %d stays, want %d", got, moves, stays, want)
	}
	for s, r := range w.Reward {
		if text := number(r, 1); !p.hasText(text) {
			t.Errorf("reward %s of state %d is missing", text, s)
		}
		fill := paint(newScale(true, w.Reward).color(r))
		if p.filled(fill) == 0 {
			t.Errorf("no cell in the colour %s of state %d", fill, s)
		}
	}
	p.says(t, "×4", "true reward", "terminal")
	m.Values[0] = 123.4
	if !parse(t, m).hasText("123.4") {
		t.Error("a changed reward does not show")
	}
}

// isBlackFill recognises shapes filled with SVG's default colour, which vgsvg does not write.
func isBlackFill(e element) bool {
	_, fill := e.style["fill"]
	return e.name == "path" && !fill
}

// paint is a colour as it stands in an SVG style.
func paint(c interface{ RGBA() (r, g, b, a uint32) }) string {
	r, g, b, _ := c.RGBA()
	const digits = "0123456789ABCDEF"
	out := "#"
	for _, v := range []uint32{r, g, b} {
		out += string(digits[v>>12]) + string(digits[v>>8&15])
	}
	return out
}

func TestMapCountsManyArrows(t *testing.T) {
	var trajectory mdp.Trajectory
	for range 7 {
		trajectory = append(trajectory, mdp.Step{State: 4, Action: gridworld.Right})
	}
	p := parse(t, Map{Title: "m", Width: 3, Height: 3, Demonstrations: []mdp.Trajectory{trajectory}})
	if !p.hasText("7") || p.hasText("×7") {
		t.Error("seven equal steps are not counted once, beside their arrows")
	}
	trajectory[0].Action = gridworld.Up
	p = parse(t, Map{Title: "m", Width: 3, Height: 3, Demonstrations: []mdp.Trajectory{trajectory}})
	p.says(t, "6", "×7")
}

// TestNumbersAsLargeAsCanBeDrawn: their ranges do not overflow, and their ticks come to an end.
func TestNumbersAsLargeAsCanBeDrawn(t *testing.T) {
	up, down, about := []float64{1e-300, 1e300}, []float64{-1e300, -1e-300}, []float64{-1e300, 1e300}
	for _, c := range []struct {
		panel CurvePanel
		ticks []string
	}{
		{CurvePanel{Curves: []Curve{{Name: "a", X: about, Y: about}}}, []string{"−5e299", "0", "1e300"}},
		{CurvePanel{LogX: true, LogY: true, Curves: []Curve{{Name: "a", X: up, Y: up}}}, []string{"1e−203", "1e205"}},
		{CurvePanel{LogY: true, Curves: []Curve{{Name: "a", X: about, Y: down}}}, []string{"−1e−203", "−1e205"}},
	} {
		p := parse(t, Curves{Panels: []CurvePanel{c.panel}})
		p.says(t, c.ticks...)
	}
}

// TestNumbersThatHardlyDiffer: ticks come to an end where numbers are too close to each other to count between them.
func TestNumbersThatHardlyDiffer(t *testing.T) {
	for _, at := range []float64{1e16, -1e16, 1e250} {
		above := math.Nextafter(at, math.Inf(1))
		parse(t, HeatMaps{Width: 2, Height: 1, Columns: []string{"a"}, Rows: []HeatRow{
			{Label: "value", Values: [][]float64{{at, above}}}}})
		parse(t, Curves{Panels: []CurvePanel{{YRange: &[2]float64{at, above}, Curves: []Curve{
			{Name: "a", X: []float64{0, 1}, Y: []float64{at, above}}}}}})
	}
}

func TestPolicyArrowsGrowWithProbability(t *testing.T) {
	arrows := func(right float64) string {
		policy := make([]float64, gridworld.Actions)
		policy[gridworld.Right], policy[gridworld.Left] = right, 1-right
		f, err := Map{Title: "m", Width: 1, Height: 1, Policy: policy}.Figure()
		if err != nil {
			t.Fatal(err)
		}
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		return string(svg)
	}
	if arrows(0.6) == arrows(0.9) {
		t.Error("arrows do not depend on the probability")
	}
	if strings.Count(arrows(0.5), "<path") <= strings.Count(arrows(1), "<path") {
		t.Error("an action of probability 0 has an arrow")
	}
}

func TestVerdicts(t *testing.T) {
	p := parse(t, exampleVerdicts())
	p.says(t, "scales", "kernel-2", "QVIRL", "ValueWalk", "wrong, and says right", "no answer")
	// The only answer that is wrong and called right is the one of each i + j = 2: three crosses of two lines, and the
	// legend's.
	if got := p.stroked(paint(vermillion)); got != 8 {
		t.Errorf("%d strokes of crosses, want 8", got)
	}
	// 17 cells, one of them without an answer, whose grey stands in the legend too.
	if got := p.filled(paint(missing)); got != 2 {
		t.Errorf("%d grey cells, want one and one in the legend", got)
	}
	scale := errorScale
	if pale, dark := scale.color(-2), scale.color(2); luminance(pale) < 0.9 || luminance(dark) > 0.1 {
		t.Errorf("errors of 0.01 and 100 have the colours %v and %v, want pale and dark", pale, dark)
	}
}

func TestHeatMaps(t *testing.T) {
	w, _ := exampleWorld(t)
	m := exampleHeatMaps(w)
	p := parse(t, m)
	cells := p.count(func(e element) bool { return e.style["stroke"] == "#BBBBBB" })
	if want := 7 * 64; cells != want { // two rows of four, one left empty
		t.Errorf("%d cells, want %d", cells, want)
	}
	p.says(t, "posterior mean", "posterior std", "ValueWalk", "true reward")
	// One scale a row: the same number has the same colour in every column.
	if scale := newScale(true, m.Rows[0].Values...); scale.low != -scale.high || scale.color(0) != diverging[3] {
		t.Errorf("the diverging scale %v is not centred at 0", scale.span)
	}
	small := examples(t)["heatmaps-small"].(HeatMaps)
	parse(t, small).says(t, "90", "QVIRL,")
}

func TestCurves(t *testing.T) {
	m := exampleCurves()
	p := parse(t, m)
	avril := paint(colorOf("avril"))
	if got := p.stroked(avril); got != 9 { // in each of three panels the line, and two pieces before its name
		t.Errorf("%d lines, want 9", got)
	}
	isBand := func(e element) bool { return sameColor(e.style["fill"], avril) && e.style["fill-opacity"] != "" }
	if got := p.count(isBand); got != 3 {
		t.Errorf("%d bands, want 3", got)
	}
	if got := p.filled(avril) - p.count(isBand); got != 33 {
		t.Errorf("%d points, want 33", got)
	}
	p.says(t, "λ = 0.17", "W₁", "0.05", "± s.e.", "coverage of 90 % intervals")
	m.Panels = m.Panels[:1]
	m.Panels[0].Curves[0].Y[5] = math.NaN()
	m.Panels[0].Curves[0].StdErr = nil
	if got := parse(t, m).stroked(avril); got != 4 { // broken in two, and two before the label
		t.Errorf("a gap gives %d lines, want 4", got)
	}
	k := &m.Panels[0].Curves[0]
	k.Published = slices.Repeat([]float64{1}, len(k.X))
	k.Published[1] = math.NaN()
	p = parse(t, m)
	if got := p.count(func(e element) bool { return e.style["stroke-width"] == "1.1" }); got != len(k.X)-1+1 {
		t.Errorf("%d published values, want %d and one in the legend", got, len(k.X)-1)
	}
	k.Published = nil
	k.Band = "90 % interval"
	for range k.X {
		k.Low, k.High = append(k.Low, -40), append(k.High, 2)
	}
	// either side of the gap
	if p := parse(t, m); !p.hasText("90 % interval") || !p.hasText("−40") || p.count(isBand) != 2 {
		t.Error("the given band is not drawn")
	}
	elbo := exampleELBO()
	elbo.Panels[0].YRange = &[2]float64{-25, -15}
	if p := parse(t, elbo); p.hasText("−60") || !p.hasText("−20") {
		t.Error("the given range of the vertical axis is not kept")
	}
}

func TestCalibration(t *testing.T) {
	p := parse(t, exampleCalibration())
	if got := p.count(func(e element) bool {
		return e.style["stroke"] == paint(axisGrey) &&
			e.style["stroke-dasharray"] != ""
	}); got != 2 {
		t.Errorf("%d diagonals, want 2", got)
	}
	for _, method := range []string{"valuewalk", "qvirl", "avril-0.17"} {
		if got := p.stroked(paint(colorOf(method))); got != 3 {
			t.Errorf("%d lines of %s, want one a panel and one in the legend", got, method)
		}
	}
	p.says(t, "intervals too narrow", "nominal level")
}

func TestTraces(t *testing.T) {
	chains := exampleChains()
	p := parse(t, Traces{Title: "t", Panels: []TracePanel{{"a", chains}, {"b", chains[:2]}}})
	for k := range chains {
		want := 2
		if k < 2 {
			want = 3
		}
		if got := p.stroked(paint(chainColor(k))); got != want {
			t.Errorf("%d lines of chain %d, want %d", got, k+1, want)
		}
	}
	long := p.count(func(e element) bool { return strings.Count(e.attr["d"], "L") > tracePoints })
	if long > 0 {
		t.Errorf("%d traces are not thinned", long)
	}
}

func TestRanks(t *testing.T) {
	m, err := ChainRanks("r", [][]float64{{0.1, 0.4}, {0.2, 0.3}})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.Panels[0].Ranks, m.Panels[1].Ranks; a[0] != 0 || a[1] != 3 || b[0] != 1 || b[1] != 2 ||
		m.Panels[0].Max != 3 {
		t.Errorf("ranks %v and %v of at most %d, want [0 3], [1 2], 3", a, b, m.Panels[0].Max)
	}
	p := parse(t, exampleSBC())
	for _, method := range []string{"valuewalk", "qvirl", "avril"} {
		if got := p.filled(paint(colorOf(method))); got != 20 {
			t.Errorf("%d bars of %s, want 20", got, method)
		}
	}
	if got := p.filled(paint(bandGrey)); got != 4 {
		t.Errorf("%d bands, want one a panel and one in the legend", got)
	}
}

// share is the part of the 30 ranks that a bar is of.
func (b rankBar) share() float64 { return float64(b.to-b.from) / 30 }

// Bars of one rank and of two, each of which is found as often as any other, are as high as is expected of them.
func TestBarsOfUnequalNumbersOfRanks(t *testing.T) {
	panel := RankPanel{Max: 29}
	for r := range 30 {
		panel.Ranks = append(panel.Ranks, slices.Repeat([]int{r}, 50)...)
	}
	next, sizes := 0, map[int]int{}
	for _, b := range (Ranks{}).bars(panel) {
		sizes[b.to-b.from]++
		if b.from != next || b.count != float64(50*(b.to-b.from)) || math.Abs(b.count-b.expected) > 1e-9 ||
			math.Abs(math.Erf(b.spread/math.Sqrt(2*1500*b.share()*(1-b.share())))-0.99) > 1e-4 {
			t.Errorf("%+v, want a bar from rank %d of 50 each", b, next)
		}
		next = b.to
	}
	if next != 30 || sizes[1] != 10 || sizes[2] != 10 {
		t.Errorf("bars up to rank %d, of so many ranks: %v", next-1, sizes)
	}
	if got := parse(t, Ranks{Title: "x", Panels: []RankPanel{panel}}).filled(paint(bandGrey)); got != 21 {
		t.Errorf("%d bands, want one a bar and one in the legend", got)
	}
}

// Draws of what is known are all equal: no chain's ranks are lower than another's.
func TestRanksOfEqualDraws(t *testing.T) {
	m, err := ChainRanks("r", [][]float64{{3, 3, 3, 3}, {3, 3, 3, 3}, {3, 3}})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range [][]int{{0, 3, 6, 8}, {1, 4, 7, 9}, {2, 5}} {
		if got := m.Panels[k].Ranks; !slices.Equal(got, want) {
			t.Errorf("chain %d has the ranks %v, want %v", k, got, want)
		}
	}
}

func TestConvergence(t *testing.T) {
	p := parse(t, exampleConvergence())
	if good, bad := p.filled(paint(skyBlue)), p.filled(paint(vermillion)); good != 3*64-2 || bad != 2 {
		t.Errorf("%d bars on the right side and %d on the wrong one, want 190 and 2", good, bad)
	}
	p.says(t, "R̂", "bulk effective sample size")
}

func TestDots(t *testing.T) {
	p := parse(t, exampleDots())
	if got := p.filled(paint(oracle)) + p.filled(paint(blue)) + p.filled(paint(vermillion)); got != 17+1 {
		t.Errorf("%d dots, want 17 and one in the legend", got)
	}
	diamonds := p.count(func(e element) bool { return e.style["stroke-width"] == "1.1" })
	if diamonds != 6+1 {
		t.Errorf("%d published values, want 6 and one in the legend", diamonds)
	}
	if bars := p.count(func(e element) bool { return e.style["stroke-width"] == "1.4" }); bars != 16 {
		t.Errorf("%d error bars, want 16: one standard error is not known", bars)
	}
}

// All panels of Same begin at 0: 4 lies a fifth of the way to 20 in each, and labels stand under the axes.
func TestDotsOnOneScale(t *testing.T) {
	d := Dots{Methods: []string{"qvirl"}, Same: true, Panels: []DotPanel{
		{Title: "a", Label: "seconds", Estimates: []*Estimate{Value(4, math.NaN())}},
		{Title: "b", Label: "metres", Estimates: []*Estimate{Value(20, math.NaN())}}}}
	p := parse(t, d)
	p.says(t, "seconds", "metres", "10")
	d.Same = false
	if p := parse(t, d); p.hasText("10") {
		t.Error("panels of their own scale have numbers of each other")
	}
}

// On a logarithmic axis of negative numbers −1 is the top, −100 the bottom, and −10 the middle.
func TestNegativeLogarithms(t *testing.T) {
	for v, want := range map[float64]float64{-1: 1, -10: 0.5, -100: 0} {
		if got := (negativeScale{}).Normalize(-100, -1, v); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g lies at %g, want %g", v, got, want)
		}
	}
	p := parse(t, Curves{Panels: []CurvePanel{{XLabel: "x", YLabel: "log-likelihood", LogY: true,
		Curves: []Curve{{Name: "qvirl", X: []float64{1, 2}, Y: []float64{-2, -50}, StdErr: []float64{3, 1}}}}}})
	p.says(t, "−1", "−10", "log-likelihood")
}

// A curve of one point is named beside it, and is no line of the legend, which has the notes.
func TestLonePoints(t *testing.T) {
	panel := CurvePanel{XLabel: "x", YLabel: "y"}
	for i, name := range []string{"qvirl", "bc", "iqlearn", "avril"} {
		panel.Curves = append(panel.Curves, Curve{Name: name, X: []float64{1, 2}, Y: []float64{0, float64(i)}})
	}
	panel.Curves = append(panel.Curves, Curve{Name: "valuewalk", X: []float64{1}, Y: []float64{1}, Points: true})
	p := parse(t, Curves{Panels: []CurvePanel{panel}, Notes: map[string]string{"bc": "S^2"}})
	if p.stroked(paint(colorOf("valuewalk"))) != 0 || !p.hasText("ValueWalk") {
		t.Error("a lone point is a line in the legend, or has no name")
	}
	p.says(t, "behaviour cloning (S^2)")
}

func TestSurface(t *testing.T) {
	m := exampleSurface()
	p := parse(t, m)
	if got := p.filled(paint(missing)); got != 1 {
		t.Errorf("%d cells without a value, want 1", got)
	}
	if got, cells := p.count(func(e element) bool { return e.name == "path" && e.style["fill"] != "none" }),
		3*len(m.X)*len(m.Y); got < cells {
		t.Errorf("%d shapes for %d cells", got, cells)
	}
	small := Surface{X: []float64{0.1, 0.5, 2}, Y: []float64{1, 2}, LogX: true, Numbers: true, Decimals: 2,
		Panels: []SurfacePanel{{Z: []float64{1.25, 2, 3, 4, math.NaN(), 6}}}}
	p = parse(t, small)
	p.says(t, "1.25", "6.00", "0.5")
	if p.hasText("NaN") {
		t.Error("an absent number is written")
	}
	for i, got := range edges([]float64{1, 10, 100}, true) {
		if want := math.Pow(10, float64(i)-0.5); !scalar.EqualWithinAbs(got, want, 1e-9*want) {
			t.Errorf("edge %d of a geometric grid is %g, want %g", i, got, want)
		}
	}
}

func TestScatter(t *testing.T) {
	m := exampleScatter()
	p := parse(t, m)
	shapes := func(p picture) int {
		return p.count(func(e element) bool { return e.name == "path" && e.style["fill"] != "none" })
	}
	if got := shapes(p); got < 120 {
		t.Errorf("%d shapes for 120 points", got)
	}
	rings := func(e element) bool { return e.style["stroke-width"] == "1.2" }
	if got := p.count(rings); got != 4 || !p.hasText("1") || !p.hasText("2") || !p.hasText("nats") {
		t.Errorf("%d rings, want one for each of 4 marks", got)
	}
	m.Panels = m.Panels[:1]
	m.Panels[0].Marked, m.Panels[0].Z, m.Panels[0].Line = nil, nil, []float64{-1, 0, 1, 1}
	p = parse(t, m)
	if got := p.count(rings); got != 0 || p.hasText("nats") {
		t.Errorf("%d rings without marks; colour bar without colours: %t", got, p.hasText("nats"))
	}
	dotted := func(e element) bool { return e.style["stroke-dasharray"] != "" }
	if got := p.count(dotted); got != 1 {
		t.Errorf("%d dotted lines, want 1", got)
	}
}

func TestVerdictCounts(t *testing.T) {
	figure, err := VerdictCounts(exampleVerdicts()).Figure()
	if err != nil {
		t.Fatal(err)
	}
	parse(t, figure).says(t, "QVIRL", "ValueWalk", "wrong, and says right", "3", "8")
	text, err := figure.CSV()
	if err != nil {
		t.Fatal(err)
	}
	want := `method,verdict,answers
qvirl,"right, and says so",1
qvirl,"right, but doubts it",2
qvirl,no answer,1
qvirl,"wrong, and says so",2
qvirl,"wrong, and says right",3
valuewalk,"right, and says so",8
valuewalk,"right, but doubts it",0
valuewalk,no answer,0
valuewalk,"wrong, and says so",0
valuewalk,"wrong, and says right",0
`
	if string(text) != want {
		t.Errorf("counts are\n%s\nwant\n%s", text, want)
	}
}

// The canvas points up, the rows of a world point down.
func TestArrowsPointWhereActionsLead(t *testing.T) {
	for action, want := range map[int][2]float64{gridworld.Stay: {}, gridworld.Up: {0, 1}, gridworld.Right: {1, 0},
		gridworld.Down: {0, -1}, gridworld.Left: {-1, 0}} {
		if x, y := direction(gridworld.Moves[action]); float64(x) != want[0] || float64(y) != want[1] {
			t.Errorf("action %d points to %g, %g, want %v", action, x, y, want)
		}
	}
}

// TestMovesOfOtherActions: actions in another order are drawn as a gridworld's that move alike, and where none stays,
// as in FrozenLake, the legend has none that does.
func TestMovesOfOtherActions(t *testing.T) {
	names := []int{gridworld.Left, gridworld.Down, gridworld.Right, gridworld.Up, gridworld.Stay}
	other := Map{Width: 5, Height: 1, Policy: make([]float64, 5*len(names))}
	world := Map{Width: 5, Height: 1, Policy: make([]float64, 5*gridworld.Actions)}
	for a, name := range names {
		other.Moves = append(other.Moves, gridworld.Moves[name])
		other.Policy[a*len(names)+a], world.Policy[a*gridworld.Actions+name] = 1, 1
		other.Demonstrations = append(other.Demonstrations, mdp.Trajectory{{State: 4 - a, Action: a}})
		world.Demonstrations = append(world.Demonstrations, mdp.Trajectory{{State: 4 - a, Action: name}})
	}
	diff := cmp.Diff(parse(t, world).elements, parse(t, other).elements, cmp.AllowUnexported(element{}))
	if diff != "" {
		t.Errorf("(-gridworld +other):\n%s", diff)
	}
	if p := parse(t, Map{Width: 1, Height: 1, Policy: []float64{1}, Moves: [][2]int{{1, 0}}}); p.hasText("“stay”") {
		t.Error("the legend says how an action that stays is drawn, and there is none")
	}
	slanted := Map{Width: 1, Height: 1, Policy: []float64{1}, Moves: [][2]int{{3, 4}}}
	if x, y := direction(slanted.Moves[0]); math.Abs(float64(x)-0.6) > 1e-15 || math.Abs(float64(y)+0.8) > 1e-15 {
		t.Errorf("a move of 3 columns and 4 rows points to %g, %g", x, y)
	}
	parse(t, slanted)
}

// TestScalesOfBothSigns: the palest colour of a diverging scale is 0, whichever sign has the larger numbers.
func TestScalesOfBothSigns(t *testing.T) {
	for _, values := range [][]float64{{-5, 1}, {-1, 5}, {-5, -2}} {
		if s := newScale(true, values); s.low != -5 || s.high != 5 {
			t.Errorf("%v: from %g to %g, want −5 to 5", values, s.low, s.high)
		}
	}
}

// TestErrorsBeyondALogarithmicAxis: bands that reach zero or beyond are drawn as far as the axis goes.
func TestErrorsBeyondALogarithmicAxis(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		parse(t, Curves{Title: "errors", Panels: []CurvePanel{{LogY: true, Curves: []Curve{{Name: "A curve",
			X: []float64{0, 1}, Y: []float64{sign, 2 * sign}, StdErr: []float64{2, 0.5}}}}}})
	}
}
