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

// The palette of Okabe and Ito (2008), which stays distinct under the common colour-vision deficiencies, without its
// yellow, which vanishes on white.
var (
	orange     = rgb(0xE69F00)
	skyBlue    = rgb(0x56B4E9)
	green      = rgb(0x009E73)
	blue       = rgb(0x0072B2)
	vermillion = rgb(0xD55E00)
	purple     = rgb(0xCC79A7)
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

var palette = []color.NRGBA{blue, vermillion, green, purple, orange, skyBlue, black}

// Sizes in points; 1 pt = 4/3 px.
const (
	maxWidth   = vg.Length(720) // 960 px, the width of a notebook's column
	cardPad    = vg.Length(12)
	smallSize  = vg.Length(9)
	textSize   = vg.Length(9.5)
	titleSize  = vg.Length(12)
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

var (
	dashed  = []vg.Length{5, 2.5}
	dotted  = []vg.Length{1.5, 2}
	dashDot = []vg.Length{6, 2, 1.5, 2}
)

var dashes = map[method.Line][]vg.Length{method.Dashed: dashed, method.Dotted: dotted, method.DashDot: dashDot}

// lookup returns how a method is drawn, and whether that is fixed, as it is for those that the registry lists; a text
// that is no method's name gets a colour that depends on it alone.
func lookup(name string) (a appearance, fixed bool) {
	m, err := method.Lookup(name)
	if err != nil {
		h := fnv.New32a()
		h.Write([]byte(name))
		return appearance{label: name, color: palette[h.Sum32()%uint32(len(palette))]}, false
	}
	v, err := strconv.ParseUint(m.Color[1:], 16, 24)
	if err != nil {
		panic(fmt.Sprintf("widgets: the colour %q of %s", m.Color, name)) // a fault of the registry
	}
	return appearance{m.Label, rgb(uint32(v)), dashes[m.Line]}, !m.Variant
}

// appearances returns how the methods of one figure are drawn: their fixed appearance, except that a variant or another
// text moves on to the next free colour if an earlier entry of the figure already has its own.
func appearances(names []string) []appearance {
	out := make([]appearance, len(names))
	used, fixed := map[color.NRGBA]bool{}, make([]bool, len(names))
	for i, name := range names {
		if out[i], fixed[i] = lookup(name); fixed[i] {
			used[out[i].color] = true
		}
	}
	for i := range out {
		if fixed[i] {
			continue
		}
		for j := 0; j < len(palette) && used[out[i].color]; j++ {
			if !used[palette[j]] {
				out[i].color = palette[j]
			}
		}
		used[out[i].color] = true
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

// Color returns the colour of a method in every figure, as #rrggbb. Method names are those of result rows, such as
// "qvirl-maxmean"; another text gets a colour that depends on it alone.
func Color(name string) string { a, _ := lookup(name); return hex(a.color) }

// Label returns the name under which figures and tables list a method, for instance "QVIRL, max-mean" for
// "qvirl-maxmean". Another text is its own label.
func Label(name string) string { a, _ := lookup(name); return a.label }

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xFF}
}

func hex(c color.NRGBA) string {
	const digits = "0123456789abcdef"
	out := []byte{'#'}
	for _, b := range []uint8{c.R, c.G, c.B} {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

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
