package experiment

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/qvirl/method"
)

// This file reads what earlier versions stored: names that have changed since, rows whose variants were part of the
// method's name, and units that were not kept under keys.

// presentName returns the present name of an experiment that older rows have under a former one.
func presentName(experiment string) string {
	switch experiment {
	case "dial":
		return "refinement"
	case "betas":
		return "rationality"
	}
	return experiment
}

// rename gives the experiment and the methods of a record their present names.
func (r *Record) rename() {
	r.Experiment = presentName(r.Experiment)
	r.Seconds, r.Processor = renamed(r.Seconds), renamed(r.Processor)
	for i := range r.Units {
		u := &r.Units[i]
		u.Seconds, u.Processor = renamed(u.Seconds), renamed(u.Processor)
	}
}

// renamed returns numbers by the present names of their methods.
func renamed(byMethod map[string]float64) map[string]float64 {
	if byMethod == nil {
		return nil
	}
	out := make(map[string]float64, len(byMethod))
	for name, v := range byMethod {
		out[method.Canonical(name)] += v
	}
	return out
}

// compact returns a config in the one form in which two can be compared: without spaces, fields in order, and as the
// present version would write it.
func compact(raw json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // seeds have more digits than a float64
	var config any
	if d.Decode(&config) != nil {
		return raw
	}
	text, err := json.Marshal(present(config))
	if err != nil {
		return raw
	}
	return text
}

// present returns a decoded JSON value with the present name in place of every string that is a method's former name,
// and with the optimizer of trainings that were stored when there was but one.
func present(v any) any {
	switch v := v.(type) {
	case string:
		return method.Canonical(v)
	case []any:
		for i := range v {
			v[i] = present(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = present(v[key])
		}
		if v["Optimizer"] == nil && v["Rounds"] != nil && v["LearningRate"] != nil {
			v["Optimizer"] = "adam"
		}
	}
	return v
}

// former is a run whose units are not kept under keys: of an earlier version, or published as rows.csv and run.json
// alone.
type former struct {
	config json.RawMessage
	units  map[string]formerUnit // by name
	rows   int
}

type formerUnit struct {
	UnitRecord
	rows []Row // of the whole run where those of the unit are not known
}

// adopt brings what the folder holds of former runs into files of units under their keys. A unit of an earlier version,
// of all methods on a chunk of problems for instance, becomes the units that the plan of its config has today under its
// name or in the group of its name. Their keys follow from that config and the first versions of all code: what depends
// on other settings or code today is not taken for the same.
func (s store) adopt(plan *Plan) error {
	runs, old, err := s.former()
	if err != nil {
		return err
	}
	for _, run := range runs {
		if plan.of == nil {
			return fmt.Errorf("experiment: %s holds results of an earlier version; use another folder", s.dir)
		}
		of, err := plan.of(compact(run.config))
		if err == nil {
			err = s.split(run, of)
		}
		if err != nil {
			return fmt.Errorf("experiment: %s holds results of a config that this program cannot go on from; use "+
				"another folder: %w", s.dir, err)
		}
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may be faster
			return fmt.Errorf("experiment: %w", err)
		}
	}
	return nil
}

// split keeps the units of a former run as those of the plan of its config.
func (s store) split(run former, plan *Plan) error {
	keys, err := plan.keysOf(func(*Unit) int { return 1 })
	if err != nil {
		return err
	}
	l, err := newLayout(plan, keys)
	if err != nil {
		return err
	}
	kept := 0
	for name, from := range run.units {
		var into []int
		for i := range plan.Units {
			if plan.Units[i].Name == name || plan.Units[i].Group == name {
				into = append(into, i)
			}
		}
		records := make([]UnitRecord, len(into))
		for j, i := range into {
			records[j] = l.record(i)
			r := &records[j]
			r.Started, r.Finished, r.Machine = from.Started, from.Finished, from.Machine
			if from.Key != "" {
				r.Key = from.Key
			}
			of := plan.Units[i].Method
			r.Seconds, r.Processor = takeKey(from.Seconds, of), takeKey(from.Processor, of)
		}
		for j, i := range into {
			if j == 0 { // the time and the notes of no method in particular
				maps.Copy(records[j].Seconds, from.Seconds)
				maps.Copy(records[j].Processor, from.Processor)
				records[j].Notes = from.Notes
			}
			var rows []Row
			for _, row := range from.rows {
				row.Commit = cmp.Or(row.Commit, from.Machine.commit())
				if plan.Units[i].owns(row) {
					rows = append(rows, row)
				}
			}
			if kept += len(rows); len(rows) == 0 || from.Key != "" && s.holds(records[j].UnitSummary) {
				continue
			}
			if err := s.put(records[j], rows); err != nil {
				return err
			}
		}
	}
	if kept != run.rows {
		return fmt.Errorf("of its %d rows %d are of no unit, or of two", run.rows, run.rows-kept)
	}
	return nil
}

