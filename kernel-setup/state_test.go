package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStateTellsWhatHasToRun(t *testing.T) {
	private := t.TempDir()
	writeFiles(t, private, map[string]string{"bin/gonb": "12345", "venv/python": ""})
	outputs, err := outputsOf(private, true, "bin/gonb")
	if err != nil {
		t.Fatal(err)
	}
	loose, err := outputsOf(private, false, "venv/python")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(private, "state.json")
	s := &state{Steps: map[string]stamp{
		"whole": {Digest: "d", Outputs: append(outputs, loose...), Ended: time.Now().UTC()},
		"begun": {},
	}}
	if err := s.save(path); err != nil {
		t.Fatal(err)
	}
	if s, err = loadState(path); err != nil {
		t.Fatal(err)
	}
	expect := func(name, digest, want string) {
		t.Helper()
		got := s.check(private, name, digest)
		if got == "" && want != "" || !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("check(%q, %q) = %q, want %q", name, digest, got, want)
		}
	}
	expect("whole", "d", "")
	expect("whole", "other", "changed")
	expect("begun", "", "interrupted")
	expect("never", "d", "not done")

	writeFiles(t, private, map[string]string{"venv/python": "longer, which is no matter here"})
	expect("whole", "d", "")
	writeFiles(t, private, map[string]string{"bin/gonb": "123"})
	expect("whole", "d", "3 bytes instead of 5")
	if err := os.Remove(filepath.Join(private, "bin/gonb")); err != nil {
		t.Fatal(err)
	}
	expect("whole", "d", "missing")
}

func TestDamagedStateStartsAfresh(t *testing.T) {
	for _, text := range []string{`{"steps": {"to`, "null", "[]"} {
		path := filepath.Join(t.TempDir(), "state.json")
		writeFiles(t, filepath.Dir(path), map[string]string{"state.json": text})
		s, err := loadState(path)
		if err != nil || s.Steps == nil || len(s.Steps) != 0 {
			t.Errorf("state %q: %+v, error %v, want an empty one", text, s, err)
		}
	}
}

func TestDigestSeparatesItsParts(t *testing.T) {
	if digest("ab", "c") == digest("a", "bc") {
		t.Error("digest(ab, c) equals digest(a, bc)")
	}
	if first, again := digest("a"), digest("a"); first != again || first == "" {
		t.Error("digest is not a function of its parts")
	}
}

func TestWriteFileLeavesNothingBehindOnFailure(t *testing.T) {
	dir := t.TempDir()
	// A folder stands where the file should go.
	writeFiles(t, dir, map[string]string{"state.json/x": ""})
	if err := (&state{}).save(filepath.Join(dir, "state.json")); err == nil {
		t.Fatal("writing over a folder succeeded")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (error %v), want only what was there", entries, err)
	}
}
