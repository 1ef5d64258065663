package widgets

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/plot/font"
	"pgregory.net/rapid"

	"github.com/go-birl/birl/qvirl/method"
)

func TestColors(t *testing.T) {
	if colorOf("qvirl") != blue || colorOf("avril") != vermillion || Label("qvirl-matched") != "QVIRL, matched" {
		t.Errorf("colours %v and %v, label %q", colorOf("qvirl"), colorOf("avril"), Label("qvirl-maxmean"))
	}
	if first, again := colorOf("another curve"), colorOf("another curve"); first != again ||
		Label("another curve") != "another curve" {
		t.Error("a text that is no method has no stable appearance")
	}
	if Label("avril-0.17") != "AVRIL, λ = 0.17" {
		t.Errorf("label %q", Label("avril-0.17"))
	}
	// In a figure methods are told apart by colour and dashes, and what is no method has no method's colour.
	methods := map[color.NRGBA]bool{}
	for _, m := range method.All() {
		methods[colorOf(m.Name)] = true
	}
	for _, names := range [][]string{{"valuewalk", "valuewalk-nodet", "qvirl", "qvirl-20k", "qvirl-maxmean", "avril"},
		{"qvirl", "A", "B", "C", "D", "avril-0.1", "avril-0.11", "avril-0.17", "qvirl-k02", "qvirl-k04"}} {
		used := map[string]bool{}
		for i, a := range appearances(names) {
			look := fmt.Sprint(a.color, a.dashes)
			if used[look] || len(names[i]) == 1 && methods[a.color] {
				t.Errorf("%s is drawn as another, or as a method: %s", names[i], look)
			}
			used[look] = true
		}
	}
}

// colorOf returns the colour that a method or another text is drawn in.
func colorOf(name string) color.NRGBA { a, _ := lookup(name); return a.color }

// A legend refuses what is written like a method but is none, and lists those that there are.
func TestLegendsRefuseUnknownMethods(t *testing.T) {
	curve := Curve{X: []float64{1, 2}, Y: []float64{3, 4}}
	for name, known := range map[string]bool{"qvirl": true, "qvirl-best": false, "avril-0.3": true,
		"expert's β = 2": true, "qvirl-bets": false} {
		curve.Name = name
		_, err := Curves{Panels: []CurvePanel{{XLabel: "x", YLabel: "y", Curves: []Curve{curve}}}}.Figure()
		if known && err != nil || !known && (err == nil || !strings.Contains(err.Error(), "there is no \""+name+"\"") ||
			!strings.Contains(err.Error(), "qvirl-matched")) {
			t.Errorf("%q: error %v", name, err)
		}
		_, err = Table{Columns: []Column{{Name: "c"}}, Rows: []Row{{Method: name, Cells: make([]Cell, 1)}}}.Text()
		if known != (err == nil) {
			t.Errorf("a table with %q: error %v", name, err)
		}
	}
}

