package gridworld

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	w, err := Parse(`
		0S  -30  100T
		1.5   0  2TS
	`, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if w.Width != 3 || w.Height != 2 {
		t.Errorf("the size is %d×%d, want 3×2", w.Width, w.Height)
	}
	if diff := cmp.Diff([]float64{0, -30, 100, 1.5, 0, 2}, w.Reward); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, false, true, false, false, true}, w.Terminal); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0.5, 0, 0, 0, 0, 0.5}, w.MDP.Initial()); diff != "" {
		t.Error(diff)
	}
	if w, err = Parse("1 2\n3 4", 0); err != nil || w.MDP.Initial()[3] != 0.25 {
		t.Errorf("without a mark the start is not uniform: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for drawing, want := range map[string]string{
		"  \n ":     "empty",
		"1 2\n3":    "line 2: 1 cells, but the lines above have 2",
		"1 2\n3 xT": `line 2, cell 2: "xT"`,
		"1 T":       `line 1, cell 2: "T"`,
		"1 NaN":     "reward[1] = NaN",
	} {
		if _, err := Parse(drawing, 0.1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want one with %q", drawing, err, want)
		}
	}
}
