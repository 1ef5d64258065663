package lambdasize

import (
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

func TestExperiment(t *testing.T) {
	c := Quick()
	c.Posteriors.Seeds, c.Posteriors.Chunk = experiment.Seeds(1000, 3), 2
	c.Posteriors.ValueWalk.Samples, c.Posteriors.ValueWalk.MinESS = 400, 0
	c.Sides, c.Lambdas = []int{2, 3}, []float64{0, 0.1}
	rows, _, record := experimenttest.Run(t, Name, c)
	if len(record.Units) != 2*2*2 || record.Seconds["valuewalk"] <= 0 {
		t.Errorf("%d units, seconds %v: want two sizes, chunks and values of λ", len(record.Units), record.Seconds)
	}
	r, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	curves := r.Charts[0].Panels[0].Curves
	if len(curves) != 2 || len(curves[0].X) != 2 || !(curves[1].Y[0] > 0) || curves[0].Name != "gridworld-2x2" ||
		!strings.Contains(r.Text[0], "in gridworld-3x3") {
		t.Errorf("curves %+v, text %q", curves, r.Text)
	}
	// another λ is computed alone
	keys := experimenttest.Keys(t, c)
	c.Lambdas[1] = 0.2
	for name, key := range experimenttest.Keys(t, c) {
		if old, ok := keys[name]; ok != strings.HasPrefix(name, "avril-0-") || ok && old != key {
			t.Errorf("%s: key %s, was %s", name, key, old)
		}
	}
}
