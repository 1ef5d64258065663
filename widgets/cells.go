package widgets

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// cells is a grid of square cells on a canvas; states are numbered row by row from the top left.
type cells struct {
	width, height int
	origin        vg.Point // top left corner
	size          vg.Length
}

func checkGrid(field string, width, height int) error {
	if width <= 0 || height <= 0 {
		return fmt.Errorf("widgets: %s: size %d×%d, want both positive", field, width, height)
	}
	if width > maxCells || height > maxCells || width*height > maxCells {
		return fmt.Errorf("widgets: %s: %d×%d cells, want at most %d: show a part of the world", field, width, height,
			maxCells)
	}
	return nil
}

// box is the rectangle of state s.
func (g cells) box(s int) vg.Rectangle {
	x := g.origin.X + vg.Length(s%g.width)*g.size
	y := g.origin.Y - vg.Length(s/g.width)*g.size
	return rect(x, y-g.size, x+g.size, y)
}

func (g cells) centre(s int) vg.Point { return middle(g.box(s)) }

// fill paints the cells in the colours of their values (white without values), then the lines between them.
func (g cells) fill(c draw.Canvas, values []float64, scale colorScale) {
	for s := range g.width * g.height {
		col := white
		if values != nil {
			col = scale.color(values[s])
		}
		fillPath(c, col, g.box(s).Path())
		strokePath(c, cellLine, g.box(s).Path())
	}
}

// frames marks states by a thick frame just inside the cell.
func (g cells) frames(c draw.Canvas, marked []bool) {
	width := min(2, g.size/10)
	for s, m := range marked {
		if m {
			b := g.box(s)
			inset := width/2 + 0.6
			b.Min.X, b.Min.Y, b.Max.X, b.Max.Y = b.Min.X+inset, b.Min.Y+inset, b.Max.X-inset, b.Max.Y-inset
			strokePath(c, draw.LineStyle{Color: black, Width: width}, b.Path())
		}
	}
}

// framesLegend is the legend of the frames of terminal states, if there are any.
func framesLegend(terminal []bool) []legendEntry {
	if !slices.Contains(terminal, true) {
		return nil
	}
	return []legendEntry{{"terminal", func(c draw.Canvas) {
		x, y, half := c.Center().X, c.Center().Y, vg.Length(4.5)
		strokePath(c, draw.LineStyle{Color: black, Width: 1.6}, rect(x-half, y-half, x+half, y+half).Path())
	}}}
}
