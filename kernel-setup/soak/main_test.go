package main

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	states := func(change func(i int, s *state)) *watch {
		w := &watch{name: "fits", done: 40}
		for i := range looks {
			s := state{1e8, 10, 4}
			if i < 5 {
				s.memory = 5e7 // while programs are compiled
			}
			change(i, &s)
			w.states = append(w.states, s)
		}
		return w
	}
	for name, c := range map[string]struct {
		w  *watch
		ok bool
	}{
		"flat":   {states(func(int, *state) {}), true},
		"a wave": {states(func(i int, s *state) { s.memory += 1e6 * float64(i%5) }), true},
		"a leak": {states(func(i int, s *state) { s.memory += 3e5 * float64(i) }), false},
		// 9 MB from quarter to quarter
		"handles":    {states(func(i int, s *state) { s.handles += i / 10 }), false},
		"goroutines": {states(func(i int, s *state) { s.goroutines += i / 10 }), false},
		"too few":    {&watch{name: "fits", done: 3, states: make([]state, 3)}, false},
	} {
		if text, ok := c.w.verdict(0.05); ok != c.ok || !strings.HasPrefix(text, map[bool]string{true: "✓",
			false: "✗"}[ok]) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestLook(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := look(); err == nil {
			t.Error("no error")
		}
		return
	}
	before, err := look()
	if err != nil || before.memory < 1e6 || before.handles < 3 || before.goroutines < 2 {
		t.Fatalf("%+v, error %v", before, err)
	}
	ballast := make([]byte, 64<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	after, err := look()
	if err != nil || after.memory < before.memory+60e6 {
		t.Errorf("64 MiB more: %+v, then %+v, error %v", before, after, err)
	}
	runtime.KeepAlive(ballast)
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(children(), c.Process.Pid) {
		t.Errorf("the children %v lack %d", children(), c.Process.Pid)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if slices.Contains(children(), c.Process.Pid) {
		t.Error("a child that has ended is still there")
	}
}
