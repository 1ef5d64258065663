package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
)

// The files of a folder with results.
const (
	UnitsDir = "units"
	PlanFile = "plan.json"
	RowsFile = "rows.csv"
	RunFile  = "run.json"
)

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
	if err := atomicfile.ReadJSON(filepath.Join(dir, PlanFile), s.plan); err != nil {
		return s, fmt.Errorf("experiment: %s holds no units to merge: %w", dir, err)
	}
	return s, nil
}

// checkOwner refuses a folder that is to hold, or holds, results of another experiment, and one whose rows are of
// another scale, unless all of them are the plan's as well.
func (s store) checkOwner() error {
	var owners []string
	if had, err := openStore(s.dir); err == nil {
		owners = append(owners, had.plan.Experiment)
	}
	record, err := ReadRecord(s.dir)
	if err == nil {
		owners = append(owners, record.Experiment)
	}
	for _, owner := range owners {
		if owner != s.plan.Experiment {
			return fmt.Errorf("experiment: %s holds results of %s, not of %s; use another folder", s.dir, owner,
				s.plan.Experiment)
		}
	}
	if err == nil && record.Scale != s.plan.Scale && slices.ContainsFunc(record.Units, s.isNot) {
		return fmt.Errorf("experiment: %s holds %d rows of %s at scale %s, in place of which would be those at scale "+
			"%s; use another folder, or remove this one", s.dir, record.Rows, record.Experiment, record.Scale,
			s.plan.Scale)
	}
	return nil
}

// isNot reports whether a unit is none of the plan's.
func (s store) isNot(u UnitSummary) bool {
	return !slices.Contains(s.plan.Units, layoutUnit{u.Unit, u.Key})
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

// put keeps a finished unit. The record is what makes the unit count: it comes last, and a former one goes first.
func (s store) put(r UnitRecord, rows []Row) error {
	err := os.Remove(s.path(r.Unit, r.Key, ".json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("experiment: %w", err)
	}
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
	if err := atomicfile.ReadJSON(path, r); err != nil {
		return nil, fmt.Errorf("experiment: %w; remove it if it is damaged", err)
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
	path := s.path(r.Unit, r.Key, ".csv")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: the rows of a finished unit: %w; restore them, or remove the .json beside "+
			"them, and compute the unit again", err)
	}
	if digest(text) != r.SHA256 {
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

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
