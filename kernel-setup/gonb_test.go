package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMend mends a passage where it stands as often as expected, and refuses another version of the file.
func TestMend(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a/x.go": "wait(12)\nwait(12)\n"})
	m := mend{"a/x.go", "wait(12)", "wait(1)", 2}
	if err := m.apply(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "a", "x.go"))
	if err != nil || string(got) != "wait(1)\nwait(1)\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
	if err := m.apply(dir); err == nil || !strings.Contains(err.Error(), "stands 0 times in") {
		t.Errorf("a file without the passage: %v", err)
	}
}
