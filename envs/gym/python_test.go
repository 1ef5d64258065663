//go:build unix

package gym

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoPythonIsRunUntold: an interpreter that lies about in the working folder, or above it, is not run unless it is
// named.
func TestNoPythonIsRunUntold(t *testing.T) {
	root := t.TempDir()
	stranger := filepath.Join(root, ".birl", "venv", "bin", "python")
	deep, path := filepath.Join(root, "a"), filepath.Join(root, "bin")
	for _, dir := range []string{filepath.Dir(stranger), deep, path} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	onPath := filepath.Join(path, "python3")
	for _, program := range []string{stranger, onPath} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(deep)
	t.Setenv("PATH", path)
	t.Setenv(pythonVariable, "")
	if got, ours, err := findPython(""); err != nil || got != onPath || ours {
		t.Errorf("untold: %q (ours: %v, error %v), want %q", got, ours, err, onPath)
	}
	t.Setenv(pythonVariable, stranger)
	if got, ours, err := findPython(""); err != nil || got != stranger || !ours {
		t.Errorf("named by the environment: %q (ours: %v, error %v), want %q", got, ours, err, stranger)
	}
	if got, ours, err := findPython(onPath); err != nil || got != onPath || ours {
		t.Errorf("chosen: %q (ours: %v, error %v), want %q", got, ours, err, onPath)
	}
}
