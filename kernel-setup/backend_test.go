package main

import (
	"os"
	"slices"
	"testing"
)

func TestBackendEnv(t *testing.T) {
	l := clone(t)
	if err := os.MkdirAll(l.private(), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		named, own string
		noXLA      bool
		want       []string
	}{
		{"", "", false, nil},
		{"", "", true, []string{"GOMLX_BACKEND=go"}},
		{"", "xla", true, nil}, // the caller's environment reaches the notebooks as it is
		{"xla", "", true, []string{"GOMLX_BACKEND=xla"}},
	}
	for _, test := range tests {
		t.Setenv(backendVariable, test.own)
		s := &state{Choices: choices{NoXLA: test.noXLA}, Steps: map[string]stamp{}}
		if err := s.save(l.state()); err != nil {
			t.Fatal(err)
		}
		got, err := backendEnv(l, test.named)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("named %q, environment %q, without XLA %v: %q, error %v, want %q", test.named, test.own,
				test.noXLA, got, err, test.want)
		}
	}
}
