package worlds

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/gridworld"
)

func TestAStudyFitsEachMethodOnce(t *testing.T) {
	c := Quick()
	c.World = gridworld.Config{Width: 3, Height: 3, RewardMean: -1, RewardStd: 3, TopFraction: 0.2, Slip: 0.1}
	c.QVIRL.Steps, c.QVIRL.Rounds, c.QVIRL.Backend = 30, 1, "go"
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 400, 0, 400
	c.QVIRLStart.Steps, c.Refine.Samples = 30, 1000
	s, err := NewStudy(c, 7, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ValueWalk, QVIRL, QVIRLMatched, QVIRLRefined, "avril-0.1"} {
		first, err := s.Posterior(context.Background(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		fitted := false
		again, err := s.Posterior(context.Background(), name, func(int, int, string) { fitted = true })
		if err != nil {
			t.Fatal(err)
		}
		// samples are kept in single precision
		if a, b := first.Reward(4).Mean(), again.Reward(4).Mean(); fitted || a == 0 || a-b > 1e-5 || b-a > 1e-5 {
			t.Errorf("%s: mean %g at first, %g when read; fitted again: %v", name, a, b, fitted)
		}
	}
	// what other code of the method fitted is another file
	present, err := s.path(QVIRL, 1)
	if err != nil {
		t.Fatal(err)
	}
	if next, err := s.path(QVIRL, 2); err != nil || next == present {
		t.Errorf("two versions of a method share %s, error %v", next, err)
	}
	if err := os.WriteFile(present, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Posterior(t.Context(), QVIRL, nil); err == nil || !strings.Contains(err.Error(), present) ||
		!strings.Contains(err.Error(), "remove") {
		t.Errorf("error %v for a damaged file, want one that names it and says what to do", err)
	}
}
