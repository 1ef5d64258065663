package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keep makes a folder with the rows of a finished run.
func keep(t *testing.T, experiment string, complete bool, rows ...Row) string {
	t.Helper()
	dir := t.TempDir()
	for i := range rows {
		rows[i].Experiment = experiment
	}
	r := &Record{Experiment: experiment, Complete: complete, Seconds: map[string]float64{"run": float64(len(rows))}}
	if err := (store{dir}).write(r, rows); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRenewReplacesTheRowsOfMethods(t *testing.T) {
	row := func(method string, seed uint64, value float64) Row {
		return Row{Environment: "world", Method: method, Demos: 5, Seed: seed, Metric: "w1", Value: value}
	}
	dir := keep(t, "e", true, row("exact", 0, 1), row("exact", 1, 2), row("a", 0, 3), row("a", 1, 4), row("b", 0, 5),
		row("b", 1, 6))
	before, err := os.ReadFile(filepath.Join(dir, RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	good := []Row{row("exact", 0, 1), row("exact", 1, 2), row("b", 0, 7), row("b", 1, 8), row("new", 0, 9)}
	for want, from := range map[string]string{
		"differ in w1 of exact in seed 1: 2 and 2.5": keep(t, "e", true, row("exact", 0, 1), row("exact", 1, 2.5),
			row("b", 0, 7), row("b", 1, 8)),
		"no rows of other methods in common": keep(t, "e", true, row("b", 0, 7), row("b", 1, 8)),
		"in seed 1 of world":                 keep(t, "e", true, row("exact", 0, 1), row("b", 0, 7)),
		"is of experiment f":                 keep(t, "f", true, good...),
		"not complete":                       keep(t, "e", false, good...),
		`no rows of method "b"`:              keep(t, "e", true, row("exact", 0, 1), row("a", 0, 1)),
	} {
		if _, err := Renew(dir, from, []string{"b"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	from := keep(t, "e", true, good...)
	if _, err := Renew(dir, from, nil); err == nil {
		t.Error("renewing no method is no error")
	}
	if now, err := os.ReadFile(filepath.Join(dir, RowsFile)); err != nil || string(now) != string(before) {
		t.Fatalf("a refused renewal changed the rows (error %v)", err)
	}

	if _, err := Renew(dir, from, []string{"b", "new"}); err != nil {
		t.Fatal(err)
	}
	rows, record, err := ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rows {
		got[r.Method] = 10*got[r.Method] + r.Value
	}
	if len(rows) != 7 || got["exact"] != 12 || got["a"] != 34 || got["b"] != 78 || got["new"] != 9 {
		t.Errorf("rows %v", rows)
	}
	if len(record.Renewals) != 1 || record.Renewals[0].Rows != 3 || record.Renewals[0].Run.Seconds["run"] != 5 ||
		record.Seconds["run"] != 6 || record.Rows != 7 {
		t.Errorf("record %+v", record)
	}
	if text := record.SecondsText(); !strings.Contains(text, "run 6.0") || !strings.Contains(text, "b, new are of: ") ||
		!strings.Contains(text, "run 5.0") {
		t.Errorf("seconds: %s", text)
	}

	if err := os.WriteFile(filepath.Join(dir, RowsFile), before, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Renew(dir, from, []string{"b"}); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("error %v for rows that are not those of the record", err)
	}
}
