package widgets

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Labels at the ends of lines.
const (
	labelledCurves = 4               // more curves in a panel have a legend
	labelStub      = vg.Length(13)   // the piece of line before a label
	labelGap       = vg.Length(7)    // between the panel and its labels, for lines that lead from one to the other
	labelLine      = vg.Length(11)   // height of a line of text
	labelShare     = vg.Length(0.34) // of a panel's width, that labels take at most
)

// endLabel is the label of a line.
type endLabel struct {
	look appearance
	text []string // lines
	at   vg.Point // where the line ends
}

// labelWidth is the width to which labels are broken in panels of a width.
func labelWidth(panel vg.Length) vg.Length { return labelShare*panel - labelStub - labelGap - 8 }

// labelRoom returns the width that labels at the ends of lines take beside each panel; 0 if there is a legend instead.
func (m Curves) labelRoom(looks map[string]appearance, panel vg.Length) vg.Length {
	style := textStyle(smallSize, ink, draw.XLeft, draw.YCenter)
	room := vg.Length(0)
	for _, p := range m.Panels {
		names := map[string]bool{}
		for _, curve := range p.Curves {
			names[curve.Name] = true
		}
		if len(names) > labelledCurves || len(names)+len(p.Levels) > labelledCurves+2 {
			return 0
		}
		for _, level := range p.Levels {
			names[level.Name] = true
		}
		for name := range names {
			for _, line := range wrap(style, looks[name].label, labelWidth(panel)) {
				room = max(room, style.Width(line)+labelStub+labelGap+8)
			}
		}
	}
	if room > labelShare*panel+1 {
		return 0
	}
	return room
}

// paintLabels writes the name of each line at its end, beside the panel.
func (p curvePanel) paintLabels(c draw.Canvas, x, y func(float64) vg.Length, looks map[string]appearance,
	room vg.Length) {
	style := textStyle(smallSize, ink, draw.XLeft, draw.YCenter)
	width := room - labelStub - labelGap - 7.9 // breaks lines as labelRoom did
	var labels []endLabel
	seen := map[string]bool{"": true}
	add := func(name string, end vg.Point) {
		if !seen[name] {
			seen[name] = true
			end.Y = min(max(end.Y, c.Min.Y), c.Max.Y)
			labels = append(labels, endLabel{looks[name], wrap(style, looks[name].label, width), end})
		}
	}
	shifts := p.shifts(x)
	for i, curve := range p.Curves {
		for k := len(curve.X) - 1; k >= 0; k-- {
			if !math.IsNaN(curve.Y[k]) {
				add(curve.Name, vg.Point{X: min(shifts[i](curve.X[k]), c.Max.X), Y: y(curve.Y[k])})
				break
			}
		}
	}
	for _, level := range p.Levels {
		add(level.Name, vg.Point{X: c.Max.X, Y: y(level.Y)})
	}
	slices.SortStableFunc(labels, func(a, b endLabel) int { return cmp.Compare(a.at.Y, b.at.Y) })
	wanted, heights := make([]vg.Length, len(labels)), make([]vg.Length, len(labels))
	for i, l := range labels {
		wanted[i], heights[i] = l.at.Y, labelLine*vg.Length(len(l.text))
	}
	left := c.Max.X + labelGap
	for i, at := range apart(wanted, heights, c.Min.Y-4, c.Max.Y+4) {
		l := labels[i]
		c.StrokeLines(draw.LineStyle{Color: fade(l.look.color, 0.6), Width: thinWidth},
			[]vg.Point{l.at, {X: left, Y: at}})
		c.StrokeLine2(l.look.line(lineWidth), left, at, left+labelStub, at)
		for k, line := range l.text {
			writeText(c, style, left+labelStub+3, at+labelLine*(vg.Length(len(l.text)-1)/2-vg.Length(k)), line)
		}
	}
}

// apart returns places as near as can be (by least squares) to the wanted ones, which ascend, at which labels of the
// given heights do not overlap and lie between low and high, if these leave room.
func apart(wanted, heights []vg.Length, low, high vg.Length) []vg.Length {
	// With o_i the least distance of label i from the first, w_i − o_i must not descend: isotonic regression, by
	// pooling neighbours.
	type pool struct {
		sum vg.Length
		n   int
	}
	mean := func(p pool) vg.Length { return p.sum / vg.Length(p.n) }
	var pools []pool
	offsets := make([]vg.Length, len(wanted))
	for i, w := range wanted {
		if i > 0 {
			offsets[i] = offsets[i-1] + (heights[i-1]+heights[i])/2
		}
		pools = append(pools, pool{w - offsets[i], 1})
		for k := len(pools) - 1; k > 0 && mean(pools[k]) < mean(pools[k-1]); k-- {
			pools[k-1] = pool{pools[k-1].sum + pools[k].sum, pools[k-1].n + pools[k].n}
			pools = pools[:k]
		}
	}
	var out []vg.Length
	last := len(wanted) - 1
	for _, p := range pools {
		for range p.n {
			i := len(out)
			at := min(mean(p), high-heights[last]/2-offsets[last])
			out = append(out, max(at, low+heights[0]/2)+offsets[i])
		}
	}
	return out
}
