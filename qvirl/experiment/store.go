package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl/method"
)

// The files of a folder with results.
const (
	UnitsDir = "units"
	RowsFile = "rows.csv"
	RunFile  = "run.json"
)

// UnitRecord is the record of a finished unit, kept beside its rows.
type UnitRecord struct {
	Experiment string             `json:"experiment"`
	Scale      string             `json:"scale"`
	Unit       string             `json:"unit"`
	Plan       []string           `json:"plan"` // names of all units of the plan, in order
	Rows       int                `json:"rows"`
	SHA256     string             `json:"sha256"` // of the CSV file
	Seconds    map[string]float64 `json:"seconds_per_method"`
	Processor  map[string]float64 `json:"processor_seconds_per_method,omitempty"`
	Notes      []string           `json:"notes,omitempty"`
	Started    time.Time          `json:"started"`
	Finished   time.Time          `json:"finished"`
	Config     json.RawMessage    `json:"config"`
	Machine    Machine            `json:"machine"`
}

// Record is the record of a run, put together from its finished units.
type Record struct {
	Experiment string             `json:"experiment"`
	Scale      string             `json:"scale"`
	Complete   bool               `json:"complete"`
	Missing    []string           `json:"missing_units,omitempty"`
	Rows       int                `json:"rows"`
	SHA256     string             `json:"rows_sha256"`
	Seconds    map[string]float64 `json:"seconds_per_method"` // by the clock, summed over units
	// of all threads together; absent if a unit lacks it
	Processor map[string]float64 `json:"processor_seconds_per_method,omitempty"`
	Started   time.Time          `json:"started"`  // of the first unit
	Finished  time.Time          `json:"finished"` // of the last
	Notes     []string           `json:"notes,omitempty"`
	Config    json.RawMessage    `json:"config"`
	Machines  []Machine          `json:"machines"`
	Units     []UnitSummary      `json:"units"`
	// methods whose rows are of later runs; all else describes the first run
	Renewals []Renewal `json:"renewals,omitempty"`
}

// UnitSummary says of one unit what differs between units.
type UnitSummary struct {
	Unit      string             `json:"unit"`
	Rows      int                `json:"rows"`
	Seconds   map[string]float64 `json:"seconds_per_method"`
	Processor map[string]float64 `json:"processor_seconds_per_method,omitempty"`
	Started   time.Time          `json:"started"`
	Finished  time.Time          `json:"finished"`
	Machine   int                `json:"machine"` // index into Machines
}

// ReadRecord reads the record of a run from a folder with results.
func ReadRecord(dir string) (*Record, error) {
	r := new(Record)
	err := readJSON(filepath.Join(dir, RunFile), r)
	r.rename()
	return r, err
}

