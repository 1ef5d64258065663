package widgets

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"
)

func exampleExplore() Explore {
	m := Explore{Title: "Posteriors", XLabel: "reward", Width: 3, Height: 2, Methods: []string{"valuewalk", "qvirl"},
		Truth: []float64{1, 2, 3, 4, 5, 6}, Terminal: []bool{false, true, false, false, false, false},
		Distributions: make([][]Distribution, 2)}
	rng := testRNG()
	for s := range 6 {
		mean := float64(s) - 2
		m.Distributions[0] = append(m.Distributions[0], normalSamples(rng, mean, 2, 1000))
		m.Distributions[1] = append(m.Distributions[1], distuv.Normal{Mu: mean + 1, Sigma: 1})
	}
	return m
}

func TestExplore(t *testing.T) {
	m := exampleExplore()
	spec, err := m.VegaLite(4)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(text) / 6; size > 6000 {
		t.Errorf("%d bytes a state; a hundred of them would exceed 600 kB", size)
	}
	views := spec["hconcat"].([]any)
	marginals, err := Marginals{Title: m.Title, XLabel: m.XLabel, Methods: m.Methods, Panels: []MarginalPanel{
		{Distributions: []Distribution{m.Distributions[0][0], m.Distributions[1][0]}, Truth: 1}}}.VegaLite()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(views[1].(map[string]any)["layer"].([]any)), len(marginals["layer"].([]any)); got != want {
		t.Errorf("%d layers of marginals, want %d", got, want)
	}
	// The map holds, for each state, what its list offers: the mean and standard deviation of each method, and how the
	// second differs from the first.
	rows := views[0].(map[string]any)["data"].(map[string]any)["values"].([]any)
	list := spec["params"].([]any)[3].(map[string]any)["bind"].(map[string]any)["labels"].([]any)
	if len(rows) != 6 || len(list) != 6 || !strings.HasPrefix(list[4].(string), "QVIRL: mean less that of ValueWalk") {
		t.Fatalf("%d states, list %v", len(rows), list)
	}
	for s, r := range rows {
		q := r.(map[string]any)["q"].([]any)
		mean, std := m.Distributions[0][s].Mean(), m.Distributions[0][s].StdDev()
		for i, want := range []float64{mean, std, float64(s) - 1, 1, (float64(s) - 1 - mean) / std, 1 / std} {
			if got := q[i].(float64); !scalar.EqualWithinAbsOrRel(got, want, 1e-9, 1e-3) { // four digits
				t.Errorf("state %d, %v: %g, want %g", s, list[i], got, want)
			}
		}
	}
	if strings.Count(string(text), `"end":true`) != 1 || !strings.Contains(string(text), `cell.p ? cell.p[0] : 4`) {
		t.Error("the terminal state or the first selection is missing")
	}
	if _, err := m.Figure(); err != nil {
		t.Error(err)
	}
}

func TestExploreRefusesBadInput(t *testing.T) {
	for want, spoil := range map[string]func(m *Explore){
		"0 × 2 cells":                      func(m *Explore) { m.Width = 0 },
		"at most 400":                      func(m *Explore) { m.Width = 400 },
		"1 methods and distributions of 2": func(m *Explore) { m.Methods = m.Methods[:1] },
		"5 true values":                    func(m *Explore) { m.Truth = m.Truth[:5] },
		"[1] has 5 states":                 func(m *Explore) { m.Distributions[1] = m.Distributions[1][:5] },
		"[0][2] has no finite mean":        func(m *Explore) { m.Distributions[0][2] = distuv.Normal{Mu: math.NaN()} },
		"qvirl-unheard-of":                 func(m *Explore) { m.Methods[1] = "qvirl-unheard-of" },
	} {
		m := exampleExplore()
		spoil(&m)
		_, err := m.VegaLite(0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, err := exampleExplore().VegaLite(6); err == nil {
		t.Error("a state outside of the world was accepted")
	}
}
