package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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
		if len(dirs) == 0 {
			dirs = []string{out}
		}
		err = fmt.Errorf("experiment: %s holds no finished unit", strings.Join(dirs, ", "))
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
	units, _, err := from.units() // of a shard of which there are more than sets of problems, none
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