// rename gives the experiment and the methods of a record their present names.
func (r *Record) rename() {
	r.Experiment = presentName(r.Experiment)
	r.Seconds, r.Processor = renamed(r.Seconds), renamed(r.Processor)
	for i := range r.Units {
		u := &r.Units[i]
		u.Seconds, u.Processor = renamed(u.Seconds), renamed(u.Processor)
	}
	for i := range r.Renewals {
		for j, name := range r.Renewals[i].Methods {
			r.Renewals[i].Methods[j] = method.Canonical(name)
		}
		r.Renewals[i].Run.rename()
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

// store is a folder with results.
type store struct{ dir string }

func (s store) rowsPath(unit string) string   { return filepath.Join(s.dir, UnitsDir, unit+".csv") }
func (s store) recordPath(unit string) string { return filepath.Join(s.dir, UnitsDir, unit+".json") }

// put keeps a finished unit. The record comes last: it is what makes the unit count.
func (s store) put(r UnitRecord, rows []Row) error {
	for i := range rows {
		rows[i].Method = method.Canonical(rows[i].Method) // a config may have a former name
	}
	if err := Sort(rows); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := WriteRows(&text, rows); err != nil {
		return err
	}
	r.Rows, r.SHA256 = len(rows), digest(text.Bytes())
	if err := atomicfile.Write(s.rowsPath(r.Unit),
		func(w io.Writer) error { _, err := w.Write(text.Bytes()); return err }); err != nil {
		return err
	}
	return writeJSON(s.recordPath(r.Unit), r)
}

// units returns the records of the finished units, by name.
func (s store) units() (map[string]*UnitRecord, error) {
	return s.read(func(string) bool { return true })
}

// read returns the records of the finished units that are wanted, by name.
func (s store) read(want func(unit string) bool) (map[string]*UnitRecord, error) {
	finished, err := FinishedUnits(s.dir)
	if err != nil {
		return nil, err
	}
	out := map[string]*UnitRecord{}
	for _, name := range slices.Sorted(maps.Keys(finished)) {
		if !want(name) {
			continue
		}
		r := new(UnitRecord)
		if err := readJSON(s.recordPath(name), r); err != nil {
			return nil, err
		}
		if r.Unit != name || !slices.Contains(r.Plan, name) {
			return nil, fmt.Errorf("experiment: %s is not the record of unit %q; remove it", s.recordPath(name), name)
		}
		r.Experiment, r.Seconds, r.Processor = presentName(r.Experiment), renamed(r.Seconds), renamed(r.Processor)
		out[name] = r
	}
	return out, nil
}

// rows reads the rows of a finished unit and compares them with the record's checksum.
func (s store) rows(r *UnitRecord) ([]Row, error) {
	path := s.rowsPath(r.Unit)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: the rows of a finished unit: %w", err)
	}
	if digest(text) != r.SHA256 {
		return nil, fmt.Errorf("experiment: %s was changed or damaged after it was written; remove it with %s, and "+
			"compute the unit again with --resume",
			path, filepath.Base(s.recordPath(r.Unit)))
	}
	return ParseRows(text, path)
}

// derive writes rows.csv and run.json from the units that are finished. If another process finishes a unit meanwhile,
// it starts over, so that the last process to finish leaves the files complete. If the files cannot be written, the
// record comes back with the error.
func (s store) derive() (*Record, error) {
	for {
		units, err := s.units()
		if err != nil {
			return nil, err
		}
		if len(units) == 0 {
			return nil, fmt.Errorf("experiment: %s holds no finished unit", s.dir)
		}
		record, rows, err := s.combine(units)
		if err != nil {
			return nil, err
		}
		if err := s.write(record, rows); err != nil {
			return record, err
		}
		if now, err := s.units(); err != nil || len(now) == len(units) {
			return record, err
		}
	}
}

// combine puts the rows and the records of units together.
func (s store) combine(units map[string]*UnitRecord) (*Record, []Row, error) {
	names := slices.Sorted(maps.Keys(units))
	first := units[names[0]]
	record := &Record{Experiment: first.Experiment, Scale: first.Scale, Config: first.Config,
		Seconds: map[string]float64{}, Processor: map[string]float64{}}
	var rows []Row
	for _, name := range first.Plan {
		u := units[name]
		if u == nil {
			record.Missing = append(record.Missing, name)
			continue
		}
		if err := sameRun(first, u, s.recordPath(first.Unit), s.recordPath(name)); err != nil {
			return nil, nil, err
		}
		more, err := s.rows(u)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, more...)
		record.add(u)
	}
	record.Complete = len(record.Missing) == 0
	return record, rows, nil
}

// write writes rows.csv and run.json. It sorts the rows, and sets what the record says of them.
func (s store) write(record *Record, rows []Row) error {
	if err := Sort(rows); err != nil {
		return fmt.Errorf("%w (in %s)", err, s.dir)
	}
	var text bytes.Buffer
	if err := WriteRows(&text, rows); err != nil {
		return err
	}
	record.Rows, record.SHA256 = len(rows), digest(text.Bytes())
	if err := WriteRowsFile(filepath.Join(s.dir, RowsFile), rows); err != nil {
		return err
	}
	return writeJSON(filepath.Join(s.dir, RunFile), record)
}

