package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl/cost"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/widgets"
)

// benchDir is where `qvirl bench` has stored what methods cost.
func (s *site) benchDir() string { return filepath.Join(s.root, "results", "bench") }

// thousand returns the processor seconds of a method; of samplers those that 1,000 effective samples take.
func thousand(c cost.Cost) float64 {
	if c.ESS > 0 {
		return c.Processor * 1000 / c.ESS
	}
	return c.Processor
}

// costs writes a table of a column of the stored costs, methods by numbers of states, of what is not zero. "ratio" is
// the processor time over that of QVIRL on the same problem, of samplers that of 1,000 effective samples.
func (s *site) costs(column string, decimals int) (string, error) {
	rows, err := cost.Read(s.benchDir())
	if err != nil {
		return "", err
	}
	var sizes, methods []string
	cells, base := map[[2]string]float64{}, map[string]float64{}
	for _, r := range rows {
		size, name, v := strconv.Itoa(r.States), r.Method, thousand(r)
		if column != "ratio" {
			if v, err = r.Number(column); err != nil {
				return "", err
			}
		} else if name == method.QVIRL {
			base[size] = v
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
	sizes = slices.DeleteFunc(sizes, func(size string) bool { return column == "ratio" && base[size] == 0 })
	slices.SortStableFunc(sizes, func(a, b string) int { // shorter numbers are smaller
		return len(a) - len(b)
	})
	grid := [][]string{{"method"}}
	for _, size := range sizes {
		grid[0] = append(grid[0], size+" states")
	}
	for _, name := range methods {
		line := []string{widgets.Label(name)}
		for _, size := range sizes {
			v, ok := cells[[2]string{name, size}]
			cell := "–"
			if column == "ratio" {
				v /= base[size]
			}
			if ok {
				cell = number(v, decimals)
			}
			line = append(line, cell)
		}
		grid = append(grid, line)
	}
	return markdown(grid, "|--:"), nil
}

// cost is a number of a method's stored costs at a size.
func (s *site) cost(name string, states int, column string, decimals int) (string, error) {
	rows, err := cost.Read(s.benchDir())
	if err != nil {
		return "", err
	}
	for _, r := range rows {
		if r.Method == name && r.States == states {
			v, err := r.Number(column)
			return number(v, decimals), err
		}
	}
	return "", fmt.Errorf("results/bench has no %s at %d states", name, states)
}

// step is what the stored table of steps says of one, in a column.
func (s *site) step(what, column string) (string, error) {
	table, err := cost.ReadSteps(s.benchDir())
	if err != nil {
		return "", err
	}
	at := slices.Index(table[0], column)
	for _, line := range table[1:] {
		if line[0] == what && at > 0 {
			return line[at], nil
		}
	}
	return "", fmt.Errorf("results/bench/%s has no %q with %q", cost.StepsFile, what, column)
}

// stepRatio is how many times as long one takes as another.
func (s *site) stepRatio(what, of string) (string, error) {
	var ms [2]float64
	for i, name := range []string{what, of} {
		text, err := s.step(name, "ms")
		if err == nil {
			ms[i], err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return "", err
		}
	}
	return number(ms[0]/ms[1], 1), nil
}

// steps writes the stored table of what steps of networks take.
func (s *site) steps() (string, error) {
	table, err := cost.ReadSteps(s.benchDir())
	if err != nil {
		return "", err
	}
	return markdown(table, "|--:"), nil
}

// benchMachine says what the stored costs were measured on.
func (s *site) benchMachine() (string, error) {
	out, err := s.machineIn(cost.MachineFile)
	if err != nil {
		return "", err
	}
	rows, err := cost.Read(s.benchDir())
	for _, r := range rows {
		if r.Version != "" {
			out += "; " + r.Version
		}
	}
	return out, err
}

// stepsMachine describes what steps of networks were measured on.
func (s *site) stepsMachine() (string, error) { return s.machineIn(cost.StepsMachineFile) }

// machineIn describes the machine of a file in the folder of costs.
func (s *site) machineIn(file string) (string, error) {
	var m experiment.Machine
	err := atomicfile.ReadJSON(filepath.Join(s.benchDir(), file), &m)
	return fmt.Sprintf("%s, %d cores, %.0f GB, %s/%s, %s", m.CPU, m.Cores, m.MemoryGB, m.OS, m.Arch, m.Go), err
}
