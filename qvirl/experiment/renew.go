package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/method"
)

// Renewal says that the rows of some methods of a stored run come from a later one.
type Renewal struct {
	Methods []string `json:"methods"`
	Rows    int      `json:"rows"` // of these methods
	Run     Record   `json:"run"`  // the record of the later run, in which other methods may have been computed too
}

// Renew replaces the rows of methods in a folder with results by those of a later run, which need not have computed the
// other methods, and notes it in the record. The rows of other methods that both runs hold must be the same: they show
// that both are of the same worlds, and that distances are to the same reference.
func Renew(dir, from string, methods []string) (*Record, error) {
	rows, record, err := ReadResults(dir)
	if err != nil {
		return nil, err
	}
	later, run, err := ReadResults(from)
	if err != nil {
		return nil, err
	}
	switch {
	case !run.Complete:
		return nil, fmt.Errorf("experiment: %s is not complete: the units %s are missing", from,
			strings.Join(run.Missing, ", "))
	case run.Experiment != record.Experiment:
		return nil, fmt.Errorf("experiment: %s is of experiment %s, but %s is of %s", from, run.Experiment, dir,
			record.Experiment)
	case len(methods) == 0:
		return nil, fmt.Errorf("experiment: no methods to renew from %s", from)
	}
	for i, m := range methods {
		m = method.Canonical(m)
		methods[i] = m
		if !slices.Contains(Methods(later), m) || slices.Contains(methods[:i], m) {
			return nil, fmt.Errorf("experiment: %s holds no rows of method %q, or it was named twice; its methods "+
				"are %s", from, m, strings.Join(Methods(later), ", "))
		}
	}
	renewed := func(r Row) bool { return slices.Contains(methods, r.Method) }
	kept := map[Row]float64{} // by the row without its value
	var out []Row
	old := map[Row]bool{} // what the renewed methods were measured on: rows without metric and value
	for _, r := range rows {
		if renewed(r) {
			old[place(r)] = true
			continue
		}
		out = append(out, r)
		kept[key(r)] = r.Value
	}
	shared, count, fresh := 0, 0, map[Row]bool{}
	for _, r := range later {
		if renewed(r) {
			fresh[place(r)] = true
			out, count = append(out, r), count+1
			continue
		}
		value, ok := kept[key(r)]
		if ok && value != r.Value {
			return nil, fmt.Errorf("experiment: %s and %s differ in %s of %s in seed %d: %g and %g: compute all "+
				"methods again", dir, from, r.Metric, r.Method, r.Seed, value, r.Value)
		} else if ok {
			shared++
		}
	}
	if shared == 0 {
		return nil, fmt.Errorf("experiment: %s and %s have no rows of other methods in common, which would show that "+
			"they are of the same worlds", dir, from)
	}
	for r := range old {
		if !fresh[r] {
			return nil, fmt.Errorf("experiment: %s holds rows of %s with %d demonstrations in seed %d of %s, but %s "+
				"does not", dir, r.Method, r.Demos, r.Seed, r.Environment, from)
		}
	}
	record.Renewals = append(record.Renewals, Renewal{Methods: methods, Rows: count, Run: *run})
	return record, store{dir}.write(record, out)
}

// key returns a row without its value, and place without its metric too.
func key(r Row) Row { r.Value = 0; return r }

func place(r Row) Row { r.Metric, r.Value = "", 0; return r }

// ReadResults reads the rows and the record of a folder with results, and refuses rows that are not those of the
// record.
func ReadResults(dir string) ([]Row, *Record, error) {
	path := filepath.Join(dir, RowsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("experiment: %w", err)
	}
	rows, err := ParseRows(text, path)
	if err != nil {
		return nil, nil, err
	}
	record, err := ReadRecord(dir)
	if err != nil {
		return nil, nil, err
	}
	if digest(text) != record.SHA256 {
		return nil, nil, fmt.Errorf("experiment: %s was changed or damaged after its run: its checksum is not that "+
			"of %s; "+
			"restore it, or run again with --resume or --overwrite", path, filepath.Join(dir, RunFile))
	}
	return rows, record, nil
}
