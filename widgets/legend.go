package widgets

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legendEntry is a sample and its name.
type legendEntry struct {
	label  string
	sample func(c draw.Canvas) // paints into a box of legendSample × legendLine
}

const legendSample = vg.Length(22)

func (e legendEntry) width() vg.Length {
	return legendSample + 5 + textStyle(textSize, ink, draw.XLeft, draw.YCenter).Width(e.label) + 16
}

func (e legendEntry) paint(c draw.Canvas, x, y vg.Length) {
	e.sample(within(c, rect(x, y-legendLine/2, x+legendSample, y+legendLine/2)))
	writeText(c, textStyle(textSize, ink, draw.XLeft, draw.YCenter), x+legendSample+5, y, e.label)
}

// legendRows breaks the entries into rows that fit the width.
func legendRows(entries []legendEntry, width vg.Length) [][]legendEntry {
	var rows [][]legendEntry
	used := width
	for _, e := range entries {
		if used+e.width() > width+16 { // the gap after the last entry may stick out
			rows = append(rows, nil)
			used = 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += e.width()
	}
	return rows
}

// lineEntry is the legend entry of a line.
func lineEntry(label string, style draw.LineStyle) legendEntry {
	return legendEntry{label, func(c draw.Canvas) {
		c.StrokeLine2(style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}}
}

// verticalEntry is the legend entry of a vertical line.
func verticalEntry(label string, style draw.LineStyle) legendEntry {
	return legendEntry{label, func(c draw.Canvas) {
		c.StrokeLine2(style, c.Center().X, c.Min.Y+2, c.Center().X, c.Max.Y-2)
	}}
}

// bandEntry is the legend entry of a line with a band around it.
func bandEntry(label string, a appearance) legendEntry {
	return legendEntry{label, func(c draw.Canvas) {
		box := draw.Crop(c, 0, 0, 3, -3)
		fillPath(c, fade(a.color, bandAlpha), box.Rectangle.Path())
		c.StrokeLine2(a.line(lineWidth), c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}}
}

func (a appearance) line(width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: a.color, Width: width, Dashes: a.dashes}
}
