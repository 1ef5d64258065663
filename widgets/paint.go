package widgets

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bandAlpha is the opacity of standard-error bands, which overlap.
const bandAlpha = 0.2

// writeText writes one line of text at a point. Vertically centred text is centred on its capitals and digits rather
// than on the line box, which would set it too low.
func writeText(c draw.Canvas, style text.Style, x, y vg.Length, s string) {
	if style.YAlign == draw.YCenter {
		// Bottom alignment puts the baseline at y − ascent + size; capitals are 0.72 of the size high.
		style.YAlign = draw.YBottom
		y += style.FontExtents().Ascent - 1.36*style.Font.Size
	}
	c.FillText(style, vg.Point{X: x, Y: y}, minus(s))
}

// shortened returns as much of a text as fits into a width, with an ellipsis for the rest.
func shortened(style text.Style, s string, width vg.Length) string {
	cut := []rune(s)
	for len(cut) > 1 && style.Width(s) > width {
		cut = cut[:len(cut)-1]
		s = string(cut) + "…"
	}
	return s
}

// writeBacked writes text, vertically centred, on a white ground that keeps lines from crossing it.
func writeBacked(c draw.Canvas, style text.Style, x, y vg.Length, s string) {
	width := style.Width(s)
	left := x + vg.Length(style.XAlign)*width
	fillPath(c, white, rect(left-1.5, y-5.5, left+width+1.5, y+5.5).Path())
	writeText(c, style, x, y, s)
}

func fillPath(c draw.Canvas, col color.Color, p vg.Path) {
	c.SetColor(col)
	c.Fill(p)
}

func strokePath(c draw.Canvas, style draw.LineStyle, p vg.Path) {
	c.SetLineStyle(style)
	c.Stroke(p)
}

// rect is the rectangle between two corners.
func rect(left, bottom, right, top vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}
}

func middle(r vg.Rectangle) vg.Point { return r.Min.Add(r.Max).Scale(0.5) }

// within is the part of a canvas in a rectangle.
func within(c draw.Canvas, area vg.Rectangle) draw.Canvas {
	return draw.Canvas{Canvas: c.Canvas, Rectangle: area}
}

// widest is the width of the widest of the methods' labels.
func widest(style text.Style, looks []appearance) (width vg.Length) {
	for _, a := range looks {
		width = max(width, style.Width(a.label))
	}
	return width
}

// pointsAt are the points of a line on a canvas, by the transforms from data.
func pointsAt(x, y func(float64) vg.Length, xs, ys []float64) []vg.Point {
	out := make([]vg.Point, len(xs))
	for i := range out {
		out[i] = vg.Point{X: x(xs[i]), Y: y(ys[i])}
	}
	return out
}

// polygon is the closed path through the points.
func polygon(points ...vg.Point) vg.Path {
	var p vg.Path
	for i, pt := range points {
		if i == 0 {
			p.Move(pt)
		} else {
			p.Line(pt)
		}
	}
	p.Close()
	return p
}

func roundedRect(r vg.Rectangle, radius vg.Length) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: r.Min.X + radius, Y: r.Min.Y})
	p.Line(vg.Point{X: r.Max.X - radius, Y: r.Min.Y})
	p.Arc(vg.Point{X: r.Max.X - radius, Y: r.Min.Y + radius}, radius, -math.Pi/2, math.Pi/2)
	p.Line(vg.Point{X: r.Max.X, Y: r.Max.Y - radius})
	p.Arc(vg.Point{X: r.Max.X - radius, Y: r.Max.Y - radius}, radius, 0, math.Pi/2)
	p.Line(vg.Point{X: r.Min.X + radius, Y: r.Max.Y})
	p.Arc(vg.Point{X: r.Min.X + radius, Y: r.Max.Y - radius}, radius, math.Pi/2, math.Pi/2)
	p.Line(vg.Point{X: r.Min.X, Y: r.Min.Y + radius})
	p.Arc(vg.Point{X: r.Min.X + radius, Y: r.Min.Y + radius}, radius, math.Pi, math.Pi/2)
	p.Close()
	return p
}

func disc(centre vg.Point, radius vg.Length) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: centre.X + radius, Y: centre.Y})
	p.Arc(centre, radius, 0, 2*math.Pi)
	p.Close()
	return p
}

// halo is the white rim that keeps dark marks legible on any cell colour.
const halo = vg.Length(1.3)

// arrow paints an arrow with a white rim.
func arrow(c draw.Canvas, col color.Color, from, to vg.Point, width vg.Length) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := vg.Length(math.Hypot(float64(dx), float64(dy)))
	if length == 0 {
		return
	}
	ux, uy := dx/length, dy/length
	head := min(2.6+1.2*width, length)
	half := 0.75 * head
	at := func(along, across vg.Length) vg.Point {
		return vg.Point{X: from.X + along*ux - across*uy, Y: from.Y + along*uy + across*ux}
	}
	paint := func(col color.Color, rim vg.Length) {
		shaft := polygon(at(-rim, -width/2-rim), at(length-head, -width/2-rim), at(length-head, width/2+rim),
			at(-rim, width/2+rim))
		fillPath(c, col, shaft)
		fillPath(c, col, polygon(at(length+1.6*rim, 0), at(length-head-rim, half+1.6*rim),
			at(length-head-rim, -half-1.6*rim)))
	}
	paint(white, halo)
	paint(col, 0)
}

// dot paints a disc with a white rim.
func dot(c draw.Canvas, col color.Color, centre vg.Point, radius vg.Length) {
	fillPath(c, white, disc(centre, radius+halo))
	fillPath(c, col, disc(centre, radius))
}

// cross paints a diagonal cross with a white rim.
func cross(c draw.Canvas, col color.Color, at vg.Point, half, width vg.Length) {
	for _, style := range []draw.LineStyle{{Color: white, Width: 3.6}, {Color: col, Width: width}} {
		c.StrokeLine2(style, at.X-half, at.Y-half, at.X+half, at.Y+half)
		c.StrokeLine2(style, at.X-half, at.Y+half, at.X+half, at.Y-half)
	}
}

// wrap breaks text at blanks into lines no wider than width, where it can.
func wrap(style text.Style, s string, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && style.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
