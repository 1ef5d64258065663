package widgets

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"
)

func TestVegaLite(t *testing.T) {
	m := exampleMarginals()
	spec, err := m.VegaLite()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(text) / len(m.Panels); size > 20_000 {
		t.Errorf("%d bytes a panel; 64 of them would weigh down the notebook", size)
	}
	rows := spec["data"].(map[string]any)["values"].([]any)
	mass, top, truths := make([]float64, len(m.Panels)), 0.0, 0
	for _, r := range rows {
		row := r.(map[string]any)
		p := int(row["p"].(float64))
		if right, ok := row["r"].(float64); ok {
			if height, ok := row["m0"].(float64); ok {
				mass[p] += (right - row["l"].(float64)) * height
			}
		}
		if v, ok := row["m2"].(float64); ok && p == 1 {
			top = math.Max(top, v)
		}
		if _, ok := row["t"]; ok {
			truths++
		}
	}
	for p, v := range mass {
		if !scalar.EqualWithinAbs(v, 1, 0.01) { // samples beyond the range, and rounding
			t.Errorf("the histogram of panel %d has the mass %g", p, v)
		}
	}
	want := math.Exp(m.Panels[1].Distributions[2].LogProb(m.Panels[1].Distributions[2].Mean()))
	if !scalar.EqualWithinAbs(top, want, 0.01*want) { // the grid misses the peak by less than half a step
		t.Errorf("QVIRL's curve peaks at %g, want %g", top, want)
	}
	if truths != len(m.Panels) {
		t.Errorf("%d true values, want one a panel", truths)
	}
	if layers := len(spec["layer"].([]any)); layers != len(m.Methods)+1 {
		t.Errorf("%d layers, want one a method and one for true values", layers)
	}
	control := func() map[string]any {
		spec, err := m.VegaLite()
		if err != nil {
			t.Fatal(err)
		}
		return spec["params"].([]any)[0].(map[string]any)["bind"].(map[string]any)
	}
	if list := control(); list["input"] != "select" || len(list["options"].([]any)) != len(m.Panels) ||
		list["labels"].([]any)[1] != m.Panels[1].Title {
		t.Errorf("list %v", list)
	}
	for i := range m.Panels {
		m.Panels[i].Title = fmt.Sprint("state ", i)
	}
	if slider := control(); slider["input"] != "range" || slider["max"] != float64(len(m.Panels)-1) ||
		slider["name"] != "state " {
		t.Errorf("slider %v", slider)
	}
}

func TestScaleAndHeadless(t *testing.T) {
	for value, want := range map[string]Scale{"": Quick, "quick": Quick, "paper": Paper} {
		t.Setenv("BIRL_SCALE", value)
		if got, err := NotebookScale(); err != nil || got != want {
			t.Errorf("BIRL_SCALE=%q gives %q, %v, want %q", value, got, err, want)
		}
	}
	t.Setenv("BIRL_SCALE", "huge")
	if _, err := NotebookScale(); err == nil {
		t.Error("an unknown scale gave no error")
	}
	for value, want := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv("BIRL_HEADLESS", value)
		if got := Headless(); got != want {
			t.Errorf("BIRL_HEADLESS=%q gives %t", value, got)
		}
	}
}

func TestBrowserWithSeveralSliders(t *testing.T) {
	one := MarginalPanel{Title: "p", Distributions: []Distribution{distuv.Normal{Sigma: 1}}}
	m := Marginals{XLabel: "x", Methods: []string{"qvirl"}, Panels: []MarginalPanel{one, one, one, one, one, one},
		Choices: []Choice{{"β", 2}, {"demonstrations", 3}}}
	spec, err := m.VegaLite()
	if err != nil {
		t.Fatal(err)
	}
	params := spec["params"].([]any)
	if name := params[1].(map[string]any)["bind"].(map[string]any)["name"]; name != "demonstrations " {
		t.Errorf("the second slider is called %q", name)
	}
	if max := params[1].(map[string]any)["bind"].(map[string]any)["max"]; max != 2.0 {
		t.Errorf("the second slider goes to %v, want 2", max)
	}
	if expr := params[2].(map[string]any)["expr"]; expr != "((0) * 2 + choice0) * 3 + choice1" {
		t.Errorf("the panel is %q", expr)
	}
	for _, bad := range [][]Choice{{{"β", 2}}, {{"β", 0}}} {
		m.Choices = bad
		if _, err := m.VegaLite(); err == nil {
			t.Errorf("choices %v of 6 panels were accepted", bad)
		}
	}
}

func TestSurfaceBrowser(t *testing.T) {
	m := exampleSurface()
	spec, err := m.VegaLite("σ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(spec); err != nil {
		t.Fatal(err)
	}
	params := map[string]map[string]any{}
	for _, p := range spec["params"].([]any) {
		params[p.(map[string]any)["name"].(string)] = p.(map[string]any)
	}
	if bind := params["panel"]["bind"].(map[string]any); bind["max"] != 2.0 || bind["name"] != "σ " {
		t.Errorf("slider %v, want positions 0..2 and the name σ", bind)
	}
	numbers := params["numbers"]["value"].([]any)
	if len(numbers) != 3 || numbers[0].([]any)[5] != nil {
		t.Fatalf("%d panels, absent number %v, want 3 and nil", len(numbers), numbers[0].([]any)[5])
	}
	for i, v := range m.Panels[2].Z {
		// four significant digits
		if got := numbers[2].([]any)[i].(float64); !scalar.EqualWithinAbs(got, v, 1e-3*math.Abs(v)) {
			t.Fatalf("value %d is %g, want %g", i, got, v)
		}
	}
	if n := spec["data"].(map[string]any)["sequence"].(map[string]any)["stop"]; n != float64(len(m.X)*len(m.Y)) {
		t.Errorf("%v cells, want %d", n, len(m.X)*len(m.Y))
	}
	domain := spec["encoding"].(map[string]any)["color"].(map[string]any)["scale"].(map[string]any)["domain"].([]any)
	if first, last := domain[0].(float64), domain[len(domain)-1].(float64); first != -last || last <= 0 {
		t.Errorf("diverging colours from %g to %g, want a scale about 0", first, last)
	}
	m.Y = nil
	if _, err := m.VegaLite("σ"); err == nil {
		t.Error("a surface without a grid was accepted")
	}
}

// Variants of a method have its colour, and dashes of their own in the legend, which goes through the same names.
func TestVegaLiteTellsVariantsApart(t *testing.T) {
	spec, err := exampleMarginals().VegaLite()
	if err != nil {
		t.Fatal(err)
	}
	looks := map[string]int{}
	for _, l := range spec["layer"].([]any) {
		encoding := l.(map[string]any)["encoding"].(map[string]any)
		dash, ok := encoding["strokeDash"].(map[string]any)
		if !ok {
			continue
		}
		colors, dashes := encoding["color"].(map[string]any)["scale"].(map[string]any), dash["scale"].(map[string]any)
		if fmt.Sprint(colors["domain"]) != fmt.Sprint(dashes["domain"]) {
			t.Fatalf("colours of %v, dashes of %v: two legends", colors["domain"], dashes["domain"])
		}
		for i, name := range dashes["domain"].([]any) {
			if name == dash["datum"] {
				looks[fmt.Sprint(colors["range"].([]any)[i], dashes["range"].([]any)[i])]++
			}
		}
	}
	if len(looks) != 5 { // QVIRL, AVRIL at three λ, the true value
		t.Errorf("%d ways to draw a line, want 5: %v", len(looks), looks)
	}
}
