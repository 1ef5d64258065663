package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFindNotebooks(t *testing.T) {
	l := clone(t)
	elsewhere := t.TempDir()
	writeFiles(t, l.root, map[string]string{"notebooks/table.ipynb": "{}"})
	writeFiles(t, elsewhere, map[string]string{"own.ipynb": "{}"})
	for arg, want := range map[string]string{
		"table":                                 filepath.Join(l.notebooks(), "table.ipynb"),
		"table.ipynb":                           filepath.Join(l.notebooks(), "table.ipynb"),
		filepath.Join(elsewhere, "own"):         filepath.Join(elsewhere, "own.ipynb"),
		filepath.Join(elsewhere, "own.ipynb"):   filepath.Join(elsewhere, "own.ipynb"),
		filepath.Join(l.notebooks(), "missing"): "",
		"missing":                               "",
	} {
		got, err := findNotebooks(l, []string{arg})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "missing.ipynb")):
			t.Errorf("%q: %v, error %v, want an error that says where was looked", arg, got, err)
		case want != "" && (err != nil || len(got) != 1 || got[0] != want):
			t.Errorf("%q: %v, error %v, want %s", arg, got, err, want)
		}
	}
	writeFiles(t, elsewhere, map[string]string{"table.ipynb": "{}"})
	if _, err := findNotebooks(l, []string{"table", filepath.Join(elsewhere, "table")}); err == nil ||
		!strings.Contains(err.Error(), "would go to one folder") {
		t.Errorf("two notebooks of one name: error %v", err)
	}
}

func TestFollowerReportsTheFailingCell(t *testing.T) {
	var out bytes.Buffer
	f := follower{ctx: t.Context(), progress: quiet(&out), notebook: "n.ipynb"}
	for _, line := range []string{
		`{"event": "start", "cells": 9}`,
		`{"event": "cell", "index": 2, "source": "\nvar x int\n"}`,
		`{"event": "done", "index": 2, "seconds": 1}`,
		`{"event": "cell", "index": 4, "source": "%%\nf()"}`,
		`{"event": "output", "text": "half way"}`,
		`{"event": "failed", "index": 4, "position": 3, "source": "%%\nf()", "error": "undefined: f"}`,
		`{"event": "saved", "notebook": "/o/n.ipynb", "html": "/o/n.html", "figures": ["cell-02-1.svg"]}`,
		`{"event": "summary", "text": "| a |"}`,
	} {
		f.event(line)
	}
	f.close()
	if f.problem != nil {
		t.Fatal(f.problem)
	}
	if f.failure == nil {
		t.Fatal("no failure is reported")
	}
	want := "n.ipynb: cell 4 of 9 (In [3]) failed\n  Its source:\n    %%\n    f()\n  Its error:\n    undefined: f"
	if got := f.failure.Error(); got != want {
		t.Errorf("the failure reads\n%s\nwant\n%s", got, want)
	}
	if f.result.HTML != "/o/n.html" || len(f.result.Figures) != 1 ||
		f.result.Figures[0] != filepath.Join("/o", "figures", "cell-02-1.svg") {
		t.Errorf("results: %+v", f.result)
	}
	if len(f.result.Summary) != 1 || f.result.Summary[0] != "| a |" {
		t.Errorf("summary: %q", f.result.Summary)
	}
	for _, want := range []string{"✓ n.ipynb: cell 2 of 9", "var x int", "✗ n.ipynb: cell 4 of 9"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the progress lacks %q:\n%s", want, out.String())
		}
	}
	f.event("no JSON")
	if f.problem == nil {
		t.Error("an event that cannot be read is passed over")
	}
}

func TestProgressOnATerminalRewritesItsLine(t *testing.T) {
	var out bytes.Buffer
	p := quiet(&out)
	p.terminal, p.width = true, func() int { return 20 }
	task := p.begin("a title that is longer than the line")
	task.say("detail\x1b[1m\nwith control characters")
	time.Sleep(10 * time.Millisecond)
	task.done("note")
	if text := out.String(); !strings.Contains(text, "\r\x1b[K") || strings.Count(text, "\n") != 1 {
		t.Errorf("written: %q", text)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "✓") && len([]rune(strings.TrimLeft(line, "\r\x1b[K"))) > 20 {
			t.Errorf("a line is wider than the terminal: %q", line)
		}
	}
}

func TestGofmtListFindsUnformattedFiles(t *testing.T) {
	l := clone(t)
	writeFiles(t, l.root, map[string]string{
		"good/a.go":         "package a\n",
		"bad/b.go":          "package  b\n",
		".birl/venv/bad.go": "package  c\n",
	})
	got, err := gofmtList(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || filepath.ToSlash(got[0]) != "bad/b.go" {
		t.Errorf("unformatted: %v, want bad/b.go", got)
	}
}

func TestSuiteNamesExistingPackages(t *testing.T) {
	for _, p := range pureGoPackages {
		dir := strings.TrimSuffix(filepath.Join("..", filepath.FromSlash(p)), "...")
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("package %s does not exist (error %v)", p, err)
		}
	}
}

// A limit below a second would be none.
func TestRunOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]runOptions{
		"": {limit: time.Second, env: []string{"A=b"}}, "--cell-timeout 400ms: want at least 1s": {limit: 400e6},
		"--cell-timeout -1s: want": {limit: -time.Second}, "--env =b: want KEY=VALUE": {env: []string{"A=", "=b"}},
	} {
		if err := o.validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}
