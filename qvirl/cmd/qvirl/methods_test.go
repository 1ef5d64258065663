package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
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

// TestMethodsOfTrain are listed, and each shows a config that train takes and that changes nothing.
func TestMethodsOfTrain(t *testing.T) {
	_, list, _ := run(t, "methods", "--train")
	for _, name := range catalogue.Names() {
		expect(t, "methods --train", list, name)
		status, out, errs := run(t, "methods", "--train", name)
		if status != 0 {
			t.Fatal(errs)
		}
		m, err := catalogue.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		given, err := m.New(neural.Default(), []byte(out))
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if usual, err := m.New(neural.Default()); err != nil || !reflect.DeepEqual(given.Config(), usual.Config()) {
			t.Errorf("%s: with the config shown %+v, without %+v, error %v", name, given.Config(), usual, err)
		}
	}
	_, whole, _ := run(t, "methods", "--train", "bc")
	if _, short, errs := run(t, "methods", "bc"); short != whole || !strings.Contains(short, "LearningRate") {
		t.Errorf("without --train bc shows %q, %s", short, errs)
	}
	if status, _, errs := run(t, "methods", "--train", "magic"); status != 1 ||
		!strings.Contains(errs, "there are qvirl, ") {
		t.Errorf("status %d, %s", status, errs)
	}
}
