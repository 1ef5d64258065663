package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/widgets"
)

// benchRow is what a method took for a problem: a line of results/bench/rows.csv by column.
type benchRow map[string]string

// benchRows reads what `qvirl bench` has stored.
func (s *site) benchRows() ([]benchRow, error) {
	f, err := os.Open(filepath.Join(s.root, "results", "bench", "rows.csv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	var rows []benchRow
	for _, line := range lines[min(1, len(lines)):] {
		row := benchRow{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r benchRow) number(column string) (float64, error) {
	v, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		err = fmt.Errorf("results/bench: %s of %s on %s states: %w", column, r["method"], r["states"], err)
	}
	return v, err
}

// thousand returns the processor seconds of a row; of samplers those that 1,000 effective samples take.
func (r benchRow) thousand() (float64, error) {
	seconds, err := r.number("processor_seconds")
	if err != nil {
		return 0, err
	}
	size, err := r.number("ess_bulk")
	if size > 0 {
		seconds *= 1000 / size
	}
	return seconds, err
}

// costs writes a table of a column of the stored costs, methods by numbers of states, of what is not zero. "ratio" is
// the processor time over that of QVIRL on the same problem, of samplers that of 1,000 effective samples.
func (s *site) costs(column string, decimals int) (string, error) {
	rows, err := s.benchRows()
	if err != nil {
		return "", err
	}
	var sizes, methods []string
	cells, base := map[[2]string]float64{}, map[string]float64{}
	for _, r := range rows {
		size, name := r["states"], r["method"]
		v, err := r.thousand()
		if column != "ratio" {
			v, err = r.number(column)
		} else if name == method.QVIRL {
			base[size] = v
		}
		if err != nil {
			return "", err
		}
		if v == 0 {
			continue
		}
		cells[[2]string{name, size}] = v
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
		if !slices.Contains(methods, name) {
			methods = append(methods, name)
		}
	}
	slices.SortStableFunc(sizes, func(a, b string) int { // shorter numbers are smaller
		return len(a) - len(b)
	})
	grid := [][]string{{"method"}}
	for _, size := range sizes {
		grid[0] = append(grid[0], size+" states")
	}
	for _, name := range methods {
		line := []string{widgets.Label(name)}
		if name == method.Fit {
			line[0] = "`fit`, with its verdict"
		}
		for _, size := range sizes {
			v, ok := cells[[2]string{name, size}]
			cell := "–"
			if column == "ratio" {
				ok = ok && base[size] > 0
				v /= base[size]
			}
			if ok {
				cell = number(v, decimals)
			}
			line = append(line, cell)
		}
		grid = append(grid, line)
	}
	return markdown(grid), nil
}

// benchMachine says what the stored costs were measured on.
func (s *site) benchMachine() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.root, "results", "bench", "machine.json"))
	if err != nil {
		return "", err
	}
	var m experiment.Machine
	if err := json.Unmarshal(text, &m); err != nil {
		return "", fmt.Errorf("results/bench: %w", err)
	}
	out := fmt.Sprintf("%s, %d cores, %.0f GB, %s/%s, %s", m.CPU, m.Cores, m.MemoryGB, m.OS, m.Arch, m.Go)
	rows, err := s.benchRows()
	for _, r := range rows {
		if v := r["version"]; v != "" {
			out += "; " + v
		}
	}
	return out, err
}
