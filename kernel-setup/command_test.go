package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestFailedCommandRepeatsItsLastLines(t *testing.T) {
	var seen []string
	c := child(t, "fail")
	c.args = []string{"with an argument"}
	c.output = func(line string) { seen = append(seen, line) }
	err := c.run(t.Context())
	failed, ok := errors.AsType[*commandError](err)
	if !ok {
		t.Fatalf("error %v (%T), want a *commandError", err, err)
	}
	if !strings.Contains(failed.Command, `"with an argument"`) {
		t.Errorf("the command is shown as %q", failed.Command)
	}
	if len(failed.Tail) != tailLines {
		t.Errorf("%d lines are repeated, want %d", len(failed.Tail), tailLines)
	}
	if got := failed.Tail[len(failed.Tail)-1]; got != "no newline" && got != "line 40" {
		t.Errorf("the last line repeated is %q", got)
	}
	text := err.Error()
	for _, want := range []string{"exit status 3", "line 40", "progress 99 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the error lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "line 12\n") {
		t.Errorf("the error repeats more than the last lines:\n%s", text)
	}
	if len(seen) != 43 {
		t.Errorf("%d lines were passed on, want 43: 40 lines and three pieces of standard error", len(seen))
	}
}

func TestSeparateStandardOutputIsNoPartOfTheTail(t *testing.T) {
	var out []string
	c := child(t, "fail")
	c.stdout = func(line string) { out = append(out, line) }
	err := c.run(t.Context())
	if len(out) != 40 || out[39] != "line 40" {
		t.Errorf("standard output came as %d lines", len(out))
	}
	if err == nil || strings.Contains(err.Error(), "line 40") || !strings.Contains(err.Error(), "no newline") {
		t.Errorf("error %v, want standard error's lines only", err)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	err := command{name: "no-such-program-anywhere"}.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Errorf("error %v, want the program's name", err)
	}
}

func TestEndedContextIsTheError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := child(t, "sleep")
	go cancel()
	if err := c.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