// Text in cells has a contrast of at least 4.5 (WCAG AA) on every colour of both scales, and the scales are monotone in
// lightness from their palest colour outwards.
func TestScales(t *testing.T) {
	for name, r := range map[string]ramp{"sequential": sequential, "diverging": diverging} {
		scale := colorScale{span{-1, 1}, r}
		previous := math.NaN()
		for i := -200; i <= 200; i++ {
			c := scale.color(float64(i) / 200)
			a, b := luminance(c), luminance(contrast(c))
			if ratio := (math.Max(a, b) + 0.05) / (math.Min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s at %d: contrast %.1f", name, i, ratio)
			}
			rising := name == "diverging" && i <= 0
			if !math.IsNaN(previous) && (rising && a < previous-1e-9 || !rising && a > previous+1e-9) {
				t.Errorf("%s at %d: luminance goes from %.4f to %.4f", name, i, previous, a)
			}
			previous = a
		}
	}
	if l := luminance(rgb(0x777777)); !scalar.EqualWithinAbs(l, 0.1845, 1e-3) {
		t.Errorf("luminance of #777777 is %.4f, want 0.1845", l)
	}
	for _, style := range []color.NRGBA{ink, paleInk} {
		if ratio := 1.05 / (luminance(style) + 0.05); ratio < 7 {
			t.Errorf("text has a contrast of %.1f on white", ratio)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(-1.25, 1), "−1.2"}, {number(-0.01, 1), "0.0"}, {number(12345.6, 1), "12,345.6"},
		{number(-1234567, 0), "−1,234,567"},
		{number(999, 0), "999"}, {number(-8.19e8, 1), "−8.19e8"}, {number(5e8, 0), "5e8"},
		{shortNumber(1.5e-7), "1.5e−7"}, {shortNumber(39.894), "39.9"}, {shortNumber(0.00012345),
			"0.000123"},
		{shortNumber(20000), "20,000"}, {shortNumber(4567), "4567"}, {signed(0.04), "0.0"}, {signed(1.26), "+1.3"},
		{signed(-2), "−2.0"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Ticks at whole numbers are whole where few numbers are.
func TestWholeTicks(t *testing.T) {
	for high, want := range map[float64]string{0.5: "0", 1.5: "0 1", 11.5: "0 3 6 9", 99.5: "0 20 40 60 80"} {
		var labels []string
		for _, tick := range (wholeTicks{4}).Ticks(-0.5, high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("up to %g: ticks %s, want %s", high, got, want)
		}
	}
}

// Ticks lie in the range, ascend by equal steps, are neither few nor many, and their labels say their values.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e5, 1e5).Draw(t, "low")
		width := math.Pow(10, rapid.Float64Range(-3, 5).Draw(t, "log10 of the width"))
		n := rapid.IntRange(2, 6).Draw(t, "n")
		ticks := niceTicks{n}.Ticks(low, low+width)
		if len(ticks) < 1 || len(ticks) > 2*n+1 {
			t.Fatalf("%d ticks for %d", len(ticks), n)
		}
		for i, tick := range ticks {
			slack := 1e-6 * (width + math.Abs(low))
			if tick.Value < low-slack || tick.Value > low+width+slack {
				t.Fatalf("tick %g outside [%g, %g]", tick.Value, low, low+width)
			}
			if i > 1 && !(math.Abs(tick.Value-2*ticks[i-1].Value+ticks[i-2].Value) <= slack) {
				t.Fatalf("ticks %g, %g and %g are not equally far apart", ticks[i-2].Value, ticks[i-1].Value,
					tick.Value)
			}
			text := strings.NewReplacer("−", "-", ",", "").Replace(tick.Label)
			if v, err := strconv.ParseFloat(text, 64); err != nil ||
				!scalar.EqualWithinAbs(v, tick.Value, 1e-6*(1+math.Abs(tick.Value))) {
				t.Fatalf("label %q of the tick %g", tick.Label, tick.Value)
			}
		}
	})
}

func TestLogTicks(t *testing.T) {
	var labels []string
	for _, tick := range (logTicks{}).Ticks(0.02, 1) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	if want := []string{"0.02", "0.05", "0.1", "0.2", "0.5", "1"}; !slices.Equal(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
	count := 0
	for _, tick := range (logTicks{}).Ticks(1e-9, 1e9) {
		if tick.Label != "" {
			count++
		}
	}
	if count < 3 || count > 8 {
		t.Errorf("%d labels over 18 decades", count)
	}
}

// The font of the figures has every letter that numbers and names of methods are made of: it leaves out others, so that
// 10⁻⁵ would read 10⁵.
func TestTheFontHasAllLetters(t *testing.T) {
	text := "0123456789.,−+±eσ↑" + number(-1.5e9, 0) + shortNumber(-2e-9)
	for _, m := range method.All() {
		text += m.Label
	}
	face := font.DefaultCache.Lookup(textStyle(smallSize, ink, 0, 0).Font, smallSize).Face
	var buffer sfnt.Buffer
	for _, r := range text {
		if glyph, err := face.GlyphIndex(&buffer, r); err != nil || glyph == 0 {
			t.Errorf("there is no %q in the font (error %v)", r, err)
		}
	}
}
