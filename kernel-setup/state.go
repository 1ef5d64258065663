package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
)

// state is what kernel-setup remembers in .birl/state.json: which steps are complete, and what the user chose.
type state struct {
	Root    string           `json:"root,omitempty"` // of the clone that the steps were done for
	Choices choices          `json:"choices"`
	Steps   map[string]stamp `json:"steps"`
}

// choices are the options of install that later commands keep to.
type choices struct {
	Python string `json:"python,omitempty"` // the interpreter given with --python
	CUDA   bool   `json:"cuda,omitempty"`
	NoXLA  bool   `json:"no_xla,omitempty"`
	Envs   bool   `json:"envs,omitempty"` // --with envs
}

// stamp records a step: its inputs as a digest and its outputs. A step that was begun and never finished keeps an
// empty digest, which no step has.
type stamp struct {
	Digest  string    `json:"digest"`
	Outputs []output  `json:"outputs,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
}

// output is a file that a step leaves, relative to .birl.
type output struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // in bytes, or -1 where only existence counts
}

// loadState reads the state; a clone without one has an empty one. A damaged file is treated as empty: then every
// step runs again, which repairs everything.
func loadState(path string) (*state, error) {
	s := &state{Steps: map[string]stamp{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil || s.Steps == nil {
		return &state{Steps: map[string]stamp{}}, nil
	}
	return s, nil
}

// claim makes the state that of the clone at l.root, and refuses if it is that of another one which is still there and
// has the same .birl, by a link: what is made for one breaks the other.
func (s *state) claim(l layout) error {
	if s.Root != "" && s.Root != l.root {
		theirs, err := os.Stat(layout{root: s.Root}.private())
		ours, ourErr := os.Stat(l.private())
		if err == nil && ourErr == nil && os.SameFile(theirs, ours) {
			return fmt.Errorf("%s is also that of the clone in %s, and its virtual environment can only serve one: "+
				"remove the link, and this clone gets one of its own", l.private(), s.Root)
		}
	}
	s.Root = l.root
	return nil
}

func (s *state) save(path string) error { return atomicfile.WriteJSON(path, s) }

// check returns why the step named name with the given digest has to run, or "" if it is complete. Sizes and
// existence are looked at, not contents, so that checking takes milliseconds.
func (s *state) check(private, name, digest string) string {
	st, ok := s.Steps[name]
	switch {
	case !ok:
		return "not done yet"
	case st.Digest == "":
		return "was interrupted"
	case st.Digest != digest:
		return "what it depends on has changed"
	}
	for _, o := range st.Outputs {
		info, err := os.Stat(filepath.Join(private, filepath.FromSlash(o.Path)))
		if err != nil {
			return o.Path + " is missing"
		}
		if o.Size >= 0 && info.Size() != o.Size {
			return fmt.Sprintf("%s has %d bytes instead of %d", o.Path, info.Size(), o.Size)
		}
	}
	return ""
}

// outputsOf describes existing files, given relative to private. With sizes false only their existence counts.
func outputsOf(private string, sizes bool, paths ...string) ([]output, error) {
	var out []output
	for _, p := range paths {
		info, err := os.Stat(filepath.Join(private, filepath.FromSlash(p)))
		if err != nil {
			return nil, err
		}
		o := output{Path: p, Size: -1}
		if sizes {
			o.Size = info.Size()
		}
		out = append(out, o)
	}
	return out, nil
}

// digest is a fingerprint of a step's inputs.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
