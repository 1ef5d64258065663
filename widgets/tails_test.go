package widgets

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

func TestTails(t *testing.T) {
	m := exampleTails()
	p := parse(t, m)
	// The first row of panels has the labels once, the second again.
	for _, name := range m.Methods {
		if got := p.count(func(e element) bool {
			return e.name == "text" &&
				strings.TrimSpace(e.text) == Label(name)
		}); got != 2 {
			t.Errorf("the label %q stands %d times", Label(name), got)
		}
	}
	p.says(t, "world 0", "world 3", "mean of the worst 10 %", "under the true reward",
		"normalised return")
	// ValueWalk's two rows in all panels but one, without the true value there, and the legend
	if diamonds := p.count(func(e element) bool { return e.style["stroke-width"] == "1.1" }); diamonds != 7+1 {
		t.Errorf("%d diamonds, want 7 and one in the legend", diamonds)
	}
}

func TestTailHasTheMomentsAndTheMassOfItsSamples(t *testing.T) {
	x := normalSamples(testRNG(), 50, 10, 5000).sorted
	tail := newTail(x, 0.1, span{0, 100})
	mass, below := 0.0, 0.0
	for k := 1; k < len(tail.x); k++ {
		part := (tail.x[k] - tail.x[k-1]) * (tail.density[k] + tail.density[k-1]) / 2
		mass += part
		if tail.x[k] <= tail.quantile {
			below += part
		}
	}
	// the kernel widens the tail a little; the mean of the worst tenth of N(50, 10²) is 32.45 ± 0.25
	if !scalar.EqualWithinAbs(mass, 1, 0.01) || !scalar.EqualWithinAbs(below, 0.1, 0.02) ||
		!scalar.EqualWithinAbs(tail.mean, 50, 0.6) || !scalar.EqualWithinAbs(tail.tail, 32.45, 1) {
		t.Errorf("mass %g, of the tail %g, mean %g, of the tail %g", mass, below, tail.mean, tail.tail)
	}
	if got := newTail([]float64{3, 1, 2, 10}, 0.5, span{0, 10}); got.tail != 1.5 || got.quantile != 2 || got.mean != 4 {
		t.Errorf("tail %+v", got)
	}
	same := newTail([]float64{7, 7, 7}, 0.1, span{0, 10})
	if peak := same.peak(); math.IsInf(peak, 0) || !(peak > 1) {
		t.Errorf("samples without spread have the peak %g", peak)
	}
}

func TestTailsVegaLite(t *testing.T) {
	m := exampleTails()
	spec, err := m.VegaLite(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(text) / (len(m.Panels) * len(m.Methods)); size > 8000 {
		t.Errorf("%d bytes for each distribution", size)
	}
	notes := 0
	for _, r := range spec["data"].(map[string]any)["values"].([]any) {
		row := r.(map[string]any)
		if note, ok := row["note"].(string); ok {
			notes++
			if row["p"] == 0.0 && row["m"] == "ValueWalk, mean policy" && (!strings.Contains(note, "mean 1") ||
				!strings.HasSuffix(note, "true 100.0")) {
				t.Errorf("note %q", note)
			}
		}
	}
	if notes != 11 {
		t.Errorf("%d distributions, want 11", notes)
	}
	params := spec["params"].([]any)
	if v := params[2].(map[string]any)["value"]; v != "AVRIL, λ = 0.17, CVaR policy" {
		t.Errorf("the second choice begins with %v", v)
	}
	if _, err := m.VegaLite(0, 3); err == nil {
		t.Error("a method that does not exist was accepted")
	}
}
