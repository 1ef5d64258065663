package command

import (
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
