package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/go-birl/birl/qvirl/method"
)

// TestMethods lists the methods, and shows a config that fit takes.
func TestMethods(t *testing.T) {
	inScratch(t)
	status, out, errs := run(t, "methods")
	if status != 0 {
		t.Fatal(errs)
	}
	for _, m := range method.Fitters() {
		expect(t, "methods", out, m.Name, m.Sentence)
	}
	status, out, errs = run(t, "methods", method.AVRIL)
	if status != 0 {
		t.Fatal(errs)
	}
	var config struct{ Lambda float64 }
	if err := json.Unmarshal([]byte(out), &config); err != nil || !(config.Lambda > 0) {
		t.Errorf("config %s (error %v)", out, err)
	}
	writeProblem(t, false)
	if err := os.WriteFile("c.json", []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"fit", "--problem", "problem.npz", "--method", method.AVRIL, "--config", "c.json", "--no-escalate",
		"--out", "a.npz"}
	if status, _, errs := run(t, args...); status != 0 {
		t.Errorf("fit does not take the config that methods shows: %s", errs)
	}
	if status, _, errs := run(t, "methods", "magic"); status != 1 {
		t.Errorf("status %d, %s", status, errs)
	} else {
		expect(t, "methods", errs, "magic", "qvirl-matched, qvirl, ")
	}
}
