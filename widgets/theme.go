package widgets

import (
	"hash/fnv"
	"image/color"
	"strconv"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

var methods = map[string]appearance{
	"valuewalk":           {"ValueWalk", oracle, nil},
	"valuewalk-nodet":     {"ValueWalk without determinant", rgb(0x8C8C8C), dashed},
	"valuewalk-again":     {"ValueWalk, a second run", rgb(0x8C8C8C), dotted},
	"policywalk":          {"PolicyWalk", skyBlue, dashDot},
	"qvirl":               {"QVIRL", blue, nil},
	"qvirl-20k":           {"QVIRL, 20,000 steps", skyBlue, dashed},
	"qvirl-maxmean":       {"QVIRL, max-mean", green, dashDot},
	"qvirl-svi":           {"QVIRL, trained on draws", blue, dashDot},
	"qvirl-best":          {"QVIRL, matched", purple, dashed},
	"qvirl-matched":       {"QVIRL, matched", purple, dashed},
	"qvirl-refined":       {"QVIRL, refined", purple, nil},
	"paper":               {"QVIRL, the paper's", blue, nil},
	"start":               {"QVIRL, trained briefly", skyBlue, dashed},
	"qvirl-log-e-p":       {"QVIRL, Clark, log E p from draws", green, dashed},
	"qvirl-e-log-p":       {"QVIRL, Clark, E log p from draws", purple, dotted},
	"qvirl-svi-log-e-p":   {"QVIRL, trained on draws, log E p", green, dotted},
	"matched-values":      {"QVIRL, matched, Gaussian over values", green, dashDot},
	"matched-rewards":     {"QVIRL, matched, Gaussian over rewards", green, dashed},
	"qvirl-mean":          {"QVIRL, mean policy", blue, nil},
	"qvirl-cvar":          {"QVIRL, CVaR policy", blue, dashed},
	"qvirl-exactmax":      {"QVIRL, exact max", skyBlue, dashed},
	"qvirl-exactmax-cvar": {"QVIRL, CVaR policy, exact max", skyBlue, dashed},
	"qvirl-svi-mean":      {"QVIRL, trained on draws, mean policy", green, nil},
	"qvirl-svi-cvar":      {"QVIRL, trained on draws, CVaR policy", green, dashed},
	"qvirl-activevar":     {"QVIRL, ActiveVaR", green, dashed},
	"qvirl-random":        {"QVIRL, random queries", skyBlue, dotted},
	"valuewalk-mean":      {"ValueWalk, mean policy", oracle, nil},
	"valuewalk-cvar":      {"ValueWalk, CVaR policy", oracle, dashed},
	"avril":               {"AVRIL", vermillion, nil},
	"avril-mean":          {"AVRIL, mean policy", vermillion, nil},
	"avril-cvar":          {"AVRIL, CVaR policy", vermillion, dashed},
	"avril-0.17-mean":     {"AVRIL, λ = 0.17, mean policy", orange, nil},
	"avril-0.17-cvar":     {"AVRIL, λ = 0.17, CVaR policy", orange, dashed},
	"iqlearn":             {"IQ-Learn", purple, nil},
	"iqlearn-ensemble":    {"IQ-Learn, ensemble", purple, dashed},
	"qvirl-aux":           {"QVIRL, with rollouts", skyBlue, dashed},
	"qvirl-ensemble":      {"QVIRL, ensemble", blue, dashed},
	"qvirl-tuned":         {"QVIRL, tuned", blue, dotted},
	"bc-tuned":            {"behaviour cloning, tuned", green, dotted},
	"iqlearn-tuned":       {"IQ-Learn, tuned", purple, dotted},
	"avril-tuned":         {"AVRIL, tuned", vermillion, dotted},
	"bc":                  {"behaviour cloning", green, nil},
	"max-mean":            {"max-mean", green, dashDot},
	"clark":               {"Clark", blue, nil},
	"prior":               {"prior", rgb(0x999999), dotted},
	"expert":              {"expert", black, nil},
	"optimal":             {"optimal", black, nil},
	"random":              {"random", rgb(0x999999), dotted},
	"nominal":             {"nominal", rgb(0x999999), dotted}, // of coverage
	"uniform":             {"uniform", rgb(0x999999), dotted}, // of ranks
}

// lookup returns the fixed appearance of a method; an unknown name gets one that depends on the name alone.
func lookup(method string) appearance {
	if a, ok := methods[method]; ok {
		return a
	}
	// A policy of a method that the table does not list, such as avril-0.17-cvar.
	if base, ok := strings.CutSuffix(method, "-mean"); ok {
		a := lookup(base)
		return appearance{a.label + ", mean policy", a.color, nil}
	}
	if base, ok := strings.CutSuffix(method, "-exactmax-cvar"); ok {
		a := lookup(base)
		return appearance{a.label + ", CVaR policy, exact max", a.color, dotted}
	}
	if base, ok := strings.CutSuffix(method, "-cvar"); ok {
		a := lookup(base)
		return appearance{a.label + ", CVaR policy", a.color, dashed}
	}
	if base, rate, ok := strings.Cut(method, "-rate-"); ok {
		a := lookup(base)
		return appearance{a.label + ", learning rate " + rate, a.color, a.dashes}
	}
	// AVRIL at one λ, such as avril-0.17: the colour says whether λ is below, in or above the range in which the
	// posterior of a state-only reward with five actions is neither the prior nor a point.
	if digits, ok := strings.CutPrefix(method, "avril-"); ok {
		if weight, err := strconv.ParseFloat(digits, 64); err == nil {
			a := appearance{label: "AVRIL, λ = " + digits}
			switch {
			case weight <= 0.12:
				a.color, a.dashes = orange, dotted
			case weight < 0.2:
				a.color, a.dashes = vermillion, dashed
			default:
				a.color, a.dashes = purple, dashDot
			}
			return a
		}
	}
	h := fnv.New32a()
	h.Write([]byte(method))
	return appearance{label: method, color: palette[h.Sum32()%uint32(len(palette))]}
}

// appearances returns how the methods of one figure are drawn: their fixed appearance, except that a name without a fixed
// one moves on to the next free colour if an earlier method of the figure already has its own.
func appearances(names []string) []appearance {
	out := make([]appearance, len(names))
	used := map[color.NRGBA]bool{}
	for _, name := range names {
		if a, fixed := methods[name]; fixed {
			used[a.color] = true
		}
	}
	for i, name := range names {
		out[i] = lookup(name)
		if _, fixed := methods[name]; fixed {
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

// Color returns the colour of a method in every figure, as #rrggbb. Method names are those of result rows, such as
// "qvirl-maxmean"; a name that the package does not know gets a colour that depends on the name alone.
func Color(method string) string { return hex(lookup(method).color) }

// Label returns the name under which figures and tables list a method, for instance "QVIRL, max-mean" for
// "qvirl-maxmean". A name that the package does not know is its own label.
func Label(method string) string { return lookup(method).label }

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

// tint mixes a colour with white; amount 1 leaves it as it is, 0 makes it white. It is used in place of transparency, so
// that overlapping grid lines do not shine through.
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
