package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Without a verdict nothing is judged, and the answer says so.
func TestFitWithoutVerdict(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	fit := []string{"fit", "--problem", "problem.npz", "--no-verdict", "--out", "a.npz"}
	status, out, errs := run(t, fit...)
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "the end", out, "not judged: qvirl-matched posterior")
	a := readAnswer(t, "a.npz")
	if a.verdict != "not judged" || a.converged || a.returned != "qvirl-matched" ||
		strings.Contains(errs, "diagnosis") {
		t.Errorf("verdict %q, converged %v, of %q; %s", a.verdict, a.converged, a.returned, errs)
	}
}

func TestFitKeepsWhatIsNotTrusted(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	args := []string{"fit", "--problem", "problem.npz", "--method", "avril", "--out", "a.npz", "--no-escalate"}
	status, out, errs := run(t, args...)
	a := readAnswer(t, "a.npz")
	if status != 0 || a.returned != "avril" || a.verdict != "refine" || a.converged || a.arrays["rhat"] != nil {
		t.Errorf("status %d, returned %q, verdict %q, converged %v", status, a.returned, a.verdict, a.converged)
	}
	expect(t, "output", out, "WARNING: NOT TRUSTED: "+a.reason)
	expect(t, "verdict", errs, "verdict: refine", "not to be relied on")
	os.Remove("a.npz")
	status, _, errs = run(t, append(args, "--strict")...)
	if status != 1 || !strings.Contains(errs, "--strict: not converged: ") ||
		!strings.Contains(errs, "the answer is in a.npz") {
		t.Errorf("strict: status %d, %q", status, errs)
	}
	if a := readAnswer(t, "a.npz"); a.converged || a.returned != "avril" {
		t.Errorf("strict: the answer holds %+v", a)
	}
	os.WriteFile("short.json", []byte(`{"Samples": 16, "MaxIterations": 8}`), 0o644)
	status, out, errs = run(t, "fit", "--problem", "problem.npz", "--method", "reference", "--out", "a.npz", "--config",
		"short.json", "--strict")
	if status != 1 || !strings.Contains(out, "WARNING: NOT CONVERGED") || !strings.Contains(errs, "--strict") {
		t.Errorf("short chains: status %d, %q, %q", status, out, errs)
	}
	if a := readAnswer(t, "a.npz"); a.converged || a.verdict != "not converged" || a.returned != "reference" {
		t.Errorf("short chains: the answer holds %+v", a)
	}
	status, out, errs = run(t, "fit", "--problem", "problem.npz", "--method", "avril", "--out", "a.npz", "--strict")
	if a := readAnswer(t, "a.npz"); status != 0 || !a.converged || a.returned != "refined" {
		t.Errorf("strict and refined: status %d, %q, %q, returned %q", status, out, errs, a.returned)
	}
}

// TestFitGoesOnWhereAMethodFails gives the paper's method a prior without a density, which it needs.
func TestFitGoesOnWhereAMethodFails(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	p, err := problemfile.Read("problem.npz")
	if err != nil {
		t.Fatal(err)
	}
	p.Prior.Cov, p.Prior.Std = mat.NewSymDense(3, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}), nil
	if err := problemfile.Write("problem.npz", p); err != nil {
		t.Fatal(err)
	}
	args := []string{"fit", "--problem", "problem.npz", "--method", "qvirl", "--out", "a.npz"}
	if status, _, errs := run(t, append(args, "--no-escalate")...); status != 1 || !strings.Contains(errs, "singular") {
		t.Errorf("without going on: status %d, %q", status, errs)
	}
	status, _, errs := run(t, args...)
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "reason", errs, "singular to working precision", "reference takes its place: ")
	a := readAnswer(t, "a.npz")
	if !a.converged || a.verdict != "converged" || a.returned != "reference" {
		t.Errorf("verdict %q, returned %q, converged %v", a.verdict, a.returned, a.converged)
	}
	for i, x := range a.arrays["reward_samples"].Data { // all three rewards are one number
		if first := a.arrays["reward_samples"].Data[i-i%3]; !scalar.EqualWithinAbs(x, first, 1e-9) || x == 0 {
			t.Fatalf("sample %d: %g beside %g", i/3, x, first)
		}
	}
}

func TestRefinedFit(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	os.WriteFile("c.json", []byte(quickFlags["qvirl-matched"]), 0o644)
	if status, _, errs := run(t, "fit", "--problem", "problem.npz", "--method", "reference", "--out",
		"exact.npz"); status != 0 {
		t.Fatal(errs)
	}
	exact := readAnswer(t, "exact.npz").arrays["reward_mean"].Data
	for _, k := range []string{"0", "10"} {
		status, out, errs := run(t, "fit", "--problem", "problem.npz", "--method", "qvirl-matched", "--refine", k,
			"--no-escalate", "--out", "a.npz", "--config", "c.json")
		if status != 0 {
			t.Fatal(errs)
		}
		expect(t, "refined", out, "in a.npz")
		expect(t, "refined", errs, "verdict: ", "importance weights: none")
		a := readAnswer(t, "a.npz")
		if rows := a.arrays["reward_samples"].Shape[0]; rows != valuewalk.DefaultRefine().Samples {
			t.Errorf("%d samples", rows)
		}
		for i, mean := range a.arrays["reward_mean"].Data {
			// 4 standard errors of either, for a standard deviation of 2 and 1000 effective samples
			if k == "10" && !scalar.EqualWithinAbs(mean, exact[i], 4*2*math.Sqrt(2./1000)) {
				t.Errorf("mean of reward %d: refined %g, reference %g", i, mean, exact[i])
			}
		}
	}
}

// TestCheckedFit simulates problems without demonstrations: whatever rewards are drawn, their posterior is the prior.
func TestCheckedFit(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	p, err := problemfile.Read("problem.npz")
	if err != nil {
		t.Fatal(err)
	}
	p.Demos = nil
	if err := problemfile.Write("problem.npz", p); err != nil {
		t.Fatal(err)
	}
	os.WriteFile("c.json", []byte(`{"Samples": 400, "Warmup": 80, "MinESS": 100}`), 0o644)
	status, out, errs := run(t, "fit", "--problem", "problem.npz", "--method", "reference", "--out", "a.npz",
		"--config", "c.json", "--check", "20", "--strict")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "check", out, "in a.npz")
	expect(t, "check", errs, "check: calibrated", "20 simulated problems")
	// The walk without its determinant samples another distribution.
	os.WriteFile("c.json", []byte(`{"Samples": 400, "Warmup": 200, "MinESS": 50, "MaxRHat": 2, "MaxIterations": 2000}`),
		0o644)
	args := []string{"fit", "--problem", "problem.npz", "--method", "valuewalk", "--nodet", "--out", "a.npz",
		"--config", "c.json", "--check", "60"}
	status, _, errs = run(t, args...)
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "check", errs, "check: NOT calibrated")
	if status, _, errs = run(t, append(args, "--strict")...); status != 1 ||
		!strings.Contains(errs, "--strict: NOT calibrated") {
		t.Errorf("strict: status %d, %q", status, errs)
	}
}
