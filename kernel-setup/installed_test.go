//go:build installed

// The tests of this file need what `kernel-setup install` installs. They carry a build tag instead of skipping
// themselves: plain `go test ./...` has to pass with Go alone, and `kernel-setup test`, which gives the tag, must never
// pass by having left them out.

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installed returns the clone's layout and fails if anything is missing from it.
func installed(t *testing.T) layout {
	t.Helper()
	l, err := findLayout(".")
	if err != nil {
		t.Fatal(err)
	}
	s, err := loadState(l.state())
	if err != nil {
		t.Fatal(err)
	}
	in := installer{layout: l}
	missing, _, err := in.missing(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range missing {
		t.Errorf("not installed: %s", st.title)
	}
	if t.Failed() {
		t.Fatal("run these tests with: go run ./kernel-setup test")
	}
	return l
}

// logWriter passes progress on to the test's log, where it shows how far a failed notebook came.
type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

func logged(t *testing.T) *tasks {
	return &tasks{w: logWriter{t}, width: func() int { return 120 }, patience: time.Hour, beat: time.Hour}
}

func TestMinimalNotebook(t *testing.T) {
	l := installed(t)
	source, err := os.ReadFile("testdata/minimal.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "with a space")
	writeFiles(t, dir, map[string]string{"minimal.ipynb": string(source)})
	notebook := filepath.Join(dir, "minimal.ipynb")
	if err := os.Chmod(notebook, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := runNotebook(t.Context(), l, logged(t), notebook, runOptions{
		out: filepath.Join(dir, "out"), inplace: true, limit: 5 * time.Minute, env: []string{"SCALE=tiny"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "| headless | scale |\n|---|---|\n| 1 | tiny |"; len(got.Summary) != 1 || got.Summary[0] != want {
		t.Errorf("summary %q, want %q", got.Summary, want)
	}
	if len(got.Figures) != 1 {
		t.Fatalf("figures: %q, want one", got.Figures)
	}
	for path, want := range map[string]string{
		got.Figures[0]: "<rect width='7' height='7'/></svg>",
		got.HTML:       `<rect height="7" width="7"></rect></svg>`, // as nbconvert rewrites it
		got.Notebook:   "| 1 | tiny |",
		notebook:       "| 1 | tiny |", // --inplace
	} {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q (error %v)", path, want, err)
		}
	}
	if info, err := os.Stat(notebook); err != nil || info.Mode() != 0o600 {
		t.Errorf("the notebook of mode 0600 is %v (error %v)", info.Mode(), err)
	}
	text, err := os.ReadFile(notebook)
	if err != nil || strings.Contains(string(text), "step 98") || !strings.Contains(string(text), "step 99") {
		t.Errorf("of the progress line other than the last state is saved (error %v)", err)
	}
	if got, err := filepath.Glob(filepath.Join(dir, "out", "minimal", ".*")); err != nil || len(got) > 0 {
		t.Errorf("temporary files are left: %v (error %v)", got, err)
	}
}

// writeNotebook makes a notebook of code cells.
func writeNotebook(t *testing.T, path string, cells ...string) {
	t.Helper()
	type cell struct {
		ID       string   `json:"id"`
		Type     string   `json:"cell_type"`
		Metadata struct{} `json:"metadata"`
		Outputs  []string `json:"outputs"`
		Count    *int     `json:"execution_count"`
		Source   string   `json:"source"`
	}
	var list []cell
	for i, source := range cells {
		list = append(list, cell{ID: "cell-" + string(rune('a'+i)), Type: "code", Outputs: []string{}, Source: source})
	}
	text, err := json.Marshal(map[string]any{
		"cells": list, "nbformat": 4, "nbformat_minor": 5,
		"metadata": map[string]any{"kernelspec": map[string]string{"name": "gonb", "display_name": "Go",
			"language": "go"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, filepath.Dir(path), map[string]string{filepath.Base(path): string(text)})
}

func TestFailingCellsAreReported(t *testing.T) {
	l := installed(t)
	tests := []struct{ name, cell, want string }{
		{"compile error", "func g() int {\n\treturn \"text\"\n}", "cannot use \"text\""},
		{"panic", "%%\npanic(\"boom\")", "panic: boom"},
		{"exit status", "import \"os\"\n%%\nos.Exit(3)", "exit status 3"},
		{"shell", "!echo to be seen >&2; false", "a shell command failed: exit status 1"},
		{"magic", "%nosuchmagic", `"%nosuchmagic" unknown or not implemented yet.`},
		{"time limit", "import \"time\"\n%%\ntime.Sleep(time.Hour)", "--cell-timeout"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			notebook := filepath.Join(dir, "failing.ipynb")
			writeNotebook(t, notebook, "%noautoget", test.cell,
				"import \"fmt\"\n%%\nfmt.Println(\"must not be reached\")")
			before, err := os.ReadFile(notebook)
			if err != nil {
				t.Fatal(err)
			}
			limit := 5 * time.Minute
			if test.name == "time limit" {
				limit = 5 * time.Second
			}
			result, err := runNotebook(t.Context(), l, logged(t), notebook, runOptions{out: dir, inplace: true,
				limit: limit})
			failure, ok := errors.AsType[*cellError](err)
			if !ok {
				t.Fatalf("error %v (%T), want a *cellError", err, err)
			}
			if failure.Index != 2 || failure.Cells != 3 || failure.Position != 2 || failure.Source != test.cell {
				t.Errorf("reported is cell %d of %d, In [%d], %q", failure.Index, failure.Cells, failure.Position,
					failure.Source)
			}
			if !strings.Contains(failure.Problem, test.want) {
				t.Errorf("reported is %q, want %q", failure.Problem, test.want)
			}
			page, err := os.ReadFile(result.HTML)
			if err != nil || len(page) == 0 {
				t.Errorf("the failed run was not saved: %v", err)
			}
			after, err := os.ReadFile(notebook)
			if err != nil || string(after) != string(before) {
				t.Errorf("a failed run was written back into its notebook (error %v)", err)
			}
		})
	}
}

func TestShellFailureMayBeExpected(t *testing.T) {
	l := installed(t)
	dir := t.TempDir()
	notebook := filepath.Join(dir, "expected.ipynb")
	writeNotebook(t, notebook, "%noautoget", "!false")
	text, err := os.ReadFile(notebook)
	if err != nil {
		t.Fatal(err)
	}
	tagged := strings.ReplaceAll(string(text), `"metadata":{},"outputs"`,
		`"metadata":{"tags":["raises-exception"]},"outputs"`)
	writeFiles(t, dir, map[string]string{"expected.ipynb": tagged})
	if _, err := runNotebook(t.Context(), l, logged(t), notebook,
		runOptions{out: dir, limit: 5 * time.Minute}); err != nil {
		t.Errorf("a cell tagged raises-exception ended the run: %v", err)
	}
}

func TestInstalledBackendsCompute(t *testing.T) {
	l := installed(t)
	if err := buildProbe(t.Context(), l, func(string) {}); err != nil {
		t.Fatal(err)
	}
	backends := []string{"go"}
	if os.Getenv(backendVariable) == "xla" {
		backends = append(backends, "xla:"+filepath.Join(l.plugins(), cpuPlugin.file()))
	}
	for _, name := range backends {
		got, err := probe(t.Context(), l, name)
		if err != nil || got.Value != 25 {
			t.Errorf("backend %s: %+v, error %v, want 25", name, got, err)
		}
	}
	if _, err := probe(t.Context(), l, "xla:/nowhere/plugin.so"); err == nil {
		t.Error("a plugin that does not exist computed")
	}
}

func TestDoctorFindsTheInstallation(t *testing.T) {
	l := installed(t)
	r, err := examine(t.Context(), l, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Item == "Gymnasium environments" && (f.Status != "ok" || !strings.Contains(f.Detail, "gymnasium 1.2.3")) {
			t.Errorf("the environments: %+v", f)
		}
	}
	if !r.OK {
		t.Errorf("the doctor is not content: %+v", r.Findings)
	}
}

// Every notebook of the repository runs from an empty page at its default scale.
func TestNotebooks(t *testing.T) {
	l := installed(t)
	if _, err := os.Stat(l.notebooks()); errors.Is(err, fs.ErrNotExist) {
		return // a clone from before the first notebook
	}
	found, err := fs.Glob(os.DirFS(l.notebooks()), "*.ipynb")
	if err != nil || len(found) == 0 {
		t.Fatalf("%s holds no notebooks (error %v)", l.notebooks(), err)
	}
	for _, name := range found {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // while a kernel compiles a cell and starts it, processors are free
			if _, err := runNotebook(t.Context(), l, logged(t), filepath.Join(l.notebooks(), name),
				runOptions{out: t.TempDir(), limit: 30 * time.Minute}); err != nil {
				t.Error(err)
			}
		})
	}
}
