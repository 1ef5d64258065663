//go:build installed

package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/kernel.py
var talk string

// TestKernelElsewhere talks to the kernel as VS Code or a Jupyter of the user's own does: without JUPYTER_PATH, once
// install --kernelspec has written the kernelspec. It shows figures in a format that needs no trust, completes from the
// first time on, and an interrupt ends a progress line and leaves the kernel usable.
func TestKernelElsewhere(t *testing.T) {
	l := installed(t)
	data := t.TempDir() // stands for the user's Jupyter folder
	t.Setenv("JUPYTER_DATA_DIR", data)
	t.Setenv("JUPYTER_RUNTIME_DIR", t.TempDir())
	for _, name := range []string{"JUPYTER_PATH", headlessVariable} {
		t.Setenv(name, "")
	}
	if _, err := writeKernelspec(l, userKernelspec); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	run := command{name: l.python(), args: []string{"-I", "-", t.TempDir()}, dir: t.TempDir(), env: os.Environ(),
		stdin: strings.NewReader(talk), stdout: func(line string) { out.WriteString(line + "\n") }}
	if err := run.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	type executed struct {
		Text    string
		Formats []string
		Status  string
	}
	var saw struct {
		Error, Kernelspec                  string
		Header, Picture, Interrupted, Next executed
		Completions                        []struct {
			Seconds float64
			Matches []string
		}
		After *float64 // seconds from the interrupt to the end of the cell
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &saw); err != nil || saw.Error != "" {
		t.Fatalf("%s %v", out.String(), err)
	}
	if want := filepath.Join(data, "kernels", kernelName); saw.Kernelspec != want {
		t.Errorf("the kernelspec is that of %s, want %s", saw.Kernelspec, want)
	}
	if saw.Header.Status != "ok" || !strings.Contains(saw.Header.Text, "2") {
		t.Errorf("the first cell: %+v", saw.Header)
	}
	if saw.Picture.Status != "ok" || !slices.Contains(saw.Picture.Formats, "image/png") {
		t.Errorf("a figure comes as %v: %+v", saw.Picture.Formats, saw.Picture.Status)
	}
	for i, c := range saw.Completions {
		t.Logf("completion %d after %.2f s", i, c.Seconds)
		if !slices.Contains(c.Matches, "Show") {
			t.Errorf("completion %d after “widgets.” gives %q", i, c.Matches)
		}
	}
	if saw.After == nil || *saw.After > 5 || !strings.Contains(saw.Interrupted.Text, "slow work: interrupted after") ||
		!strings.Contains(saw.Interrupted.Text, "at 40 %; the first part is kept") || saw.Interrupted.Status == "ok" {
		t.Errorf("an interrupted cell: %+v", saw.Interrupted)
	}
	if saw.Next.Status != "ok" || !strings.Contains(saw.Next.Text, "goes on") {
		t.Errorf("after an interrupt: %+v", saw.Next)
	}
}
