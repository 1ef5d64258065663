package worlds

import "testing"

// TestDrawnAs: rows are drawn with the streams that they were first drawn with.
func TestDrawnAs(t *testing.T) {
	for _, c := range []struct{ experiment, name, want string }{
		{"", "qvirl-matched", "qvirl-best"}, {"", "qvirl-matched-k08", "qvirl-best-k08"}, {"", "qvirl", "qvirl"},
		{"refinement", "qvirl", "paper"}, {"refinement", "qvirl-k08", "paper-k08"},
		{"refinement", "qvirl-start-k08", "start-k08"}, {"refinement", "qvirl-svi", "qvirl-svi"},
		{"refinement", "qvirl-matched", "qvirl-matched"}, {"rationality", "rationality", "betas"},
	} {
		if got := DrawnAs(c.experiment, c.name); got != c.want {
			t.Errorf("%s of %q is drawn as %s, want %s", c.name, c.experiment, got, c.want)
		}
	}
	if a, b := Stream(7, "qvirl-matched").Uint64(), Stream(7, "qvirl-best").Uint64(); a != b {
		t.Errorf("the first number of a stream is %d, want %d", a, b)
	}
}
