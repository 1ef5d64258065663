package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteReplacesWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.txt")
	for _, content := range []string{"a long first version\n", "short\n"} {
		if err := Write(path, func(w io.Writer) error { _, err := io.WriteString(w, content); return err }); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("read %q (error %v), want %q", got, err, content)
		}
	}
}

func TestFailureKeepsFormerFileAndLeavesNoOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.txt")
	if err := os.WriteFile(path, []byte("former"), 0o644); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := Write(path, func(w io.Writer) error { io.WriteString(w, "half"); return full })
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want the cause with the path", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "former" {
		t.Errorf("the file holds %q, want the former content", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v, want the one file", entries)
	}
}

func TestMissingFolderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "x.txt")
	if err := Write(path, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the path", err)
	}
}
