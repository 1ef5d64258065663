package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Cells that a person would write: what is longer belongs into a package, or on a page.
const (
	mostFirst = 8   // lines of the first code cell
	mostLines = 25  // lines of any code cell
	mostWords = 150 // words of a text cell
)

func TestCellsAreShort(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "notebooks", "*.ipynb"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d notebooks, error %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := longCells(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, fault := range faults {
			t.Errorf("%s: %s", filepath.Base(path), fault)
		}
	}
}

// longCells returns what is too long in a notebook.
func longCells(text []byte) (faults []string, err error) {
	var notebook struct {
		Cells []struct {
			Kind   string   `json:"cell_type"`
			Source []string `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		return nil, err
	}
	first := true
	for _, cell := range notebook.Cells {
		source := strings.Join(cell.Source, "")
		title, _, _ := strings.Cut(source, "\n")
		switch {
		case cell.Kind == "markdown" && len(strings.Fields(source)) > mostWords:
			faults = append(faults, "a text of more than 150 words begins with "+title)
		case cell.Kind == "code":
			lines := strings.Count(source, "\n") + 1
			if lines > mostLines {
				faults = append(faults, "a cell of more than 25 lines begins with "+title)
			}
			if first && lines > mostFirst {
				faults = append(faults, "the first cell has more than 8 lines")
			}
			first = false
		}
	}
	return faults, nil
}

func TestLongCellsAreSeen(t *testing.T) {
	lines := `"x\n",` + strings.Repeat(`"y\n",`, 25)
	for text, want := range map[string]int{
		`{"cells": [{"cell_type": "code", "source": [` + lines + `"z"]}]}`:                                           2,
		`{"cells": [{"cell_type": "code", "source": ["a"]}, {"cell_type": "code", "source": [` + lines + `"z"]}]}`:   1,
		`{"cells": [{"cell_type": "markdown", "source": ["` + strings.Repeat("word ", 151) + `"]}]}`:                 1,
		`{"cells": [{"cell_type": "markdown", "source": ["short"]}, {"cell_type": "code", "source": ["a\n", "b"]}]}`: 0,
	} {
		if faults, err := longCells([]byte(text)); err != nil || len(faults) != want {
			t.Errorf("faults %q, error %v, want %d of %.60s", faults, err, want, text)
		}
	}
}
