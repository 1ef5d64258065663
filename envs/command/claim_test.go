package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []bool{false, true} {
		out := filepath.Join(dir, "x.npz")
		if folder {
			out = dir
		}
		release, err := Claim(out, folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Claim(out, folder); err == nil ||
			!strings.Contains(err.Error(), "another command writes to "+out) {
			t.Errorf("%s: error %v", out, err)
		}
		if other, err := Claim(filepath.Join(dir, "y.npz"), false); err != nil {
			t.Errorf("another file: %v", err)
		} else {
			other()
		}
		release()
		again, err := Claim(out, folder)
		if err != nil {
			t.Fatalf("after the release: %v", err)
		}
		again()
	}
	if _, err := Claim(filepath.Join(dir, "absent", "x"), false); err == nil ||
		!strings.Contains(err.Error(), "absent") {
		t.Errorf("error %v", err)
	}
}

// TestFoldersMadeForNothingGo: only those that the command made, and that hold nothing.
func TestFoldersMadeForNothingGo(t *testing.T) {
	for _, c := range []struct{ had, written, stays bool }{
		{false, false, false}, {false, true, true}, {true, false, true},
	} {
		out := filepath.Join(t.TempDir(), "model")
		if c.had {
			if err := os.Mkdir(out, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		release, err := ClaimFolder(out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ClaimFolder(out); err == nil {
			t.Error("a second command claims the folder")
		}
		if c.written {
			if err := os.WriteFile(filepath.Join(out, "x"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		release()
		if _, err := os.Stat(out); (err == nil) != c.stays {
			t.Errorf("%+v: after the release the folder is there: %v", c, err == nil)
		}
	}
}
