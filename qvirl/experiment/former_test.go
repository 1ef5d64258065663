package experiment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rows, records and configs that were stored under former names of methods and experiments are read under the present
// ones.
func TestFormerNames(t *testing.T) {
	rows, err := ParseRows([]byte("experiment,environment,method,demos,seed,metric,value\n"+
		"dial,w,paper-k08,5,1,w1,2\nbetas,w,qvirl-best,5,1,w1,3\nposterior-quality,w,qvirl-best,5,1,w1,4\n"),
		"rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := []Row{{"refinement", "w", "qvirl", "transitions=08", 5, 1, "w1", 2, ""},
		{"rationality", "w", "qvirl-matched", "", 5, 1, "w1", 3, ""},
		{"posterior-quality", "w", "qvirl-matched", "", 5, 1, "w1", 4, ""}}
	for i, row := range rows {
		if row != want[i] {
			t.Errorf("row %+v, want %+v", row, want[i])
		}
	}
	if e := Average(rows, "qvirl-best", "w1"); e == nil || e.Mean != 3.5 {
		t.Errorf("average by a former name: %+v, want 3.5", e)
	}

	dir := t.TempDir()
	text := `{"experiment": "dial", "seconds_per_method": {"paper": 1, "qvirl-best": 2},
		"units": [{"unit": "a", "seconds_per_method": {"start": 3}}]}`
	if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Experiment != "refinement" || r.Seconds["qvirl"] != 1 || r.Seconds["qvirl-matched"] != 2 ||
		r.Units[0].Seconds["qvirl-start"] != 3 {
		t.Errorf("record %+v", r)
	}
	if s := strings.Join(r.SecondsText(), ""); strings.Contains(s, "best") || strings.Contains(s, "paper") {
		t.Errorf("text %q", s)
	}

	// a run whose config has former names can be resumed under the present ones; another number is another config
	before := json.RawMessage(`{"Methods": ["paper", "qvirl-best"], "Seed": 18446744073709551615, "World": {"B": 1, "A": 2}}`)
	for config, same := range map[string]bool{
		`{"Methods":["qvirl","qvirl-matched"],"Seed":18446744073709551615,"World":{"A":2,"B":1}}`: true,
		`{"Methods":["qvirl","qvirl-matched"],"Seed":18446744073709551614,"World":{"A":2,"B":1}}`: false,
		`{"Methods":["qvirl-matched","qvirl"],"Seed":18446744073709551615,"World":{"A":2,"B":1}}`: false,
	} {
		if got := string(compact(before)) == string(compact(json.RawMessage(config))); got != same {
			t.Errorf("%s is the same config: %v, want %v", config, got, same)
		}
	}
}
