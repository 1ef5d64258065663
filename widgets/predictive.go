package widgets

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Predictive checks a posterior by what it has seen: how probable was what the expert did, state by state? A row is an
// action in a state: how often it was demonstrated there, and the probability that the posterior predicts, with the
// central 90 % of it. The 20 least probable are shown, the least first.
type Predictive struct {
	Title     string
	Decisions []exhibit.Decision
}

// Figure implements Drawing.
func (m Predictive) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	rows := slices.Clone(m.Decisions)
	slices.SortStableFunc(rows, func(a, b exhibit.Decision) int { return cmp.Compare(a.Mean, b.Mean) })
	shown := rows[:min(20, len(rows))]
	style := textStyle(textSize, ink, draw.XLeft, draw.YCenter)
	names := vg.Length(0)
	for _, d := range shown {
		names = max(names, style.Width(decisionName(d))+12)
	}
	const rowHeight, foot = vg.Length(17), vg.Length(36)
	sum, total := 0.0, 0
	for _, d := range m.Decisions {
		sum, total = sum+float64(d.Times)*math.Log(d.Mean), total+d.Times
	}
	legend := []legendEntry{
		{"predicted: mean and 90 %", func(c draw.Canvas) {
			c.StrokeLine2(draw.LineStyle{Color: blue, Width: 2}, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
			dot(c, blue, c.Center(), 2.8)
		}},
		{"demonstrated share", func(c draw.Canvas) { diamond(c, vermillion, c.Center()) }},
	}
	left := ""
	if len(shown) < len(rows) {
		left = fmt.Sprintf(" The %d least probable of %d are shown.", len(shown), len(rows))
	}
	note := fmt.Sprintf("A decision is predicted with the probability %.2f (geometric mean of %d).%s",
		math.Exp(sum/float64(total)), total, left)
	return card{title: m.Title, legend: legend, width: min(maxWidth, names+420), description: note,
		bodyHeight: vg.Length(len(shown))*rowHeight + foot + 16, records: m.records,
		body: func(c draw.Canvas) {
			top := c.Max.Y - 16
			writeText(c, textStyle(smallSize, paleInk, draw.XLeft, draw.YCenter), c.Min.X, c.Max.Y-6, note)
			low, high := c.Min.X+names, c.Max.X-10
			x := func(p float64) vg.Length { return low + vg.Length(p)*(high-low) }
			bottom := top - vg.Length(len(shown))*rowHeight
			for _, t := range (niceTicks{5}).Ticks(0, 1) {
				c.StrokeLine2(gridLine, x(t.Value), bottom, x(t.Value), top)
				c.FillText(textStyle(smallSize, ink, draw.XCenter, draw.YTop), vg.Point{X: x(t.Value), Y: bottom - 4},
					t.Label)
			}
			c.FillText(textStyle(textSize, ink, draw.XCenter, draw.YTop), vg.Point{X: x(0.5), Y: bottom - 18},
				"probability of the action in the state")
			for i, d := range shown {
				y := top - (vg.Length(i)+0.5)*rowHeight
				writeText(c, style, c.Min.X, y, decisionName(d))
				c.StrokeLine2(draw.LineStyle{Color: blue, Width: 2}, x(d.Low), y, x(d.High), y)
				dot(c, blue, vg.Point{X: x(d.Mean), Y: y}, 2.8)
				diamond(c, vermillion, vg.Point{X: x(float64(d.Times) / float64(d.Of)), Y: y})
			}
		}}.figure(), nil
}

func (m Predictive) validate() error {
	return check.First(refuse(len(m.Decisions) == 0, "Predictive has no decisions: nothing was demonstrated"),
		forEach("Predictive.Decisions", m.Decisions, func(field string, d exhibit.Decision) error {
			return check.First(refuse(d.Times < 1 || d.Of < d.Times, "%s: %d of %d decisions", field, d.Times, d.Of),
				refuse(!(0 <= d.Low && d.Low <= d.High && d.High <= 1+1e-9 && d.Mean > 0 && d.Mean <= 1+1e-9),
					"%s: mean %g, from %g to %g: want probabilities", field, d.Mean, d.Low, d.High))
		}))
}

// decisionName is what stands before a row.
func decisionName(d exhibit.Decision) string {
	return fmt.Sprintf("%s: %s (%d of %d)", d.State, d.Action, d.Times, d.Of)
}

func (m Predictive) records() [][]string {
	out := csvLines{{"state", "action", "times", "of", "mean", "low", "high"}}
	for _, d := range m.Decisions {
		out.add(d.State, d.Action, d.Times, d.Of, d.Mean, d.Low, d.High)
	}
	return out
}
