package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
)

// UnitRecord is the record of a finished unit, kept beside its rows.
type UnitRecord struct {
	Experiment string `json:"experiment"`
	UnitSummary
	SHA256  string   `json:"sha256"` // of the CSV file
	Notes   []string `json:"notes,omitempty"`
	Machine Machine  `json:"machine"`
}

// Record is the record of a run, put together from its finished units.
type Record struct {
	Experiment string             `json:"experiment"`
	Scale      string             `json:"scale"`
	Complete   bool               `json:"complete"`
	Missing    []string           `json:"missing_units,omitempty"` // names of the units that are not there
	Rows       int                `json:"rows"`
	SHA256     string             `json:"rows_sha256"`        // of rows.csv
	Seconds    map[string]float64 `json:"seconds_per_method"` // by the clock, summed over units
	// of all threads together; absent if a unit lacks it
	Processor map[string]float64 `json:"processor_seconds_per_method,omitempty"`
	Started   time.Time          `json:"started"`  // of the first unit
	Finished  time.Time          `json:"finished"` // of the last
	Notes     []string           `json:"notes,omitempty"`
	Config    json.RawMessage    `json:"config"` // what the rows depend on
	Machines  []Machine          `json:"machines"`
	Units     []UnitSummary      `json:"units"`
}

// UnitSummary says of one unit what differs between units.
type UnitSummary struct {
	Unit      string             `json:"unit"`
	Key       string             `json:"key"` // see Plan.Keys
	Rows      int                `json:"rows"`
	Seconds   map[string]float64 `json:"seconds_per_method"`
	Processor map[string]float64 `json:"processor_seconds_per_method,omitempty"`
	Started   time.Time          `json:"started"`
	Finished  time.Time          `json:"finished"`
	Machine   int                `json:"machine"` // index into Machines of the run's record
}

// Commits says in words of which commits the units are, and which of them were computed with changes to it.
func (r *Record) Commits() string {
	units, _ := r.unitsOf()
	var parts []string
	for _, commit := range slices.Sorted(maps.Keys(units)) {
		part := "commit " + commit
		if units[commit] < len(r.Units) {
			part += fmt.Sprintf(" (%d of %d units)", units[commit], len(r.Units))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// LatestCommit says in words of which commit the unit is that was finished last, and of how many all are.
func (r *Record) LatestCommit() string {
	if units, last := r.unitsOf(); len(units) > 1 {
		return fmt.Sprintf("%d commits, the latest %s", len(units), last)
	}
	return r.Commits()
}

// unitsOf returns the number of units of each commit, and the commit of the unit that was finished last.
func (r *Record) unitsOf() (units map[string]int, last string) {
	units = map[string]int{}
	var finished time.Time
	for _, u := range r.Units {
		commit, dirty := strings.CutSuffix(r.Machines[u.Machine].commit(), "+")
		if commit == "" {
			continue
		}
		if dirty {
			commit += " with changes"
		}
		units[commit]++
		if u.Finished.After(finished) {
			last, finished = commit, u.Finished
		}
	}
	return units, last
}

// ReadRecord reads the record of a run from a folder with results.
func ReadRecord(dir string) (*Record, error) {
	r := new(Record)
	path := filepath.Join(dir, RunFile)
	if err := atomicfile.ReadJSON(path, r); err != nil {
		return r, fmt.Errorf("experiment: %w", err)
	}
	if len(r.Machines) == 0 {
		return r, fmt.Errorf("experiment: %s is damaged: it names no machine", path)
	}
	for _, u := range r.Units {
		if u.Machine < 0 || u.Machine >= len(r.Machines) {
			return r, fmt.Errorf("experiment: %s is damaged: the unit %s is of machine %d, of %d", path, u.Unit,
				u.Machine, len(r.Machines))
		}
	}
	return r, nil
}

// ReadResults reads the rows and the record of a folder with results, and refuses rows that are not those of the
// record. It looks again for a second before it does, as another process may have written the one and not yet the
// other.
func ReadResults(dir string) ([]Row, *Record, error) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		rows, record, err := readResults(dir)
		between := errors.Is(err, errUnlike) || errors.Is(err, fs.ErrNotExist) && rows != nil
		if !between || time.Since(began) > time.Second {
			if err != nil {
				return nil, nil, err
			}
			return rows, record, nil
		}
	}
}

// errUnlike says that rows are not those of the record beside them.
var errUnlike = errors.New("changed or damaged after its run")

// readResults is ReadResults at once. Without a record it returns the rows and the error.
func readResults(dir string) ([]Row, *Record, error) {
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
		return rows, nil, err
	}
	if digest(text) != record.SHA256 {
		return nil, nil, fmt.Errorf("experiment: %s was %w: its checksum is not that of %s; restore it, or move both "+
			"away and run again", path, errUnlike, filepath.Join(dir, RunFile))
	}
	return rows, record, nil
}

// add takes a unit into the record.
func (r *Record) add(u *UnitRecord) {
	machine := slices.IndexFunc(r.Machines, func(m Machine) bool { return reflect.DeepEqual(m, u.Machine) })
	if machine < 0 {
		machine = len(r.Machines)
		r.Machines = append(r.Machines, u.Machine)
	}
	summary := u.UnitSummary
	summary.Machine = machine
	r.Units = append(r.Units, summary)
	for method, seconds := range u.Seconds {
		r.Seconds[method] += seconds
	}
	if len(u.Processor) < len(u.Seconds) {
		r.Processor = nil
	}
	for method, seconds := range u.Processor {
		if r.Processor != nil {
			r.Processor[method] += seconds
		}
	}
	for _, note := range u.Notes {
		r.Notes = append(r.Notes, u.Unit+noteMark+note)
	}
	if r.Started.IsZero() || u.Started.Before(r.Started) {
		r.Started = u.Started
	}
	if u.Finished.After(r.Finished) {
		r.Finished = u.Finished
	}
}

// noteMark is between the name of a unit and its note.
const noteMark = ": "

// notesOf returns the notes of a unit.
func (r *Record) notesOf(unit string) (notes []string) {
	for _, note := range r.Notes {
		if of, text, ok := strings.Cut(note, noteMark); ok && of == unit {
			notes = append(notes, text)
		}
	}
	return notes
}
