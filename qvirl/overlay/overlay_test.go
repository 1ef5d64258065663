package overlay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/check"
)

type training struct{ Steps, Batch int }

type config struct {
	Training training
	Rate     float64 `json:"rate"`
	Nothing  struct{}
	List     [2]training
	hidden   int
}

// Validate refuses a negative rate.
func (c config) Validate() error {
	return check.NotNegative("rate", c.Rate)
}

func TestErrorsNameTheFileAndTheFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for text, want := range map[string]string{
		`{"Training": {"Steps": 3}}`:                  "",
		"\xef\xbb\xbf" + `{"Training": {"Steps": 3}}`: "",
		``:                              "want a JSON object",
		" \n":                           "want a JSON object",
		`null`:                          "want a JSON object",
		`{"rate": 3`:                    "config: it ends before its JSON object does: a brace",
		"{\n\"rate\": 3,\n}":            "config: line 3: invalid character '}'",
		`{} {}`:                         "more after the JSON object",
		`[3]`:                           "config: got an array, want an object",
		`{"rate": -1}`:                  "config: rate = -1, want",
		`{"rate": "x"}`:                 "config: rate: got a string, want a number",
		`{"Training": {"Steps": 2.5}}`:  "config: Training.Steps: got 2.5, want a whole number",
		`{"Training": {"Batch": true}}`: "Training.Batch: got a truth value, want a whole number",
		`{"Training": "Steps"}`:         "config: Training: got a string, want an object",
		`{"Rates": 3}`:                  `no field "Rates"; there is Training, rate, Nothing, List`,
		`{"training": {"Stpes": 3}}`:    `no field "Stpes"; there is Steps, Batch`,
		`{"Steps": 3}`:                  `no field "Steps"; there is Training, rate, Nothing, List`,
		`{"Nothing": {"Steps": 3}}`:     `no field "Steps"; there are no such settings`,
		`{"Training": {"Stepz": 3}}`:    `no field "Stepz"; there is Steps, Batch`,
		`{"Training": {"hidden": 3}}`:   `no field "hidden"; there is Steps, Batch`,
		`{"rate": 3, "rate": 4}`:        `config: rate: the field is there twice, as "rate" and "rate"`,
		`{"Training": {"Steps": 3, "Batch": 2, "steps": 4}}`: `Training.steps: the field is there twice, as "Steps"`,
		`{"List": [{"Steps": 3}, {"Batch": 3, "Batch": 1}]}`: `List.Batch: the field is there twice`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := config{Training: training{1, 2}, Rate: 0.5, hidden: 7}
		err := File(&c, path)
		if want == "" && (err != nil || c != config{Training: training{3, 2}, Rate: 0.5, hidden: 7}) {
			t.Errorf("%s: %+v, error %v", text, c, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), "--config "+path+": ") ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want one with %q and the file", text, err, want)
		}
	}
	if err := File(&config{}, ""); err != nil {
		t.Errorf("without a file: %v", err)
	}
	err := File(&config{}, `{"rate": 1}`)
	if err == nil || !strings.Contains(err.Error(), "want the name of a file that holds this object") {
		t.Errorf("the object in place of a file: error %v", err)
	}
}
