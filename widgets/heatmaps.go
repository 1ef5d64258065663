package widgets

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
)

// HeatMaps sets maps of one gridworld side by side: a column for each method, a row for each quantity, one colour scale
// for the whole row. States are numbered row by row from the top left.
type HeatMaps struct {
	Title         string
	Width, Height int      // in cells
	Columns       []string // methods, as in result rows, or other titles
	Rows          []HeatRow
	Terminal      []bool         // states that get a thick frame, [Width·Height] or nil
	Marked        map[int]string // short labels of single states

	names []string  // of the states, where the cells are large enough; nil for none
	asked []int     // the state of each column that is marked by "?"; nil for none
	side  vg.Length // of a map at most; 0 for as large as fits
}

// HeatRow is one quantity of HeatMaps.
type HeatRow struct {
	Label    string      // of the quantity, beside its colour bar
	Values   [][]float64 // for each column the numbers of all states, [Width·Height]; nil leaves the place empty
	Diverges bool        // two hues about 0 instead of one from low to high
	Decimals int         // of the figures in the cells, which are written where the cells are large enough
}

// Figure implements Drawing.
func (m HeatMaps) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	inner := maxWidth - 2*cardPad - barWidth
	gaps := vg.Length(len(m.Columns)) * panelGap
	size := min((inner-gaps)/vg.Length(len(m.Columns)*m.Width), 200/vg.Length(m.Width), 230/vg.Length(m.Height))
	if m.side > 0 {
		size = min(size, m.side/vg.Length(max(m.Width, m.Height)))
	}
	mapWidth, mapHeight := size*vg.Length(m.Width), size*vg.Length(m.Height)
	scales, quantities := make([]colorScale, len(m.Rows)), make([]string, len(m.Rows))
	rowHeight := mapHeight
	for i, row := range m.Rows {
		scales[i], quantities[i] = newScale(row.Diverges, row.Values...), row.Label
		rowHeight = barHeight(rowHeight, row.Label)
	}
	names := appearances(m.Columns)
	titleStyle := bold(textStyle(textSize, ink, draw.XLeft, draw.YTop))
	titles, titleLines := make([][]string, len(names)), 0
	for j, name := range names {
		titles[j] = wrap(titleStyle, name.label, mapWidth+panelGap-4)
		titleLines = max(titleLines, len(titles[j]))
	}
	titleHeight := vg.Length(titleLines)*(textSize+1.5) + 5
	return card{
		title: m.Title, legend: framesLegend(m.Terminal),
		description: fmt.Sprintf("Maps of %s for %s.", strings.Join(quantities, ", "), labels(m.Columns)),
		width:       max(vg.Length(len(m.Columns))*(mapWidth+panelGap)+barWidth+2*cardPad, 240),
		bodyHeight:  titleHeight + vg.Length(len(m.Rows))*(rowHeight+panelGap) - panelGap + 2, records: m.records,
		body: func(c draw.Canvas) {
			for j, lines := range titles {
				for k, line := range lines {
					y := c.Max.Y - titleHeight + 5 + vg.Length(len(lines)-k)*(textSize+1.5)
					c.FillText(titleStyle, vg.Point{X: c.Min.X + vg.Length(j)*(mapWidth+panelGap), Y: y}, line)
				}
			}
			for i, row := range m.Rows {
				top := c.Max.Y - titleHeight - vg.Length(i)*(rowHeight+panelGap)
				for j, values := range row.Values {
					if values == nil {
						continue
					}
					g := cells{m.Width, m.Height, vg.Point{X: c.Min.X + vg.Length(j)*(mapWidth+panelGap), Y: top}, size}
					g.fill(c, values, scales[i])
					g.frames(c, m.Terminal)
					for s, v := range values {
						style := textStyle(smallSize, contrast(scales[i].color(v)), draw.XCenter, draw.YCenter)
						if size >= 30 {
							writeText(c, style, g.centre(s).X, g.centre(s).Y, number(v, row.Decimals))
						}
						label, marked := m.Marked[s]
						if m.asked != nil && m.asked[j] == s {
							label, marked = "?", true
						}
						if marked {
							style = bold(style)
						} else if m.names != nil && size >= 30 {
							label = m.names[s]
						}
						if label != "" {
							writeText(c, style, g.centre(s).X, g.box(s).Min.Y+8.5, shortened(style, label, size-4))
						}
					}
				}
				side := draw.Crop(c, vg.Length(len(m.Columns))*(mapWidth+panelGap), 0, 0, 0)
				side.Max.Y, side.Min.Y = top, top-rowHeight
				scales[i].paint(side, row.Label)
			}
		},
	}.figure(), nil
}

func (m HeatMaps) validate() error {
	n := m.Width * m.Height
	return check.First(checkGrid("HeatMaps", m.Width, m.Height),
		checkBoth("HeatMaps", "columns", len(m.Columns), "rows", len(m.Rows)),
		checkEach("HeatMaps.Terminal", m.Terminal, n, "one for each state"), checkMarked("HeatMaps", m.Marked, n),
		forEach("HeatMaps.Rows", m.Rows, func(field string, row HeatRow) error {
			field += ".Values"
			return check.First(checkLength(field, len(row.Values), len(m.Columns), "one for each column"),
				forEach(field, row.Values, func(field string, values []float64) error {
					return check.First(checkEach(field, values, n, "one for each state"), checkFinite(field, values))
				}))
		}))
}

// checkMarked refuses labels of what is none of n states.
func checkMarked(of string, marked map[int]string, n int) (err error) {
	for s := range marked {
		err = check.First(err, refuse(s < 0 || s >= n, "%s.Marked: state %d is outside 0..%d", of, s, n-1))
	}
	return err
}

func (m HeatMaps) records() [][]string {
	out := csvLines{{"quantity", "column", "state", "value"}}
	for _, row := range m.Rows {
		for j, values := range row.Values {
			for s, v := range values {
				out.add(row.Label, m.Columns[j], s, v)
			}
		}
	}
	return out
}
