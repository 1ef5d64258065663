package widgets

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

// TestTitlesAreWithinTheFigure: a title that is wider goes on in another line, for which there is room.
func TestTitlesAreWithinTheFigure(t *testing.T) {
	short := Curves{Title: "short", Panels: []CurvePanel{{Curves: []Curve{{Name: "a", X: []float64{0, 1},
		Y: []float64{0, 1}}}}}}
	long := short
	long.Title = strings.Repeat("the title of a figure ", 8)
	low, err := short.Figure()
	if err != nil {
		t.Fatal(err)
	}
	high, err := long.Figure()
	if err != nil {
		t.Fatal(err)
	}
	if high.height != low.height+titleLine {
		t.Errorf("with two lines of title the figure is %.4g high, with one %.4g", high.height, low.height)
	}
	style, lines := bold(textStyle(titleSize, ink, draw.XLeft, draw.YTop)), 0
	parse(t, long).count(func(e element) bool {
		if e.name == "text" && strings.Contains(e.text, "title") {
			lines++
			if style.Width(e.text) > high.width-2*cardPad {
				t.Errorf("%q is wider than the figure", e.text)
			}
		}
		return true
	})
	if lines != 2 {
		t.Errorf("the title has %d lines, want 2", lines)
	}
}
