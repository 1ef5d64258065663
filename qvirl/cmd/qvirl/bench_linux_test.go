package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBenchTakesItsProcessesAlong when it is killed.
func TestBenchTakesItsProcessesAlong(t *testing.T) {
	const variable = "QVIRL_TEST_BENCH_PYTHON"
	if python := os.Getenv(variable); python != "" { // the program that is killed
		_, err := benchProcess(t.Context(), "16", peers[0], benchOptions{python: python, limit: time.Minute})
		t.Fatal(err)
	}
	dir := t.TempDir()
	python, started := filepath.Join(dir, "python"), filepath.Join(dir, "started")
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %[1]s.part\nmv %[1]s.part %[1]s\nexec sleep 60\n", started)
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	bench := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	bench.Env = append(os.Environ(), variable+"="+python)
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(started)
	for range 3000 {
		if err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		text, err = os.ReadFile(started)
	}
	_ = bench.Process.Kill()
	_ = bench.Wait() // killed
	if err != nil {
		t.Fatal(err)
	}
	child := "/proc/" + strings.TrimSpace(string(text)) + "/cmdline"
	for range 300 {
		if text, err := os.ReadFile(child); err != nil || !strings.HasPrefix(string(text), "sleep") {
			return // it has ended, or its parent has not yet asked what became of it
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("what the bench measured goes on")
}
