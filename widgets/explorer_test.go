package widgets

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/exhibit"
)

func TestExplorer(t *testing.T) {
	m := exampleExplorer()
	spec, err := m.Vega(4)
	if err != nil {
		t.Fatal(err)
	}
	rows := tableOf(t, spec, "marginals")
	if len(rows) != 12 {
		t.Fatalf("%d marginals, want one for each of 6 states and 2 methods", len(rows))
	}
	for i, row := range rows {
		p, s := m.Settings[0].Posteriors[i/6], i%6
		d := p.Marginals[s]
		below := distuv.Normal{Mu: float64(s) - 1, Sigma: 1}.CDF(float64(s) + 1) // of QVIRL's; the truth is s + 1
		if p.RHat != nil {
			count := 0
			for _, v := range d.(Sampled).Sorted() {
				if v < float64(s)+1 {
					count++
				}
			}
			below = float64(count) / 1000
			if numberOf(t, row["rhat"]) != p.RHat[s] || numberOf(t, row["ess"]) != p.ESS[s] || row["bars"] != "1" {
				t.Errorf("state %d: R̂ %s, ESS %s, bars %s", s, row["rhat"], row["ess"], row["bars"])
			}
		} else if row["rhat"] != "" || row["bars"] != "0" {
			t.Errorf("state %d: R̂ %q of a method without chains, bars %s", s, row["rhat"], row["bars"])
		}
		for column, want := range map[string]float64{"mean": d.Mean(), "sd": d.StdDev(), "low": d.Quantile(0.05),
			"high": d.Quantile(0.95), "rank": below} {
			if got := numberOf(t, row[column]); !scalar.EqualWithinAbsOrRel(got, want, 1e-9, 1e-3) { // four digits
				t.Errorf("row %d: %s %g, want %g", i, column, got, want)
			}
		}
		// The heights are a density: of the central 99.2 %, and a little more.
		from, to, mass := numberOf(t, row["from"]), numberOf(t, row["to"]), 0.0
		heights := strings.Fields(row["density"])
		for _, h := range heights {
			mass += numberOf(t, h) / 999 * numberOf(t, row["peak"]) * (to - from) / float64(len(heights))
		}
		if !scalar.EqualWithinAbs(mass, 0.99, 0.03) { // a sum for the integral of 41 points: within 1/40 of itself
			t.Errorf("row %d has the mass %g", i, mass)
		}
	}
	policies := tableOf(t, spec, "policies")
	if len(policies) != 12 || policies[1]["p"] != "13 20 27 33 7" {
		t.Errorf("%d policies, of state 1 %q", len(policies), policies[1]["p"])
	}
	if state := named(spec, "signals", "state"); state["value"] != "4" {
		t.Errorf("begins with state %v", state["value"])
	}
	if got := parse(t, m); !got.hasText("standard deviation") {
		t.Error("the static figure has no standard deviations")
	}
}

// Knobs choose settings: numbers at equal distances become a slider, others a list; posteriors that settings share are
// stored once.
func TestExplorerKnobs(t *testing.T) {
	m := exampleExplorer()
	shared, other := m.Settings[0].Posteriors, examplePosterior("qvirl", 3, 1)
	m.Knobs = []Knob{{Name: "trajectories", Values: []string{"1", "3", "5"}, Start: 1}, {Name: "β",
		Values: []string{"0.5", "2"}}}
	m.Settings = nil
	for i := range 6 {
		s := Setting{Visits: []int{i, 0, 0, 0, 0, 0}, Posteriors: shared}
		if i == 5 {
			s.Posteriors = []*exhibit.Posterior{shared[0], other}
		}
		m.Settings = append(m.Settings, s)
	}
	spec, err := m.Vega(0)
	if err != nil {
		t.Fatal(err)
	}
	if rows := tableOf(t, spec, "marginals"); len(rows) != 18 {
		t.Errorf("%d marginals, want those of 3 posteriors", len(rows))
	}
	if rows := tableOf(t, spec, "visits"); len(rows) != 5 || rows[4]["v"] != "5" || rows[4]["n"] != "5" {
		t.Errorf("visits %v", rows)
	}
	knob := named(spec, "signals", "knob0")
	first, second := knob["bind"].(map[string]any), named(spec, "signals", "knob1")["bind"].(map[string]any)
	if first["input"] != "range" || first["max"] != 5.0 || first["step"] != 2.0 || knob["value"] != 3.0 {
		t.Errorf("the first knob is %v", first)
	}
	if second["input"] != "select" || fmt.Sprint(second["options"]) != "[0.5 2]" {
		t.Errorf("the second knob is %v", second)
	}
	figure, err := m.Figure()
	if err != nil {
		t.Fatal(err)
	}
	if want := m.Title + " (trajectories: 3, β: 0.5)"; figure.title != want {
		t.Errorf("the picture of one setting has the title %q, want %q", figure.title, want)
	}
	ids := named(spec, "signals", "posteriors")["value"]
	if got := fmt.Sprint(ids); got != "[[0 1] [0 1] [0 1] [0 1] [0 1] [0 2]]" {
		t.Errorf("posteriors %s", got)
	}
	want := `((0) * 3 + round((knob0 - 1) / 2)) * 2 + indexof(["0.5", "2"], knob1)`
	if got := named(spec, "signals", "setting")["update"]; got != want {
		t.Errorf("the setting is %q, want %q", got, want)
	}
}

// A world of 5 × 5 in 36 settings with three methods stays below what a notebook may be burdened with, and so does one
// of 8 × 8 in four.
func TestExplorerIsLight(t *testing.T) {
	for side, values := range map[int]int{5: 9, 8: 1} {
		m := Explorer{Title: "t", XLabel: "reward", World: exhibit.World{Width: side, Height: side},
			Knobs: []Knob{{Name: "a", Values: make([]string, values)}, {Name: "k", Values: make([]string, 4)}}}
		posterior := func(method string) *exhibit.Posterior {
			p := &exhibit.Posterior{Method: method}
			rng := testRNG()
			for range side * side {
				p.Marginals = append(p.Marginals, normalSamples(rng, rng.Float64(), 2, 500))
				p.RHat, p.ESS = append(p.RHat, 1.0012), append(p.ESS, 1234.5)
				p.Policy = append(p.Policy, 0.123456, 0.2, 0.3, 0.1, 0.276544)
			}
			return p
		}
		for range values {
			shared := []*exhibit.Posterior{posterior("valuewalk"), posterior("qvirl")}
			for range 4 {
				m.Settings = append(m.Settings, Setting{make([]int, side*side), append(shared[:2:2],
					posterior("qvirl-refined"))})
			}
		}
		spec, err := m.Vega(0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(spec)
		if err != nil || len(text) > 600_000 || len(text) < 50_000 {
			t.Errorf("%d × %d: %d bytes, %v", side, side, len(text), err)
		}
	}
}

// A reader could not choose between posteriors of one name.
func TestExplorerOfOneNameTwice(t *testing.T) {
	twice := Explore(sixStates(), examplePosterior("qvirl", 0, 1), examplePosterior("qvirl", 1, 1))
	if _, err := twice.Vega(0); err == nil || !strings.Contains(err.Error(), `two posteriors of the method "QVIRL"`) {
		t.Errorf("error %v", err)
	}
}
