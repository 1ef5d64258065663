package widgets

import (
	"fmt"
	"hash/fnv"
	"image/color"
	"strconv"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/qvirl/method"
)

// Colours that are no method's, for what is no method: curves of a training, say.
var others = []color.NRGBA{rgb(0x7A5230), rgb(0x5B3FA0), rgb(0x6B7A1E), rgb(0xA0307A), rgb(0x1B7F8C), rgb(0x8C8C8C)}

// Colours of marks.
var (
	skyBlue    = rgb(0x56B4E9)
	blue       = rgb(0x0072B2)
	vermillion = rgb(0xD55E00)
	black      = rgb(0x000000)
)

// The greys of everything that is not data of a method.
var (
	ink      = rgb(0x1A1A1A) // text
	paleInk  = rgb(0x595959) // secondary text; 7:1 on white
	axisGrey = rgb(0x666666)
	gridGrey = rgb(0xE4E4E4)
	missing  = rgb(0xD0D0D0) // cells without a value
	oracle   = rgb(0x4D4D4D) // the reference posterior
	white    = rgb(0xFFFFFF)
)

// Sizes in points; 1 pt = 4/3 px.
const (
	maxWidth   = vg.Length(720) // 960 px, the width of a notebook's column
	cardPad    = vg.Length(12)
	smallSize  = vg.Length(9)
	textSize   = vg.Length(9.5)
	titleSize  = vg.Length(12)
	titleLine  = titleSize + 3
	lineWidth  = vg.Length(1.6)
	thinWidth  = vg.Length(0.6)
	legendLine = vg.Length(15) // height of a legend row
)

// appearance is how a method is drawn in every figure.
type appearance struct {
	label  string
	color  color.NRGBA
	dashes []vg.Length
}

// dashes are how lines are broken: each repeats within 20 points, so that a short line in a legend tells them apart.
var dashes = map[method.Line][]vg.Length{
	method.Dashed: {5, 2.5}, method.Dotted: {1.5, 2}, method.DashDot: {6, 2, 1.5, 2}, method.LongDash: {9, 3},
	method.DashDotDot: {6, 2, 1.5, 2, 1.5, 2},
}

// Lines that are no method's.
var (
	axisLine   = draw.LineStyle{Color: axisGrey, Width: thinWidth}
	gridLine   = draw.LineStyle{Color: gridGrey, Width: thinWidth}
	cellLine   = draw.LineStyle{Color: rgb(0xBBBBBB), Width: 0.5} // around the cells of a map
	levelLine  = draw.LineStyle{Color: axisGrey, Width: 0.8}
	targetLine = draw.LineStyle{Color: axisGrey, Width: 0.8, Dashes: dashes[method.Dotted]}
	markLine   = draw.LineStyle{Color: ink, Width: 0.8, Dashes: dashes[method.Dotted]}
	truthLine  = draw.LineStyle{Color: black, Width: 1.4, Dashes: []vg.Length{3, 2}} // at a true value
)

// lookup returns how a method is drawn, and its entry; nil for a text that is no method's name, which gets a colour
// that depends on it alone.
func lookup(name string) (appearance, *method.Method) {
	m, err := method.Lookup(name)
	if err != nil {
		h := fnv.New32a()
		h.Write([]byte(name))
		return appearance{label: name, color: others[h.Sum32()%uint32(len(others))]}, nil
	}
	v, err := strconv.ParseUint(m.Color()[1:], 16, 24)
	if err != nil {
		panic(fmt.Sprintf("widgets: the colour %q of %s", m.Color(), name)) // a fault of the registry
	}
	return appearance{m.Label, rgb(uint32(v)), dashes[m.Line]}, &m
}

// appearances returns how the methods of one figure are drawn: in the colour of their family and with their own line,
// except that one whose line another of its family has already gets the next that is free. Other texts get colours that
// no method has, one after another.
func appearances(names []string) []appearance {
	out := make([]appearance, len(names))
	type style struct {
		family method.Family
		line   method.Line
	}
	used, rest := map[style]string{}, 0
	for i, name := range names {
		var m *method.Method
		if out[i], m = lookup(name); m == nil {
			out[i].color = others[rest%len(others)]
			rest++
			continue
		}
		line := m.Line
		for _, next := range append([]method.Line{line}, method.Lines()...) {
			if owner, taken := used[style{m.Family, next}]; !taken || owner == m.Name {
				line = next
				break
			}
		}
		used[style{m.Family, line}] = m.Name
		out[i].dashes = dashes[line]
	}
	return out
}

// checkMethods refuses names that are written as a method's but are none of the registry's (see method.Check).
func checkMethods(names ...string) error { return ours(method.Check(names...)) }

// ours says that an error is of this package, if there is one.
func ours(err error) error {
	if err != nil {
		return fmt.Errorf("widgets: %w", err)
	}
	return nil
}

// Label returns the name under which figures and tables list a method, for instance "QVIRL, matched" for
// "qvirl-matched". Another text is its own label; it needs a capital letter or a space, as figures refuse names written
// like a method's that are none's.
func Label(name string) string { a, _ := lookup(name); return a.label }

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xFF}
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// tint mixes a colour with white; amount 1 leaves it as it is, 0 makes it white. It is used in place of transparency,
// so that overlapping grid lines do not shine through.
func tint(c color.NRGBA, amount float64) color.NRGBA {
	return mix(white, c, amount)
}

func mix(from, to color.NRGBA, t float64) color.NRGBA {
	part := func(a, b uint8) uint8 { return uint8(float64(a) + t*(float64(b)-float64(a)) + 0.5) }
	return color.NRGBA{R: part(from.R, to.R), G: part(from.G, to.G), B: part(from.B, to.B), A: 0xFF}
}

// fade makes a colour transparent.
func fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(alpha*255 + 0.5)
	return c
}

// textStyle is the theme's type in one size.
func textStyle(size vg.Length, c color.Color, x draw.XAlignment, y draw.YAlignment) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler,
	}
}

func bold(s text.Style) text.Style {
	s.Font.Weight = stdfont.WeightBold
	return s
}
