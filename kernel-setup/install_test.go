package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func quiet(b *bytes.Buffer) *tasks {
	return &tasks{w: b, width: func() int { return 100 }, patience: time.Hour, beat: time.Hour}
}

func TestFailedStepStaysBegun(t *testing.T) {
	l := clone(t)
	var out bytes.Buffer
	in := installer{layout: l, progress: quiet(&out)}
	s := &state{Steps: map[string]stamp{}}
	cause := errors.New("pip said no")
	err := in.perform(t.Context(), s, step{name: "x", title: "The X", digest: "d", run: func(context.Context,
		func(string)) ([]output, error) {
		saved, err := loadState(l.state())
		if err != nil {
			return nil, err
		}
		if _, begun := saved.Steps["x"]; !begun {
			t.Error("while the step runs, the stored state does not know of it")
		}
		return nil, hinted{cause, "use another index\nor none"}
	}})
	failure, ok := errors.AsType[*stepError](err)
	if !ok || !errors.Is(err, cause) {
		t.Fatalf("error %v (%T), want a *stepError with the cause", err, err)
	}
	for _, want := range []string{"The X", "pip said no", "What to do: use another index\n    or none"} {
		if !strings.Contains(failure.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, failure)
		}
	}
	if !strings.Contains(out.String(), "✗ The X") {
		t.Errorf("the progress does not show the failure: %q", out.String())
	}
	saved, err := loadState(l.state())
	if err != nil {
		t.Fatal(err)
	}
	if got := saved.check(l.private(), "x", "d"); got != "was interrupted" {
		t.Errorf("after the failure the step counts as %q", got)
	}
}

func TestFinishedStepIsStamped(t *testing.T) {
	l := clone(t)
	var out bytes.Buffer
	in := installer{layout: l, progress: quiet(&out)}
	s := &state{Steps: map[string]stamp{}}
	err := in.perform(t.Context(), s, step{name: "x", title: "The X", digest: "d", run: func(context.Context,
		func(string)) ([]output, error) {
		writeFiles(t, l.private(), map[string]string{"made": "abc"})
		return outputsOf(l.private(), true, "made")
	}})
	if err != nil {
		t.Fatal(err)
	}
	saved, err := loadState(l.state())
	if err != nil {
		t.Fatal(err)
	}
	if got := saved.check(l.private(), "x", "d"); got != "" {
		t.Errorf("after success the step counts as %q", got)
	}
	if !strings.Contains(out.String(), "✓ The X") {
		t.Errorf("the progress does not show the success: %q", out.String())
	}
}

