package widgets

import (
	"cmp"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ramp is a colour scale: colours at equal steps, linear between them. Both ramps have monotone lightness on either
// side of their palest colour, so that they also read in grey.
type ramp []color.NRGBA

var (
	sequential = ramp{rgb(0xFBFBF8), rgb(0xD3E3EE), rgb(0x96C0DD), rgb(0x4B94C4), rgb(0x10649F), rgb(0x083A66)}
	diverging  = ramp{rgb(0x9A4200), rgb(0xD9762B), rgb(0xF2BC8C), rgb(0xF8F8F6), rgb(0x9FC9E4), rgb(0x3B8DC4),
		rgb(0x0A5487)}
)

// colorScale maps numbers to colours.
type colorScale struct {
	span
	ramp ramp
}

// newScale returns the scale over all finite values: symmetric about 0 if it diverges, so that the palest colour is 0.
func newScale(diverges bool, values ...[]float64) colorScale {
	s := emptySpan()
	for _, v := range values {
		s.include(v...)
	}
	if s.low > s.high {
		s = span{0, 1}
	}
	if diverges {
		top := math.Max(math.Abs(s.low), math.Abs(s.high))
		top = cmp.Or(top, 1)
		return colorScale{span{-top, top}, diverging}
	}
	if s.low == s.high {
		s = s.padded(0.5)
	}
	return colorScale{s, sequential}
}

func (s colorScale) color(v float64) color.NRGBA {
	if math.IsNaN(v) {
		return missing
	}
	t := (v - s.low) / (s.high - s.low) * float64(len(s.ramp)-1)
	t = math.Min(math.Max(t, 0), float64(len(s.ramp)-1))
	i := min(int(t), len(s.ramp)-2)
	return mix(s.ramp[i], s.ramp[i+1], t-float64(i))
}

// contrast is black or white, whichever has the higher contrast (WCAG 2) with the colour; it is at least 4.5.
func contrast(c color.NRGBA) color.NRGBA {
	if (luminance(c)+0.05)*(luminance(c)+0.05) > 1.05*0.05 {
		return black
	}
	return white
}

// luminance is the relative luminance of WCAG 2, 0 to 1.
func luminance(c color.NRGBA) float64 {
	linear := func(b uint8) float64 {
		v := float64(b) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// barWidth is what a colour bar takes of the width, with its tick labels and its title.
const barWidth = vg.Length(58)

// barTitle is the style of the title along a bar.
func barTitle() draw.TextStyle {
	style := textStyle(smallSize, ink, draw.XCenter, draw.YBottom)
	style.Rotation = math.Pi / 2
	return style
}

// barHeight is how high the bar beside something must be at least, to be as long as its title.
func barHeight(beside vg.Length, title string) vg.Length {
	return max(beside, barTitle().Width(title)+4)
}

// paint paints the scale as a vertical bar at the left edge of the canvas, with ticks, and the title along it.
func (s colorScale) paint(c draw.Canvas, title string) {
	const thick, steps = vg.Length(11), 80
	height := c.Max.Y - c.Min.Y
	for i := range steps {
		low, high := float64(i)/steps, float64(i+1)/steps
		overlap := 0.3 / float64(steps) // keeps hairlines from showing between the steps
		if i == steps-1 {
			overlap = 0
		}
		fillPath(c, s.color(s.low+(low+high)/2*(s.high-s.low)), rect(c.Min.X, c.Min.Y+vg.Length(low)*height,
			c.Min.X+thick, c.Min.Y+vg.Length(high+overlap)*height).Path())
	}
	box := rect(c.Min.X, c.Min.Y, c.Min.X+thick, c.Max.Y)
	strokePath(c, axisLine, box.Path())
	style := textStyle(smallSize, ink, draw.XLeft, draw.YCenter)
	count := 4
	if height < 110 {
		count = 2
	}
	widest := vg.Length(0)
	for _, t := range (niceTicks{count}).Ticks(s.low, s.high) {
		y := c.Min.Y + vg.Length((t.Value-s.low)/(s.high-s.low))*height
		c.StrokeLine2(axisLine, box.Max.X, y, box.Max.X+3, y)
		writeText(c, style, box.Max.X+5, y, t.Label)
		widest = max(widest, style.Width(t.Label))
	}
	c.FillText(barTitle(), vg.Point{X: box.Max.X + 5 + widest + smallSize + 4, Y: (c.Min.Y + c.Max.Y) / 2}, title)
}
