// Package cost is what methods take for problems: time, memory and evaluations, as they were measured and are stored.
package cost

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-birl/birl/envs/atomicfile"
)

// The files of a folder with costs: the rows, what steps of networks take, and the machines that both were measured on.
const (
	RowsFile         = "rows.csv"
	MachineFile      = "machine.json"
	StepsFile        = "steps.csv"
	StepsMachineFile = "steps-machine.json"
)

// Cost is what one method takes for one problem, in a process of its own.
type Cost struct {
	States      int     // of the problem
	Method      string  // as the registry of package method has it
	Seconds     float64 // by the clock, of the whole process
	Processor   float64 // seconds of all its threads
	PeakMiB     float64 // resident memory; 0 where the system does not say
	Evaluations int     // of the loss with its gradient, or iterations of a chain
	Converged   bool    // whether the method says so, which a peer does not
	RHat, ESS   float64 // worst, of samplers; 0 of others
	Compile     float64 // seconds by the clock; 0 where nothing is compiled
	Version     string  // of a peer
}

// Columns are those of tables and of RowsFile.
var Columns = []string{"states", "method", "seconds", "processor_seconds", "peak_mib", "evaluations", "converged",
	"rhat", "ess_bulk", "compile_seconds", "version"}

// Cells are the entries of Columns.
func (c Cost) Cells() []string {
	converged := strconv.FormatBool(c.Converged)
	if c.Version != "" {
		converged = ""
	}
	return []string{strconv.Itoa(c.States), c.Method, fmt.Sprintf("%.2f", c.Seconds), fmt.Sprintf("%.2f", c.Processor),
		fmt.Sprintf("%.0f", c.PeakMiB), strconv.Itoa(c.Evaluations), converged,
		sampled("%.3f", c.RHat), sampled("%.0f", c.ESS), fmt.Sprintf("%.1f", c.Compile), c.Version}
}

// sampled writes what only samplers have; nothing of the others, of which it is 0.
func sampled(format string, v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// number reads an entry, 0 of an empty one.
func number(cell string) (float64, error) {
	if cell == "" {
		return 0, nil
	}
	return strconv.ParseFloat(cell, 64)
}

// Number returns the entry of a column, which holds numbers.
func (c Cost) Number(column string) (float64, error) {
	i := slices.Index(Columns, column)
	if i < 0 {
		return 0, fmt.Errorf("cost: there is no column %q; there are %q", column, Columns)
	}
	return number(c.Cells()[i])
}

// parse reads the entries of Columns.
func parse(cells []string) (c Cost, err error) {
	of := func(column string) float64 {
		v, bad := number(cells[slices.Index(Columns, column)])
		err = errors.Join(err, bad)
		return v
	}
	c = Cost{States: int(of("states")), Method: cells[1], Seconds: of("seconds"), Processor: of("processor_seconds"),
		PeakMiB: of("peak_mib"), Evaluations: int(of("evaluations")), Converged: cells[6] == "true", RHat: of("rhat"),
		ESS: of("ess_bulk"), Compile: of("compile_seconds"), Version: cells[10]}
	return c, err
}

// Read reads the costs that a folder holds; none where it has none.
func Read(dir string) ([]Cost, error) {
	path := filepath.Join(dir, RowsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 || !slices.Equal(rows[0], Columns) {
		return nil, errors.Join(fmt.Errorf("cost: %s does not have the columns %q; move it away", path, Columns), err)
	}
	var costs []Cost
	for i, row := range rows[1:] {
		c, err := parse(row)
		if err != nil {
			return nil, fmt.Errorf("cost: %s, line %d: %w", path, i+2, err)
		}
		costs = append(costs, c)
	}
	return costs, nil
}

// Write stores costs, and the machine that they were measured on, in a folder, which it makes if it is missing.
func Write(dir string, costs []Cost, machine any) error {
	rows := [][]string{Columns}
	for _, c := range costs {
		rows = append(rows, c.Cells())
	}
	if err := write(dir, RowsFile, rows); err != nil {
		return err
	}
	return atomicfile.WriteJSON(filepath.Join(dir, MachineFile), machine)
}

// WriteSteps stores a table of what steps of networks take, its head first, and the machine that they were measured on,
// in a folder, which it makes if it is missing.
func WriteSteps(dir string, table [][]string, machine any) error {
	if err := write(dir, StepsFile, table); err != nil {
		return err
	}
	return atomicfile.WriteJSON(filepath.Join(dir, StepsMachineFile), machine)
}

// ReadSteps reads it.
func ReadSteps(dir string) ([][]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, StepsFile))
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	return csv.NewReader(bytes.NewReader(text)).ReadAll()
}

// write stores rows in a file of a folder, which it makes if it is missing.
func write(dir, name string, rows [][]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, name), text.Bytes())
}

// Join returns the costs of both, the later ones in the place of earlier ones of the same problem and method, method by
// method and by growing size.
func Join(earlier []Cost, later ...Cost) []Cost {
	all := slices.DeleteFunc(slices.Clone(earlier), func(c Cost) bool {
		return slices.ContainsFunc(later, func(l Cost) bool { return c.States == l.States && c.Method == l.Method })
	})
	all = append(all, later...)
	order := map[string]int{}
	for _, c := range all {
		if _, ok := order[c.Method]; !ok {
			order[c.Method] = len(order)
		}
	}
	slices.SortStableFunc(all, func(a, b Cost) int {
		if d := order[a.Method] - order[b.Method]; d != 0 {
			return d
		}
		return a.States - b.States
	})
	return all
}
