package widgets

import (
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// VerdictCounts is Verdicts counted: a bar for each method, cut into the numbers of its answers of each kind.
type VerdictCounts exhibit.VerdictChart

// verdictBars are the kinds of answers from left to right: those that mislead nobody, and those that do.
var verdictBars = []struct {
	kind exhibit.Kind
	fill color.NRGBA
}{
	{exhibit.RightClaimed, sequential[4]}, {exhibit.RightDoubted, sequential[2]}, {exhibit.NoAnswer, missing},
	{exhibit.WrongDoubted, diverging[2]}, {exhibit.WrongTrusted, vermillion},
}

// Figure implements Drawing.
func (m VerdictCounts) Figure() (*Figure, error) {
	if err := Verdicts(m).validate(); err != nil {
		return nil, err
	}
	const rowHeight, thickness = vg.Length(24), vg.Length(16)
	const beside = vg.Length(16) // room for a number
	looks, counts, most := appearances(m.Methods), exhibit.VerdictChart(m).Counts(), 1
	for _, of := range counts {
		sum := 0
		for _, n := range of {
			sum += n
		}
		most = max(most, sum)
	}
	var legend []legendEntry
	for _, b := range verdictBars {
		legend = append(legend, legendEntry{verdictLegend[b.kind].text, func(c draw.Canvas) {
			fillPath(c, b.fill, rect(c.Min.X+2, c.Min.Y+2, c.Max.X-2, c.Max.Y-2).Path())
		}})
	}
	style := textStyle(textSize, ink, draw.XLeft, draw.YCenter)
	names := widest(style, looks) + 10
	return card{
		title: m.Title, legend: legend, bodyHeight: vg.Length(len(looks)) * rowHeight, records: m.records,
		description: fmt.Sprintf("Numbers of right and wrong answers of %s.", labels(m.Methods)),
		body: func(c draw.Canvas) {
			scale := (c.Max.X - c.Min.X - names - beside) / vg.Length(most)
			for i, a := range looks {
				x, y := c.Min.X+names, c.Max.Y-(vg.Length(i)+0.5)*rowHeight
				writeText(c, style, c.Min.X, y, a.label)
				narrow := "" // the number of the last segment, where it has no room in it
				for _, b := range verdictBars {
					n := counts[i][b.kind]
					width := vg.Length(n) * scale
					fillPath(c, b.fill, rect(x, y-thickness/2, x+width, y+thickness/2).Path())
					number := textStyle(smallSize, contrast(b.fill), draw.XCenter, draw.YCenter)
					switch text := strconv.Itoa(n); {
					case n > 0 && number.Width(text)+2 < width:
						writeText(c, number, x+width/2, y, text)
						narrow = ""
					case n > 0:
						narrow = text
					}
					x += width
				}
				if narrow != "" {
					writeText(c, textStyle(smallSize, ink, draw.XLeft, draw.YCenter), x+3, y, narrow)
				}
			}
		},
	}.figure(), nil
}

func (m VerdictCounts) records() [][]string {
	out := csvLines{{"method", "verdict", "answers"}}
	for i, of := range exhibit.VerdictChart(m).Counts() {
		for _, b := range verdictBars {
			out.add(m.Methods[i], verdictLegend[b.kind].text, of[b.kind])
		}
	}
	return out
}
