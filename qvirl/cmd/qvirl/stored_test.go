package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

// TestStoredResultsAreGoneOnFrom: what is stored under results counts as units under their keys, all rows of it, and is
// not computed again where its settings are those of today.
func TestStoredResultsAreGoneOnFrom(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	same := map[string][]string{ // methods whose settings have not changed since their rows were stored
		"posterior-quality": {"valuewalk", "valuewalk-nodet", "valuewalk-again", "avril", "qvirl-20k", "qvirl-maxmean"},
		"apprenticeship":    {"valuewalk", "qvirl-svi", "avril"},
		"avril-3x3":         {"valuewalk", "policywalk", "avril"},
		"zoo":               {"valuewalk", "reference"},
		"active-lander":     {"qvirl-eig", "qvirl-var", "qvirl-random"},
	}
	for _, name := range []string{"posterior-quality", "apprenticeship", "avril-3x3", "refinement", "rationality",
		"sensitivity", "highway", "zoo", "active-lander"} {
		from, dir := filepath.Join(resultsDir, name), filepath.Join(t.TempDir(), name)
		rows, record, err := experiment.ReadResults(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		// which a run leaves, old ones too
		if err := os.RemoveAll(filepath.Join(dir, experiment.UnitsDir)); err != nil {
			t.Fatal(err)
		}
		d, err := experiment.Find(definitions, record.Experiment)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := d.Plan(experiment.Settings{Scale: paperScale})
		if err != nil {
			t.Fatal(err)
		}
		left, err := experiment.Left(plan, experiment.Options{Out: dir})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, i := range left {
			if u := plan.Units[i]; slices.Contains(same[name], u.Method) {
				t.Errorf("%s: unit %s is to be computed again", name, u.Name)
			}
		}
		files, err := filepath.Glob(filepath.Join(dir, experiment.UnitsDir, "*.csv"))
		if err != nil {
			t.Fatal(err)
		}
		var kept []experiment.Row
		for _, file := range files {
			more, err := experiment.ReadRowsFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, more...)
		}
		for _, list := range [][]experiment.Row{rows, kept} {
			if err := experiment.Sort(list); err != nil {
				t.Fatal(err)
			}
			for i := range list {
				list[i].Commit = "" // which is not known where rows of several are in one file
			}
		}
		if !slices.Equal(rows, kept) {
			t.Errorf("%s: %d rows are kept of %d, or others", name, len(kept), len(rows))
		}
	}
}
