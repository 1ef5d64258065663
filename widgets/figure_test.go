package widgets

import (
	"encoding/xml"
	"errors"
	"io"
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

// TestOddCharactersLeaveADocument that browsers read: XML holds no control characters, and only UTF-8.
func TestOddCharactersLeaveADocument(t *testing.T) {
	for _, odd := range []string{"a\x01b", "a\x00b", "a \xff b", "a\ufffeb", "<a>&\"'", "a\tb", "a\u2028b"} {
		svg, err := svgOf(Curves{Title: odd, Panels: []CurvePanel{{Title: odd, XLabel: odd, Curves: []Curve{{
			Name: "A " + odd, X: []float64{0, 1}, Y: []float64{0, 1}}}, Marks: []Mark{{Note: odd}}}}})
		if err != nil {
			t.Fatalf("%q: %v", odd, err)
		}
		for d := xml.NewDecoder(strings.NewReader(svg)); err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", odd, err)
		}
	}
}

func svgOf(d Drawing) (string, error) {
	f, err := d.Figure()
	if err != nil {
		return "", err
	}
	svg, err := f.SVG()
	return string(svg), err
}