// add takes a unit into the record.
func (r *Record) add(u *UnitRecord) {
	machine := slices.IndexFunc(r.Machines, func(m Machine) bool { return m.same(u.Machine) })
	if machine < 0 {
		machine = len(r.Machines)
		r.Machines = append(r.Machines, u.Machine)
	}
	r.Units = append(r.Units, UnitSummary{Unit: u.Unit, Rows: u.Rows, Seconds: u.Seconds, Processor: u.Processor,
		Started: u.Started, Finished: u.Finished, Machine: machine})
	for method, seconds := range u.Seconds {
		r.Seconds[method] += seconds
	}
	for method, seconds := range u.Processor {
		r.Processor[method] += seconds
	}
	for _, note := range u.Notes {
		r.Notes = append(r.Notes, u.Unit+": "+note)
	}
	if r.Started.IsZero() || u.Started.Before(r.Started) {
		r.Started = u.Started
	}
	if u.Finished.After(r.Finished) {
		r.Finished = u.Finished
	}
}

func (m Machine) same(other Machine) bool {
	if !maps.Equal(m.Modules, other.Modules) {
		return false
	}
	a, _ := json.Marshal(m)
	b, _ := json.Marshal(other)
	return bytes.Equal(a, b)
}

// sameRun refuses units of different experiments or configs; pathA and pathB are their records.
func sameRun(a, b *UnitRecord, pathA, pathB string) error {
	if a.Experiment != b.Experiment {
		return fmt.Errorf("experiment: %s is of experiment %s, but %s is of %s", pathA, a.Experiment, pathB,
			b.Experiment)
	}
	if !bytes.Equal(compact(a.Config), compact(b.Config)) || !slices.Equal(a.Plan, b.Plan) {
		return fmt.Errorf("experiment: %s and %s were computed with different configs; keep them in different folders",
			pathA, pathB)
	}
	return nil
}

// Merge copies the units of several folders with results into one, and writes its rows.csv and run.json. The folders
// must hold units of the same config. A unit that stands in several must have the same rows in each.
func Merge(dirs []string, out string) (*Record, error) {
	target := store{out}
	if err := os.MkdirAll(filepath.Join(out, UnitsDir), 0o755); err != nil {
		return nil, fmt.Errorf("experiment: cannot write to %s: %w", out, err)
	}
	have, err := target.units()
	if err != nil {
		return nil, err
	}
	where := map[string]store{}
	for name := range have {
		where[name] = target
	}
	var first *UnitRecord
	firstPath := ""
	for _, s := range append([]store{target}, stores(dirs)...) {
		units, err := s.units()
		if err != nil {
			return nil, err
		}
		if len(units) == 0 && s != target {
			return nil, fmt.Errorf("experiment: %s holds no finished units", s.dir)
		}
		for _, name := range slices.Sorted(maps.Keys(units)) {
			u := units[name]
			if first == nil {
				first, firstPath = u, s.recordPath(name)
			}
			if err := sameRun(first, u, firstPath, s.recordPath(name)); err != nil {
				return nil, err
			}
			if old := have[name]; old != nil {
				if old.SHA256 != u.SHA256 {
					return nil, fmt.Errorf("experiment: %s and %s hold different rows for the same unit; remove one "+
						"of them",
						where[name].rowsPath(name), s.rowsPath(name))
				}
				continue
			}
			rows, err := s.rows(u)
			if err != nil {
				return nil, err
			}
			if err := target.put(*u, rows); err != nil {
				return nil, err
			}
			have[name], where[name] = u, s
		}
	}
	return target.derive()
}

func stores(dirs []string) []store {
	out := make([]store, len(dirs))
	for i, dir := range dirs {
		out[i] = store{dir}
	}
	return out
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// compact returns a config in the one form in which two can be compared: without spaces, fields in order, methods under
// their present names.
func compact(raw json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // seeds have more digits than a float64
	var config any
	if d.Decode(&config) != nil {
		return raw
	}
	text, err := json.Marshal(withPresentNames(config))
	if err != nil {
		return raw
	}
	return text
}

// withPresentNames returns a decoded JSON value with every string that is a method's former name replaced.
func withPresentNames(v any) any {
	switch v := v.(type) {
	case string:
		return method.Canonical(v)
	case []any:
		for i := range v {
			v[i] = withPresentNames(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withPresentNames(v[key])
		}
	}
	return v
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("experiment: %s is damaged; remove it: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}
