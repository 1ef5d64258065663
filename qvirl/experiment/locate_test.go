package experiment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestLocateLooksUpwards(t *testing.T) {
	top := t.TempDir()
	deep := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(top, "file"), filepath.Join(top, "a", "file")} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(deep)
	want, err := os.Stat(filepath.Join(top, "a", "file"))
	if err != nil {
		t.Fatal(err)
	}
	at, err := Locate("file")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.Stat(at); err != nil || !os.SameFile(got, want) { // the nearest one
		t.Errorf("%s, error %v", at, err)
	}
	if at, err := Locate(filepath.Join("no", "such")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s, error %v for a file that is not there", at, err)
	}
	if at, err := Locate(deep); err != nil || at != deep {
		t.Errorf("%s, error %v for an absolute path", at, err)
	}
}
