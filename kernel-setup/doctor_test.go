package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestReportShowsHowToMend(t *testing.T) {
	var out bytes.Buffer
	report{OK: false, Findings: []finding{
		{Item: "gonb", Status: "missing", Detail: "/x/gonb", Mend: mendInstall, Needed: true},
		{Item: "a longer item", Status: "broken", Detail: "first line\nsecond line"},
		{Item: "CUDA", Status: "none", Detail: "no GPU"},
		{Item: "Go", Status: "ok", Detail: "go1.26"},
	}}.print(&out)
	want := `✗ gonb           /x/gonb
                 → go run ./kernel-setup install
✗ a longer item  first line
                 second line
– CUDA           no GPU
✓ Go             go1.26

The notebooks cannot run yet: mend what is marked ✗.
`
	if out.String() != want {
		t.Errorf("the report reads\n%s\nwant\n%s", out.String(), want)
	}
}

func TestDoctorSeesDamagedPlugin(t *testing.T) {
	l := clone(t)
	s := &state{Steps: map[string]stamp{}}
	p := plugin{name: "cpu", project: "x", version: "1", sum: sum([]byte("whole"))}
	expect := func(obstacle, status, mend string) {
		t.Helper()
		f := pluginFinding(t.Context(), l, p, obstacle, s)
		if f.Status != status || !strings.Contains(f.Mend, mend) || (mend == "") != (f.Mend == "") {
			t.Errorf("finding %+v, want status %q and mend %q", f, status, mend)
		}
	}
	expect("", "missing", mendInstall)
	expect("no wheel", "none", "")
	writeFiles(t, l.plugins(), map[string]string{p.file(): "who"})
	expect("", "broken", "rm -f '"+filepath.Join(l.plugins(), p.file())+"'")
	writeFiles(t, l.plugins(), map[string]string{p.file(): "whole"})
	expect("", "ok", "")
}

func TestDoctorOnABareClone(t *testing.T) {
	l := clone(t)
	for _, f := range []finding{toolFinding(l, "gonb"), kernelspecFinding(l), pythonFindings(t.Context(), l,
		&state{Steps: map[string]stamp{}})[0]} {
		if f.Status == "ok" || f.Mend == "" || !f.Needed {
			t.Errorf("on a bare clone: %+v", f)
		}
	}
}

func TestDoctorSeesTheEnvironments(t *testing.T) {
	l := clone(t)
	s := &state{Steps: map[string]stamp{}}
	if f := envsFinding(t.Context(), l, s); f.Status != "none" || !strings.Contains(f.Mend, "--with envs") {
		t.Errorf("where they were not asked for: %+v", f)
	}
	withEnvs(&s.Choices)
	if f := envsFinding(t.Context(), l, s); f.Status != "missing" || !strings.Contains(f.Mend, "--with envs") {
		t.Errorf("where they are missing: %+v", f)
	}
	s.Steps[envsStepName] = stamp{Digest: "d"}
	if f := envsFinding(t.Context(), l, s); f.Status != "broken" || f.Detail == "" {
		t.Errorf("where Python does not start: %+v", f)
	}
}
