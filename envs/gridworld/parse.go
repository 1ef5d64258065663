package gridworld

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse builds a gridworld from a drawing: one line a row, cells separated by blanks. A cell is its reward, followed by
// T if it is terminal and by S if episodes start there (uniformly in all such cells; everywhere if there is none):
//
//	0S  -30  100T
//	0     0     0
//	0     0     0
func Parse(drawing string, slip float64) (*World, error) {
	var reward, initial []float64
	var terminal []bool
	width, height, starts := 0, 0, 0.0
	for number, line := range strings.Split(drawing, "\n") {
		cells := strings.Fields(line)
		if len(cells) == 0 {
			continue
		}
		if height > 0 && len(cells) != width {
			return nil, fmt.Errorf("gridworld: drawing, line %d: %d cells, but the lines above have %d", number+1,
				len(cells), width)
		}
		width = len(cells)
		height++
		for column, cell := range cells {
			digits := strings.TrimRight(cell, "TS")
			value, err := strconv.ParseFloat(digits, 64)
			if err != nil {
				return nil, fmt.Errorf("gridworld: drawing, line %d, cell %d: %q is not a reward with the marks T "+
					"and S", number+1, column+1, cell)
			}
			marks := cell[len(digits):]
			start := 0.0
			if strings.Contains(marks, "S") {
				start = 1
			}
			reward = append(reward, value)
			terminal = append(terminal, strings.Contains(marks, "T"))
			initial = append(initial, start)
			starts += start
		}
	}
	if height == 0 {
		return nil, fmt.Errorf("gridworld: the drawing is empty")
	}
	if starts == 0 {
		return New(width, height, reward, terminal, slip, nil)
	}
	for s := range initial {
		initial[s] /= starts
	}
	return New(width, height, reward, terminal, slip, initial)
}
