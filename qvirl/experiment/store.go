package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// The files of a folder with results.
const (
	UnitsDir = "units"
	PlanFile = "plan.json"
	RowsFile = "rows.csv"
	RunFile  = "run.json"
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
}

// UnitSummary says of one unit what differs between units.
type UnitSummary struct {
	Unit      string             `json:"unit"`
	Key       string             `json:"key"` // see Plan.Keys; results of earlier versions have none
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
	err := readJSON(filepath.Join(dir, RunFile), r)
	r.rename()
	return r, err
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

// layout is what a folder is to hold: the units of a plan. It is kept in PlanFile, so that shards can be merged without
// the plan.
type layout struct {
	Experiment string          `json:"experiment"`
	Scale      string          `json:"scale"`
	Config     json.RawMessage `json:"config"`
	Units      []layoutUnit    `json:"units"`
}

type layoutUnit struct {
	Unit string `json:"unit"`
	Key  string `json:"key"`
}

func newLayout(p *Plan, keys []string) (*layout, error) {
	config, err := json.Marshal(p.Config)
	if err != nil {
		return nil, fmt.Errorf("experiment %s: config: %w", p.Experiment, err)
	}
	l := &layout{Experiment: p.Experiment, Scale: p.Scale, Config: config}
	for i, key := range keys {
		l.Units = append(l.Units, layoutUnit{p.Units[i].Name, key})
	}
	return l, nil
}

// record returns the beginning of a unit's record.
func (l *layout) record(unit int) UnitRecord {
	u := l.Units[unit]
	return UnitRecord{Experiment: l.Experiment, UnitSummary: UnitSummary{Unit: u.Unit, Key: u.Key}}
}

// names returns the names of the units.
func (l *layout) names() []string {
	out := make([]string, len(l.Units))
	for i, u := range l.Units {
		out[i] = u.Unit
	}
	return out
}

// same reports whether two layouts are of the same rows.
func (l *layout) same(other *layout) bool {
	return l.Experiment == other.Experiment && slices.Equal(l.Units, other.Units)
}

// store is a folder with results of a plan.
type store struct {
	dir  string
	plan *layout
}

// openStore returns the folder with the plan that it says it is of.
func openStore(dir string) (store, error) {
	s := store{dir, new(layout)}
	if err := readJSON(filepath.Join(dir, PlanFile), s.plan); err != nil {
		return s, fmt.Errorf("experiment: %s holds no units to merge: %w", dir, err)
	}
	return s, nil
}

// checkOwner refuses a folder that is to hold, or holds, results of another experiment.
func (s store) checkOwner() error {
	var owners []string
	if had, err := openStore(s.dir); err == nil {
		owners = append(owners, presentName(had.plan.Experiment))
	}
	if record, err := ReadRecord(s.dir); err == nil {
		owners = append(owners, record.Experiment)
	}
	for _, owner := range owners {
		if owner != s.plan.Experiment {
			return fmt.Errorf("experiment: %s holds results of %s, not of %s; use another folder", s.dir, owner,
				s.plan.Experiment)
		}
	}
	return nil
}

// writeLayout says in the folder what it is to hold, unless it does so already.
func (s store) writeLayout() error {
	if had, err := openStore(s.dir); err == nil && had.plan.same(s.plan) && had.plan.Scale == s.plan.Scale {
		return nil
	}
	return atomicfile.WriteJSON(filepath.Join(s.dir, PlanFile), s.plan)
}

// fileName returns the name of a unit's files without its ending. Rows under another key are another file: they stay,
// and count again when the settings are what they were.
func fileName(unit, key string) string { return unit + "." + key }

// keyPattern matches the keys in names of files, as filepath.Match does.
var keyPattern = strings.Repeat("[0-9a-f]", keyDigits)

func (s store) path(unit, key, ending string) string {
	return filepath.Join(s.dir, UnitsDir, fileName(unit, key)+ending)
}

// put keeps a finished unit. The record comes last: it is what makes the unit count.
func (s store) put(r UnitRecord, rows []Row) error {
	var err error
	if r.Rows, r.SHA256, err = writeSorted(s.path(r.Unit, r.Key, ".csv"), rows); err != nil {
		return err
	}
	return atomicfile.WriteJSON(s.path(r.Unit, r.Key, ".json"), r)
}

// writeSorted sorts rows and writes them to a file, and returns their number and the file's checksum.
func writeSorted(path string, rows []Row) (n int, sum string, err error) {
	if err := Sort(rows); err != nil {
		return 0, "", fmt.Errorf("%w (for %s)", err, path)
	}
	var text bytes.Buffer
	if err := WriteRows(&text, rows); err != nil {
		return 0, "", err
	}
	return len(rows), digest(text.Bytes()), atomicfile.WriteBytes(path, text.Bytes())
}

// read returns the record of a unit; the error wraps fs.ErrNotExist if the unit is not finished.
func (s store) read(unit int) (*UnitRecord, error) {
	u := s.plan.Units[unit]
	path, r := s.path(u.Unit, u.Key, ".json"), new(UnitRecord)
	if err := readJSON(path, r); err != nil {
		return nil, err
	}
	if r.Unit != u.Unit || r.Key != u.Key {
		return nil, fmt.Errorf("experiment: %s is not the record of unit %q; remove it", path, u.Unit)
	}
	return r, nil
}

// units returns the records of the plan's finished units, nil for those that are not.
func (s store) units() (out []*UnitRecord, finished int, err error) {
	out = make([]*UnitRecord, len(s.plan.Units))
	for i := range out {
		if out[i], err = s.read(i); err == nil {
			finished++
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
	}
	return out, finished, nil
}

// rows reads the rows of a finished unit and compares them with the record's checksum.
func (s store) rows(r *UnitRecord) ([]Row, error) {
	return readRows(s.path(r.Unit, r.Key, ".csv"), r.SHA256)
}

// readRows reads the rows of a unit whose record has the given checksum of them.
func readRows(path, checksum string) ([]Row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: the rows of a finished unit: %w", err)
	}
	if digest(text) != checksum {
		return nil, fmt.Errorf("experiment: %s was changed or damaged after it was written; remove it with the .json "+
			"beside it, and compute the unit again", path)
	}
	return ParseRows(text, path)
}

// derive writes rows.csv and run.json from the units that are finished. If another process finishes a unit meanwhile,
// it starts over, so that the last process to finish leaves the files complete. If the files cannot be written, the
// record comes back with the error; without finished units it is nil.
func (s store) derive() (*Record, error) {
	for {
		units, finished, err := s.units()
		if err != nil || finished == 0 {
			return nil, err
		}
		record, rows, err := s.combine(units)
		if err != nil {
			return nil, err
		}
		if err := s.write(record, rows); err != nil {
			return record, err
		}
		if _, now, err := s.units(); err != nil || now == finished {
			return record, err
		}
	}
}

// combine puts the rows and the records of units together.
func (s store) combine(units []*UnitRecord) (*Record, []Row, error) {
	record := &Record{Experiment: s.plan.Experiment, Scale: s.plan.Scale, Config: s.plan.Config,
		Seconds: map[string]float64{}, Processor: map[string]float64{}}
	var rows []Row
	for i, u := range units {
		if u == nil {
			record.Missing = append(record.Missing, s.plan.Units[i].Unit)
			continue
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
func (s store) write(record *Record, rows []Row) (err error) {
	if record.Rows, record.SHA256, err = writeSorted(filepath.Join(s.dir, RowsFile), rows); err != nil {
		return err
	}
	return atomicfile.WriteJSON(filepath.Join(s.dir, RunFile), record)
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
		r.Notes = append(r.Notes, u.Unit+": "+note)
	}
	if r.Started.IsZero() || u.Started.Before(r.Started) {
		r.Started = u.Started
	}
	if u.Finished.After(r.Finished) {
		r.Finished = u.Finished
	}
}

// Merge copies the units of several folders with results into one, and writes its rows.csv and run.json. The folders
// must be of the same plan. A unit that stands in several must have the same rows in each. After an error, a folder
// that was not there before is not there either.
func Merge(dirs []string, out string) (record *Record, err error) {
	if _, missing := os.Stat(out); errors.Is(missing, fs.ErrNotExist) {
		defer func() {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(out))
			}
		}()
	}
	if len(dirs) > 0 {
		if err := os.MkdirAll(filepath.Join(out, UnitsDir), 0o755); err != nil {
			return nil, fmt.Errorf("experiment: cannot write to %s: %w", out, err)
		}
	}
	target, err := openStore(out)
	if errors.Is(err, fs.ErrNotExist) && len(dirs) > 0 {
		var first store
		if first, err = openStore(dirs[0]); err == nil {
			target.plan = first.plan
			err = target.writeLayout()
		}
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if err := target.take(dir); err != nil {
			return nil, err
		}
	}
	record, err = target.derive()
	if record == nil && err == nil {
		err = fmt.Errorf("experiment: %s holds no finished unit", out)
	}
	return record, err
}

// take copies the units of another folder.
func (s store) take(dir string) error {
	from, err := openStore(dir)
	if err != nil {
		return err
	}
	if !from.plan.same(s.plan) {
		return fmt.Errorf("experiment: %s is of experiment %s, %s of %s, or they are of different configs; keep them "+
			"in different folders", dir, from.plan.Experiment, s.dir, s.plan.Experiment)
	}
	units, finished, err := from.units()
	if err == nil && finished == 0 {
		err = fmt.Errorf("experiment: %s holds no finished units", dir)
	}
	for i, u := range units {
		if err != nil {
			return err
		}
		if u == nil {
			continue
		}
		had, missing := s.read(i)
		switch {
		case errors.Is(missing, fs.ErrNotExist):
			var rows []Row
			if rows, err = from.rows(u); err == nil {
				err = s.put(*u, rows)
			}
		case missing != nil:
			err = missing
		case had.SHA256 != u.SHA256:
			err = fmt.Errorf("experiment: %s and %s hold different rows for the same unit; remove one of them",
				s.path(u.Unit, u.Key, ".csv"), from.path(u.Unit, u.Key, ".csv"))
		}
	}
	return err
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
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
