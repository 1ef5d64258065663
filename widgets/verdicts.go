package widgets

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Verdicts is a table of problems, in families, by methods: each cell has the colour of its answer's error, from 0.01
// to 100 posterior standard deviations, and a mark that says whether the answer is right and the method knows.
type Verdicts exhibit.VerdictChart

// verdictLegend are the kinds of answers, in their order, with an example of each.
var verdictLegend = []struct {
	text string
	of   exhibit.Verdict
}{
	{"right, and says so", exhibit.Verdict{Error: 0.03, Right: true, Claims: true}},
	{"wrong, and says so", exhibit.Verdict{Error: 3}},
	{"wrong, and says right", exhibit.Verdict{Error: 3, Claims: true}},
	{"right, but doubts it", exhibit.Verdict{Error: 0.03, Right: true}},
	{"no answer", exhibit.Verdict{Failed: true}},
}

// What a figure of verdicts takes.
const (
	verdictRow    = vg.Length(11.5)
	verdictCell   = vg.Length(15)
	verdictStacks = 3 // of families, side by side
	verdictGap    = vg.Length(14)
)

// Figure implements Drawing.
func (m Verdicts) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	looks := appearances(m.Methods)
	stacks, rows := m.stack()
	small := textStyle(smallSize, ink, draw.XLeft, draw.YCenter)
	header, names, problems := widest(small, looks)+6, vg.Length(0), 0
	for _, f := range m.Families {
		problems += len(f.Problems)
		for _, p := range f.Problems {
			names = max(names, small.Width(p)+6)
		}
	}
	width := names + vg.Length(len(m.Methods))*verdictCell
	var legend []legendEntry
	for _, l := range verdictLegend {
		legend = append(legend, legendEntry{l.text, func(c draw.Canvas) {
			x := c.Center().X
			paintVerdict(c, &l.of, rect(x-verdictCell/2, c.Min.Y+1.5, x+verdictCell/2, c.Max.Y-1.5))
		}})
	}
	body := header + vg.Length(rows)*verdictRow
	full := vg.Length(len(stacks))*(width+verdictGap) + barWidth
	return card{
		title: m.Title, legend: legend, width: max(full+2*cardPad, 460), bodyHeight: max(body, header+110),
		description: fmt.Sprintf("Errors and verdicts of %s on %d problems in %d families.", labels(m.Methods),
			problems, len(m.Families)), records: m.records,
		body: func(c draw.Canvas) {
			for i, families := range stacks {
				left := c.Min.X + vg.Length(i)*(width+verdictGap)
				for j, a := range looks {
					style := textStyle(smallSize, ink, draw.XLeft, draw.YCenter)
					style.Rotation = math.Pi / 2
					x := left + names + (vg.Length(j)+0.5)*verdictCell
					c.FillText(style, vg.Point{X: x, Y: c.Max.Y - header + 3}, a.label)
				}
				y := c.Max.Y - header
				for _, f := range families {
					writeText(c, bold(small), left, y-0.6*verdictRow, f.Title)
					y -= verdictRow
					for k, problem := range f.Problems {
						writeText(c, small, left, y-verdictRow/2, problem)
						for j, v := range f.Verdicts[k] {
							if v != nil {
								x := left + names + vg.Length(j)*verdictCell
								paintVerdict(c, v, rect(x, y-verdictRow, x+verdictCell, y))
							}
						}
						y -= verdictRow
					}
				}
			}
			bar := draw.Crop(c, vg.Length(len(stacks))*(width+verdictGap), 0, 0, -header)
			bar.Min.Y = max(bar.Min.Y, bar.Max.Y-220)
			errorScale.paint(bar, "log₁₀ of the error in sd")
		},
	}.figure(), nil
}

// errorScale is the colours of the logs of errors.
var errorScale = colorScale{span{-2, 2}, sequential}

// stack shares the families out over stacks of about equal height, and returns the rows of the highest.
func (m Verdicts) stack() (stacks [][]exhibit.VerdictFamily, rows int) {
	all := 0
	for _, f := range m.Families {
		all += len(f.Problems) + 1
	}
	target, past := float64(all)/verdictStacks, 0
	heights := make([]int, verdictStacks)
	stacks = make([][]exhibit.VerdictFamily, verdictStacks)
	for _, f := range m.Families {
		size := len(f.Problems) + 1
		i := min(int((float64(past)+float64(size)/2)/target), verdictStacks-1)
		stacks[i], heights[i] = append(stacks[i], f), heights[i]+size
		past += size
	}
	empty := func(stack []exhibit.VerdictFamily) bool { return len(stack) == 0 }
	return slices.DeleteFunc(stacks, empty), slices.Max(heights)
}

// paintVerdict paints the cell of an answer: a vermillion cross where a wrong answer is called right, a ring where it
// is known to be wrong, a dash where a right one is doubted, and grey where there is none.
func paintVerdict(c draw.Canvas, v *exhibit.Verdict, box vg.Rectangle) {
	col := missing
	if v.Kind() != exhibit.NoAnswer {
		col = errorScale.color(math.Log10(math.Min(math.Max(v.Error, 1e-2), 1e2)))
	}
	fillPath(c, col, box.Path())
	strokePath(c, cellLine, box.Path())
	centre, half := middle(box), vg.Length(3)
	x, y := centre.X, centre.Y
	switch v.Kind() {
	case exhibit.WrongTrusted:
		cross(c, vermillion, centre, half, 2)
	case exhibit.WrongDoubted:
		strokePath(c, draw.LineStyle{Color: contrast(col), Width: 1.3}, disc(centre, half-0.3))
	case exhibit.RightDoubted:
		c.StrokeLine2(draw.LineStyle{Color: contrast(col), Width: 1.3}, x-half, y, x+half, y)
	case exhibit.NoAnswer:
		c.StrokeLine2(draw.LineStyle{Color: axisGrey, Width: 1}, x-half, y-half, x+half, y+half)
	}
}

func (m Verdicts) validate() error {
	return check.First(checkBoth("Verdicts", "methods", len(m.Methods), "families", len(m.Families)),
		forEach("Verdicts.Families", m.Families, func(field string, f exhibit.VerdictFamily) error {
			field += ".Verdicts"
			return check.First(checkLength(field, len(f.Verdicts), len(f.Problems), "one for each problem"),
				forEach(field, f.Verdicts, func(field string, row []*exhibit.Verdict) error {
					return check.First(checkLength(field, len(row), len(m.Methods), "one for each method"),
						forEach(field, row, func(field string, v *exhibit.Verdict) error {
							if v == nil {
								return nil
							}
							return refuse(!(v.Error >= 0), "%s.Error = %g, want a number that is not negative", field,
								v.Error)
						}))
				}))
		}))
}

func (m Verdicts) records() [][]string {
	out := csvLines{{"family", "problem", "method", "error", "verdict"}}
	for _, f := range m.Families {
		for i, row := range f.Verdicts {
			for j, v := range row {
				if v != nil {
					out.add(f.Title, f.Problems[i], m.Methods[j], v.Error, verdictLegend[v.Kind()].text)
				}
			}
		}
	}
	return out
}
