package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command/commandtest"
	"github.com/go-birl/birl/envs/npz"
)

func TestBadFits(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	os.WriteFile("text.npz", []byte("hello"), 0o644)
	os.WriteFile("bad.json", []byte(`{"Sample": 2}`), 0o644)
	os.WriteFile("few.json", []byte(`{"Samples": 2}`), 0o644)
	for want, change := range map[string][]string{
		`no "magic"`:                     {"--method", "magic"},
		"absent.npz":                     {"--problem", "absent.npz"},
		"text.npz":                       {"--problem", "text.npz"},
		"cannot write nowhere/a.npz":     {"--out", "nowhere/a.npz"},
		"problem.npz that is read":       {"--out", "./problem.npz"},
		"not a regular file":             {"--out", "."},
		"text.npz: the file is there":    {"--out", "text.npz"},
		"--lambda is a flag of the meth": {"--lambda", "1"},
		"--nodet is a flag":              {"--method", "avril", "--nodet"},
		"--lambda = -1":                  {"--method", "avril", "--lambda", "-1"},
		"--lambda = +Inf":                {"--method", "avril", "--lambda", "Inf"},
		`"Sample"`:                       {"--config", "bad.json"},
		"few.json: config: valuewalk: S": {"--config", "few.json"},
		"--refine is a flag":             {"--refine", "3"},
		"--refine -2: want":              {"--method", "qvirl", "--refine", "-2"},
		"--samples -2":                   {"--samples", "-2"},
		"abacus":                         {"--method", "qvirl", "--backend", "abacus"},
		"--check 19":                     {"--check", "19"},
		"--check -1":                     {"--check", "-1"},
		"is empty":                       {"--out", ""},
		"given twice, first as":          {"--seed", "1", "--seed", "2"},
		"--strict asks":                  {"--method", "qvirl", "--strict", "--no-verdict"},
		"--memory":                       {"--samples", "10000000000"},
		"--samples 1: want at least 2":   {"--method", "qvirl-matched", "--samples", "1", "--out", "a.nc"},
	} {
		args := append([]string{"fit", "--problem", "problem.npz"}, change...)
		for _, flag := range [][]string{{"--method", "valuewalk"}, {"--out", "a.npz"}} {
			if !slices.Contains(change, flag[0]) {
				args = append(args, flag...)
			}
		}
		status, _, errs := run(t, args...)
		if status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %q; want 1 and %q", change, status, errs, want)
		}
		if _, err := os.Stat("a.npz"); err == nil {
			t.Fatalf("%v: an answer was written", change)
		}
	}
	if status, _, errs := run(t, "fit", "--problem", "problem.npz"); status != 1 || !strings.Contains(errs, `"out"`) {
		t.Errorf("missing flags: status %d, %q", status, errs)
	}
}

func TestInterruptedFitWritesNothing(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, c := range []struct {
		method string
		sooner bool // whether there is a way to have an answer sooner
	}{{"valuewalk", false}, {"qvirl-matched", true}} {
		status, _, stderr := commandtest.Run(ctx, newRoot(nil), "fit", "--problem", "problem.npz", "--method", c.method,
			"--out", "a.npz")
		if status != 130 || !strings.Contains(stderr, "nothing was written") ||
			strings.Contains(stderr, "--no-verdict") != c.sooner {
			t.Errorf("%s: status %d, %q", c.method, status, stderr)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (error %v), want the problem alone", entries, err)
	}
}

// TestFitIsRefusedBeforeTheProblemIsRead: by what the headers of its arrays declare.
func TestFitIsRefusedBeforeTheProblemIsRead(t *testing.T) {
	inScratch(t)
	const states = 120
	if err := npz.Write("wide.npz", map[string]npz.Array{
		"transitions": npz.Floats(make([]float64, states*states), states, 1, states),
		"prior_mean":  npz.Floats(make([]float64, states), states), "prior_std": npz.Scalar(1),
		"demos": npz.Ints(nil, 0, 2), "discount": npz.Scalar(0.9), "beta": npz.Scalar(1),
	}); err != nil {
		t.Fatal(err)
	}
	status, _, errs := run(t, "fit", "--problem", "wide.npz", "--out", "x.npz", "--memory", "500KB")
	if status != 1 || !strings.Contains(errs, "reading wide.npz is estimated to take 579 KB") {
		t.Errorf("status %d, %q", status, errs)
	}
}
