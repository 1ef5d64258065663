package widgets

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// Labels of points, in points of length.
const (
	pointRadius = vg.Length(3)
	ringRadius  = vg.Length(4.5)
	labelHalf   = vg.Length(5.5) // of the height of a label
	labelReach  = vg.Length(90)  // the farthest that a label may be from its point
)

// pointLabel is where the label of a point stands, and the line that leads to it from the ring of the point.
type pointLabel struct {
	at, from, to vg.Point
	box          vg.Rectangle
}

// leads is whether the label is so far from its ring that a line has to lead to it.
func (l pointLabel) leads() bool { return apartBy(l.from, l.to) > 2.5 }

func apartBy(a, b vg.Point) vg.Length {
	return vg.Length(math.Hypot(float64(a.X-b.X), float64(a.Y-b.Y)))
}

// spread places a label of a given width for each marked point, near it and in the area. No label covers another or
// a ring, where there is room; beyond that, labels cover few points, and the lines to them cross little.
func spread(area vg.Rectangle, points []vg.Point, marked []int, width func(k int) vg.Length) []pointLabel {
	var out []pointLabel
	for k, i := range marked {
		half := width(k)/2 + 1.5
		best, least := pointLabel{}, math.Inf(1)
		for reach := ringRadius + 1; reach < labelReach; reach += 4 {
			for turn := range 24 {
				sin, cos := math.Sincos(2 * math.Pi * float64(turn) / 24)
				way := vg.Point{X: vg.Length(cos), Y: vg.Length(sin)}
				l := pointLabel{from: points[i].Add(way.Scale(ringRadius)), to: points[i].Add(way.Scale(reach))}
				// The box touches the end of the line, on the side that the line comes from.
				l.at = l.to.Add(vg.Point{X: half * way.X, Y: labelHalf * way.Y})
				l.box = rect(l.at.X-half, l.at.Y-labelHalf, l.at.X+half, l.at.Y+labelHalf)
				if cost := float64(reach) + l.cost(area, points, marked, i, out); cost < least {
					best, least = l, cost
				}
			}
		}
		out = append(out, best)
	}
	return out
}

// cost is what speaks against a place of a label, in points of length that it might be nearer.
func (l pointLabel) cost(area vg.Rectangle, points []vg.Point, marked []int, own int, others []pointLabel) float64 {
	const outside, covers, crosses, hides = 1e4, 1e3, 60, 12
	sum := 0.0
	if l.box.Min.X < area.Min.X || l.box.Max.X > area.Max.X || l.box.Min.Y < area.Min.Y || l.box.Max.Y > area.Max.Y {
		sum += outside
	}
	for _, i := range marked {
		if near(l.box, points[i]) < ringRadius {
			sum += covers
		}
		if i != own && passes(l, squareAt(points[i], ringRadius)) {
			sum += crosses
		}
	}
	for _, p := range points {
		if near(l.box, p) < pointRadius {
			sum += hides
		}
	}
	for _, o := range others {
		if l.box.Min.X < o.box.Max.X && o.box.Min.X < l.box.Max.X && l.box.Min.Y < o.box.Max.Y &&
			o.box.Min.Y < l.box.Max.Y {
			sum += covers
		}
		if crossing(l.from, l.to, o.from, o.to) {
			sum += crosses
		}
		if passes(l, o.box) || passes(o, l.box) {
			sum += crosses
		}
	}
	return sum
}

// near is the distance of a point from a rectangle.
func near(r vg.Rectangle, p vg.Point) vg.Length {
	return apartBy(p, vg.Point{X: max(r.Min.X, min(p.X, r.Max.X)), Y: max(r.Min.Y, min(p.Y, r.Max.Y))})
}

// squareAt is the square around a point.
func squareAt(p vg.Point, half vg.Length) vg.Rectangle {
	return rect(p.X-half, p.Y-half, p.X+half, p.Y+half)
}

// passes is whether the line to a label comes into a box.
func passes(l pointLabel, box vg.Rectangle) bool {
	const pieces = 20
	for k := range pieces + 1 {
		if near(box, l.from.Add(l.to.Sub(l.from).Scale(vg.Length(k)/pieces))) == 0 {
			return true
		}
	}
	return false
}

// crossing is whether the lines from a to b and from c to d cross.
func crossing(a, b, c, d vg.Point) bool {
	side := func(p, q, r vg.Point) bool { return (q.X-p.X)*(r.Y-p.Y) > (q.Y-p.Y)*(r.X-p.X) }
	return side(a, b, c) != side(a, b, d) && side(c, d, a) != side(c, d, b)
}