func TestInterruptedStepReportsTheInterrupt(t *testing.T) {
	l := clone(t)
	var out bytes.Buffer
	in := installer{layout: l, progress: quiet(&out)}
	ctx, cancel := context.WithCancel(t.Context())
	err := in.perform(ctx, &state{Steps: map[string]stamp{}}, step{name: "x", title: "The X", digest: "d",
		run: func(context.Context, func(string)) ([]output, error) {
			cancel()
			return nil, errors.New("killed")
		}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the interrupt", err)
	}
}

func TestInterruptedPackagesSpoilTheEnvironment(t *testing.T) {
	whole := stamp{Digest: "d"}
	for _, name := range []string{cudaStepName, envsStepName} {
		s := &state{Steps: map[string]stamp{pythonStepName: whole, name: {}, "tools": whole}}
		discardSpoiltPython(s)
		if _, ok := s.Steps[pythonStepName]; ok || len(s.Steps) != 1 {
			t.Errorf("after interrupted packages of %s %v is kept", name, s.Steps)
		}
	}
	s := &state{Steps: map[string]stamp{pythonStepName: whole, cudaStepName: whole, envsStepName: whole}}
	discardSpoiltPython(s)
	if len(s.Steps) != 3 {
		t.Errorf("of whole steps only %v is kept", s.Steps)
	}
}

func TestSecondInstallationWaits(t *testing.T) {
	l := clone(t)
	if err := os.MkdirAll(l.private(), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	first := installer{layout: l, progress: quiet(&bytes.Buffer{})}
	unlock, err := first.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	second := installer{layout: l, progress: quiet(&out)}
	if _, err := second.lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the lock was had twice (error %v)", err)
	}
	if !strings.Contains(out.String(), "waiting for another kernel-setup (process ") {
		t.Errorf("the one who waits is told %q", out.String())
	}
	unlock()
	again, err := second.lock(t.Context())
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	again()
}

// TestChoicesWaitForTheLock: what another installation is at is not changed under its feet.
func TestChoicesWaitForTheLock(t *testing.T) {
	l := clone(t)
	theirs := &state{Choices: choices{Python: "/their/python"}, Steps: map[string]stamp{}}
	if err := os.MkdirAll(l.private(), 0o755); err != nil {
		t.Fatal(err)
	}
	first := installer{layout: l, progress: quiet(&bytes.Buffer{})}
	unlock, err := first.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.save(l.state()); err != nil {
		t.Fatal(err)
	}
	noXLA := func(c *choices) { c.NoXLA = true }
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	second := installer{layout: l, progress: quiet(&bytes.Buffer{}), choose: noXLA, only: []string{}}
	if _, err := second.ensure(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v while another installs, want that of the wait", err)
	}
	if s, err := loadState(l.state()); err != nil || s.Choices != theirs.Choices {
		t.Errorf("while another installs, its choices %+v became %+v (error %v)", theirs.Choices, s.Choices, err)
	}
	unlock()
	if _, err := second.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := loadState(l.state()); err != nil || s.Choices != (choices{Python: "/their/python", NoXLA: true}) {
		t.Errorf("afterwards the choices are %+v (error %v)", s.Choices, err)
	}
}

func TestFurtherPartsAreChosenByName(t *testing.T) {
	for _, c := range []struct {
		parts []string
		envs  bool
		bad   bool
	}{{nil, false, false}, {[]string{"envs"}, true, false}, {[]string{"envs", "moon"}, false, true},
		{[]string{"cuda"}, false, true}} {
		if envs, err := parseWith(c.parts); envs != c.envs || (err != nil) != c.bad {
			t.Errorf("--with %v: environments %v, error %v", c.parts, envs, err)
		}
	}
}

// The environments are a step only where they were asked for, and are lost with the virtual environment they were put
// in.
func TestEnvironmentsFollowTheVirtualEnvironment(t *testing.T) {
	in := installer{layout: clone(t), progress: quiet(&bytes.Buffer{})}
	digestOf := func(s *state) string {
		steps, _, err := in.steps(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range steps {
			if st.name == envsStepName {
				return st.digest
			}
		}
		return ""
	}
	s := &state{Choices: choices{NoXLA: true}, Steps: map[string]stamp{}}
	if digestOf(s) != "" {
		t.Error("the environments are installed without having been asked for")
	}
	withEnvs(&s.Choices)
	before := digestOf(s)
	s.Steps[pythonStepName] = stamp{Digest: "d", Ended: time.Unix(1, 0)}
	if after := digestOf(s); before == "" || after == before {
		t.Error("a new virtual environment does not make the environments incomplete")
	}
}

func TestOnlyWhatIsNeeded(t *testing.T) {
	in := installer{layout: clone(t), progress: quiet(&bytes.Buffer{}), only: collectSteps}
	s := &state{Choices: choices{Envs: true}, Steps: map[string]stamp{}}
	todo, _, err := in.missing(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, st := range todo {
		names = append(names, st.name)
	}
	if !slices.Equal(names, collectSteps) {
		t.Errorf("the steps are %v, want %v", names, collectSteps)
	}
}

// A clone whose .birl is a link to another's changes nothing there.
func TestLinkedInstallationIsRefused(t *testing.T) {
	one, two := clone(t), clone(t)
	writeFiles(t, one.private(), map[string]string{"venv/bin/python": ""})
	first := &state{Steps: map[string]stamp{}}
	if err := errors.Join(first.claim(one), first.save(one.state())); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(two.private()), os.Symlink(one.private(), two.private())); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := installer{layout: two, progress: quiet(&out), choose: withEnvs}
	if _, err := in.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), one.root) {
		t.Errorf("error %v, want a refusal that names %s", err, one.root)
	}
	saved, err := loadState(one.state())
	if err != nil || saved.Root != one.root || saved.Choices.Envs {
		t.Errorf("the other clone's state is %+v (error %v)", saved, err)
	}
	if _, err := os.Stat(one.private("venv", "bin", "python")); err != nil {
		t.Error(err)
	}
	if f := privateFinding(two, saved); f.Status != "broken" || !f.Needed || !strings.Contains(f.Detail, one.root) ||
		!strings.Contains(f.Mend, "rm '"+two.private()+"'") {
		t.Errorf("the doctor finds %+v", f)
	}
	if f := privateFinding(one, saved); f.Status != "ok" {
		t.Errorf("of the clone that it is of, the doctor finds %+v", f)
	}
	// of a clone that was moved, the installation is renewed
	if err := errors.Join(os.Remove(two.private()), os.Rename(one.private(), two.private())); err != nil {
		t.Fatal(err)
	}
	if err := saved.claim(two); err != nil || saved.Root != two.root {
		t.Errorf("after a move the state is that of %s (error %v)", saved.Root, err)
	}
}
