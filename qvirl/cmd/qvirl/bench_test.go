package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/cost"
)

// What a process of bench says of one problem, and what is refused before any is measured.
func TestBenchMeasuresOneProblem(t *testing.T) {
	for _, cell := range []string{"16 qvirl", "16 valuewalk"} {
		status, out, errs := run(t, "bench", "--cell", cell)
		if status != 0 {
			t.Fatal(errs)
		}
		var c cost.Cost
		if err := json.Unmarshal([]byte(out), &c); err != nil {
			t.Fatal(err)
		}
		if sampled := c.ESS > 0; sampled != (cell == "16 valuewalk") || c.Evaluations < 10 || !c.Converged {
			t.Errorf("%s: %+v", cell, c)
		}
	}
	for want, args := range map[string][]string{
		"square number": {"--sizes", "60"}, `no "best" fits`: {"--methods", "qvirl,best"},
		"bench also takes fit, qvirl-low-rank, and the peers numpyro, blackjax": {"--methods", "best"},
		"--limit -1s: want a positive time":                                     {"--limit", "-1s"},
	} {
		status, _, errs := run(t, append([]string{"bench"}, args...)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: error %q, want one with %q", args, errs, want)
		}
	}
}

// TestBenchOfNothing: without a row there is no report.
func TestBenchOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "costs")
	for want, args := range map[string][]string{
		"nothing was measured":         {"--sizes", "16", "--methods", "blackjax"},
		dir + ": there are no rows to": {"--sizes", ""},
	} {
		status, _, errs := run(t, append([]string{"bench", "--out", dir}, args...)...)
		if _, err := os.Stat(dir); status != 1 || !strings.Contains(errs, want) || err == nil {
			t.Errorf("%v: %d, %q, want %q; the folder was made: %v", args, status, errs, want, err == nil)
		}
	}
}

// TestBenchTriesSmallSizesFirst: a method that takes too long on a size is not tried on larger ones alone.
func TestBenchTriesSmallSizesFirst(t *testing.T) {
	_, _, errs := run(t, "bench", "--sizes", "576,64", "--methods", "qvirl", "--limit", "1ns")
	if !strings.Contains(errs, "qvirl on 64 states: more than 1ns") {
		t.Errorf("errors %q, want 64 states to be tried first", errs)
	}
}

// TestBenchLooksAtItsFolderFirst: before anything is measured, which may take hours.
func TestBenchLooksAtItsFolderFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	status, _, errs := run(t, "bench", "--sizes", "16", "--methods", "blackjax", "--out", file)
	if status != 1 || !strings.Contains(errs, "costs is a file; want a folder") {
		t.Errorf("status %d, %q", status, errs)
	}
}

// TestBenchWithoutSizesShowsWhatIsStored, and draws it.
func TestBenchWithoutSizesShowsWhatIsStored(t *testing.T) {
	dir := t.TempDir()
	stored := []cost.Cost{{States: 2116, Method: "qvirl", Seconds: 3, Processor: 4, PeakMiB: 5}}
	if err := cost.Write(dir, stored, nil); err != nil {
		t.Fatal(err)
	}
	status, out, errs := run(t, "bench", "--sizes", "", "--out", dir)
	if status != 0 || !strings.Contains(out, "2116") {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
}

// A peer that is not there is left out with a sentence.
func TestBenchWithoutPeers(t *testing.T) {
	for want, args := range map[string][]string{
		"blackjax is left out: --python does not say": {},
		"blackjax is left out: nowhere/python":        {"--python", "nowhere/python"},
	} {
		status, out, errs := run(t, append([]string{"bench", "--sizes", "16", "--methods", "blackjax"}, args...)...)
		if status != 1 || !strings.Contains(errs, want) || strings.Contains(out, "blackjax") {
			t.Errorf("%v: %d, %q, errors %q, want %q", args, status, out, errs, want)
		}
	}
}

// Steps and predictions are measured; a peer that cannot be had is an error.
func TestBenchStepsMeasures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "costs")
	status, out, errs := run(t, "bench", "steps", "--backend", "go", "--turns", "1", "--steps", "1", "--out", dir)
	if status != 0 {
		t.Fatal(errs)
	}
	table, err := cost.ReadSteps(dir)
	if err != nil || len(table) != 6 || !slices.Contains(table[1], "step, one run") {
		t.Errorf("stored %q, error %v", table, err)
	}
	for _, want := range []string{"step, one run", "step, 10 runs", "prediction, 10000",
		"% of the rate of product, 10000"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	status, _, errs = run(t, "bench", "steps", "--backend", "go", "--turns", "1", "--steps", "1", "--python",
		"nowhere/python")
	if status == 0 || !strings.Contains(errs, "nowhere/python") {
		t.Errorf("error %q", errs)
	}
}
