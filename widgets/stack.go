package widgets

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Stack sets drawings beside and above one another.
type Stack struct {
	Title string
	Rows  [][]Drawing // from the top; of each row from the left
}

// Figure implements Drawing.
func (m Stack) Figure() (*Figure, error) {
	var rows [][]*Figure
	k := card{title: m.Title, records: func() [][]string { return stackRecords(rows) }}
	var heights []vg.Length
	for i, row := range m.Rows {
		if len(row) == 0 {
			return nil, fmt.Errorf("widgets: Stack.Rows[%d] is empty", i)
		}
		rows = append(rows, nil)
		width, height := vg.Length(0), vg.Length(0)
		for j, d := range row {
			if d == nil {
				return nil, fmt.Errorf("widgets: Stack.Rows[%d][%d] is nil", i, j)
			}
			f, err := d.Figure()
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], f)
			width, height = width+f.width, max(height, f.height)
			k.description = strings.TrimSpace(k.description + " " + f.description)
		}
		k.width, k.bodyHeight = max(k.width, width), k.bodyHeight+height
		heights = append(heights, height)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("widgets: Stack has no rows")
	}
	k.bodyHeight -= cardPad // figures have margins of their own
	k.body = func(c draw.Canvas) {
		top := c.Max.Y
		for i, row := range rows {
			left := c.Min.X - cardPad
			for _, f := range row {
				f.paint(within(c, rect(left, top-f.height, left+f.width, top)))
				left += f.width
			}
			top -= heights[i]
		}
	}
	return k.figure(), nil
}

// stackRecords are the numbers of all figures, one a line.
func stackRecords(rows [][]*Figure) [][]string {
	out := csvLines{{"figure", "line", "column", "value"}}
	for _, row := range rows {
		for _, f := range row {
			records := f.records()
			for i, line := range records[1:] {
				for j, value := range line {
					out.add(f.title, i, records[0][j], value)
				}
			}
		}
	}
	return out
}
