package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// adopt brings what rows.csv and run.json alone hold, as results are published, into files of units, from which a run
// goes on. Which rows are a unit's follows from the plan of the config that they were computed with.
func (s store) adopt(plan *Plan) error {
	if _, err := os.Stat(filepath.Join(s.dir, RowsFile)); err != nil {
		return nil
	}
	held := func(r *Record) bool { return !slices.ContainsFunc(r.Units, s.lacks) }
	if record, err := ReadRecord(s.dir); err == nil && held(record) {
		return nil
	}
	rows, record, err := ReadResults(s.dir)
	switch {
	case err == nil:
	case s.derived(): // the run was killed between the two files, or the disk was full
		return nil
	case errors.Is(err, errUnlike):
		return err
	default:
		return fmt.Errorf("%w; restore it, or move %s and %s away and run again", err, RowsFile, RunFile)
	}
	if held(record) { // the record of another process, which had not written it yet
		return nil
	}
	if plan.of == nil {
		return fmt.Errorf("experiment: %s holds results that this plan cannot go on from; use another folder", s.dir)
	}
	of, err := plan.of(record.Config)
	if err == nil {
		err = s.split(rows, record, of)
	}
	if err != nil {
		return fmt.Errorf("experiment: %s holds results of a config that this program cannot go on from; use another "+
			"folder: %w", s.dir, err)
	}
	return nil
}

// derived reports whether all rows in rows.csv are those of the plan's units that the folder holds.
func (s store) derived() bool {
	rows, err := ReadRowsFile(filepath.Join(s.dir, RowsFile))
	held := map[Row]bool{}
	for _, u := range s.plan.Units {
		own, _ := ReadRowsFile(s.path(u.Unit, u.Key, ".csv")) // rows that are not there are held by no unit
		for _, row := range own {
			held[row] = true
		}
	}
	return err == nil && !slices.ContainsFunc(rows, func(row Row) bool { return !held[row] })
}

// lacks reports whether there is no file of a unit, not even a damaged one.
func (s store) lacks(u UnitSummary) bool {
	return !slices.ContainsFunc([]string{".csv", ".json"}, func(ending string) bool {
		_, err := os.Stat(s.path(u.Unit, u.Key, ending))
		return err == nil
	})
}

// split keeps the units of published results that there are no files of; plan is that of their config.
func (s store) split(rows []Row, record *Record, plan *Plan) error {
	kept := 0
	for _, u := range record.Units {
		i := slices.IndexFunc(plan.Units, func(planned Unit) bool { return planned.Name == u.Unit })
		if i < 0 || u.Key == "" {
			return fmt.Errorf("unit %q with the key %q is none of its plan's", u.Unit, u.Key)
		}
		var own []Row
		for _, row := range rows {
			if plan.Units[i].owns(row) {
				own = append(own, row)
			}
		}
		if kept += len(own); !s.lacks(u) {
			continue
		}
		unit := UnitRecord{Experiment: s.plan.Experiment, UnitSummary: u, Machine: record.Machines[u.Machine],
			Notes: record.notesOf(u.Unit)}
		if err := s.put(unit, own); err != nil {
			return err
		}
	}
	if kept != len(rows) {
		return fmt.Errorf("it has %d rows, and its units have %d: some are of no unit, or of two", len(rows), kept)
	}
	return nil
}