// takeKey moves a key's number to a map of its own.
func takeKey(from map[string]float64, key string) map[string]float64 {
	out := map[string]float64{}
	if v, ok := from[key]; ok {
		out[key] = v
		delete(from, key)
	}
	return out
}

// former returns the runs that the folder holds units of without keys, and the files of these units.
func (s store) former() (runs []former, files []string, err error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, UnitsDir, "*.json"))
	if err != nil {
		return nil, nil, fmt.Errorf("experiment: %w", err)
	}
	byConfig, keyed := map[string]int{}, false
	for _, path := range paths {
		unit := strings.TrimSuffix(filepath.Base(path), ".json")
		if keyedName.MatchString(unit) {
			keyed = true
			continue
		}
		var r struct {
			UnitRecord
			Config json.RawMessage `json:"config"`
		}
		if err := readJSON(path, &r); err != nil {
			return nil, nil, err
		}
		if r.Unit != unit || presentName(r.Experiment) != s.plan.Experiment {
			return nil, nil, fmt.Errorf("experiment: %s is not the record of unit %q of %s; remove it", path, unit,
				s.plan.Experiment)
		}
		rowsPath := strings.TrimSuffix(path, ".json") + ".csv"
		rows, err := readRows(rowsPath, r.SHA256)
		if err != nil {
			return nil, nil, err
		}
		r.Seconds, r.Processor = renamed(r.Seconds), renamed(r.Processor)
		config := string(compact(r.Config))
		at, ok := byConfig[config]
		if !ok {
			at = len(runs)
			byConfig[config], runs = at, append(runs, former{config: r.Config, units: map[string]formerUnit{}})
		}
		runs[at].units[unit] = formerUnit{r.UnitRecord, rows}
		runs[at].rows += len(rows)
		files = append(files, path, rowsPath)
	}
	if _, err := os.Stat(filepath.Join(s.dir, RowsFile)); err != nil || len(runs) > 0 || keyed && !s.lacksPublished() {
		return runs, files, nil
	}
	rows, record, err := ReadResults(s.dir)
	if err != nil {
		return nil, nil, err
	}
	published := former{config: record.Config, units: map[string]formerUnit{}, rows: len(rows)}
	for _, u := range record.Units {
		unit := formerUnit{UnitRecord{UnitSummary: u, Machine: record.Machines[u.Machine]}, rows}
		for _, note := range record.Notes {
			if of, text, ok := strings.Cut(note, ": "); ok && of == u.Unit {
				unit.Notes = append(unit.Notes, text)
			}
		}
		published.units[u.Unit] = unit
	}
	return []former{published}, nil, nil
}

// lacksPublished reports whether the record of the folder's rows.csv has units that its folder of units lacks, as where
// one is computed beside published results.
func (s store) lacksPublished() bool {
	record, err := ReadRecord(s.dir)
	return err == nil && slices.ContainsFunc(record.Units, func(u UnitSummary) bool { return !s.holds(u) })
}

// holds reports whether a file of a unit is there, damaged or not. A unit without a key is of an earlier version: its
// parts are there if any unit is.
func (s store) holds(u UnitSummary) bool {
	if u.Key == "" {
		return true
	}
	return slices.ContainsFunc([]string{".csv", ".json"}, func(ending string) bool {
		_, err := os.Stat(s.path(u.Unit, u.Key, ending))
		return err == nil
	})
}

// keyedName matches names of units' files with a key.
var keyedName = regexp.MustCompile(`\.[0-9a-f]{` + strconv.Itoa(keyDigits) + `}$`)
