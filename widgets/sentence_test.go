//go:build unix

package widgets

import (
	"go/ast"
	"go/parser"
	"go/token"
	"image"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// spoilt returns a copy of an example that spoil has made bad.
func spoilt[T any](example func() T, spoil func(*T)) T {
	m := example()
	spoil(&m)
	return m
}

// worse is each drawing with each kind of bad input that it can get: numbers that are none, no samples, a method that
// there is not, and a hundred thousand states.
var worse = func() []bad {
	nan := math.NaN()
	const none = "qvirl-unheard-of"
	large := exhibit.World{Width: 1000, Height: 100}
	many := make([]float64, 100_000)
	normal := distuv.Normal{Mu: 0, Sigma: 1}
	posterior := func(e *Explorer) *exhibit.Posterior { return e.Settings[0].Posteriors[1] }
	return []bad{
		{"Explorer.World: 1000×100 cells", spoilt(exampleExplorer, func(e *Explorer) { e.World = large })},
		{"Explorer.World: size 0×2", spoilt(exampleExplorer, func(e *Explorer) { e.World.Width = 0 })},
		{"Posteriors[1].Marginals[2]: mean, std, quantiles[0] = NaN", spoilt(exampleExplorer, func(e *Explorer) {
			posterior(e).Marginals[2] = distuv.Normal{Mu: nan, Sigma: 1}
		})},
		{"Marginals[2] is nil", spoilt(exampleExplorer, func(e *Explorer) { posterior(e).Marginals[2] = nil })},
		{"Marginals[2] has 0 samples", spoilt(exampleExplorer, func(e *Explorer) {
			posterior(e).Marginals[2] = samples{normal, nil}
		})},
		{"Marginals has 5 entries", spoilt(exampleExplorer, func(e *Explorer) {
			posterior(e).Marginals = posterior(e).Marginals[:5]
		})},
		{"has no posteriors", spoilt(exampleExplorer, func(e *Explorer) { e.Settings[0].Posteriors = nil })},
		{"Posteriors[0] is nil", spoilt(exampleExplorer, func(e *Explorer) { e.Settings[0].Posteriors[0] = nil })},
		{none, spoilt(exampleExplorer, func(e *Explorer) { posterior(e).Method = none })},
		{"Policy[3] = NaN", spoilt(exampleExplorer, func(e *Explorer) { posterior(e).Policy[3] = nan })},
		{"state 0 sum to", spoilt(exampleExplorer, func(e *Explorer) { posterior(e).Policy[3] = 0.9 })},
		{"Policy has 0 entries", spoilt(exampleExplorer, func(e *Explorer) { posterior(e).Policy = nil })},
		{"has 5 actions, Explorer.World.Moves 4", spoilt(exampleExplorer, func(e *Explorer) {
			e.World.Moves, e.World.Actions = e.World.Moves[:4], nil
		})},
		{"Truth[0] = NaN", spoilt(exampleExplorer, func(e *Explorer) { e.World.Truth[0] = nan })},
		{"Truth has 5 entries", spoilt(exampleExplorer, func(e *Explorer) { e.World.Truth = e.World.Truth[:5] })},
		{"want 2, one for each combination", spoilt(exampleExplorer, func(e *Explorer) {
			e.Knobs = []Knob{{Name: "β", Values: []string{"1", "2"}}}
		})},
		{"has no values", spoilt(exampleExplorer, func(e *Explorer) { e.Knobs = []Knob{{Name: "β"}} })},
		{"Start = 1 is outside", spoilt(exampleExplorer, func(e *Explorer) {
			e.Knobs = []Knob{{Name: "β", Values: []string{"1"}, Start: 1}}
		})},
		{"Correlations.World: 1000×100", spoilt(exampleCorrelations, func(m *Correlations) { m.World = large })},
		{"Correlations.Draws has 0 draws", spoilt(exampleCorrelations, func(m *Correlations) { m.Draws = nil })},
		{"Draws[7][0] = NaN", spoilt(exampleCorrelations, func(m *Correlations) { m.Draws[7][0] = nan })},
		{"States[1] = 6", spoilt(exampleCorrelations, func(m *Correlations) { m.States[1] = 6 })},
		{"Pairs.Draws[0] has 0 draws", spoilt(examplePairs, func(m *Pairs) { m.Draws[0] = nil })},
		{"Pairs.Draws[1][0][0] = NaN", spoilt(examplePairs, func(m *Pairs) { m.Draws[1][0][0] = nan })},
		{none, spoilt(examplePairs, func(m *Pairs) { m.Methods[0] = none })},
		{"100000 names", spoilt(examplePairs, func(m *Pairs) { m.Names = make([]string, 100_000) })},
		{"one point", Pairs{Names: []string{"a", "b"}, Methods: []string{"qvirl"}, Draws: [][][]float64{{{1, 1}, {1, 1},
			{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}}}},
		{"is nil", Change{World: sixStates(), Before: examplePosterior("qvirl", 0, 1)}},
		{"want one method", Change{World: sixStates(), Before: examplePosterior("qvirl", 0, 1),
			After: examplePosterior("valuewalk", 0, 1)}},
		{"Change.Names has 1", Change{World: sixStates(), Before: examplePosterior("qvirl", 0, 1),
			After: examplePosterior("qvirl", 0, 1), Names: []string{"wide prior"}}},
		{"1000×100 cells", Change{World: large, Before: examplePosterior("qvirl", 0, 1),
			After: examplePosterior("qvirl", 0, 1)}},
		{"RankECDF has no panels", RankECDF{}},
		{"0 ranks", RankECDF{Panels: []RankPanel{{Max: 3}}}},
		{"Ranks[0] = 9", RankECDF{Panels: []RankPanel{{Max: 3, Ranks: []int{9}}}}},
		{none, RankECDF{Panels: []RankPanel{{Max: 3, Ranks: []int{1}, Method: none}}}},
		{"100000 ranks", RankECDF{Panels: []RankPanel{{Max: 3, Ranks: make([]int, 100_000)}}}},
		{"nothing was demonstrated", Predictive{}},
		{"mean NaN", spoilt(examplePredictive, func(m *Predictive) { m.Decisions[1].Mean = nan })},
		{"5 of 4 decisions", spoilt(examplePredictive, func(m *Predictive) { m.Decisions[0].Times = 5 })},
		{"Comparison has no models", Comparison{}},
		{"Pointwise[1] = NaN", spoilt(exampleComparison, func(m *Comparison) { m.Models[1].Pointwise[1] = nan })},
		{"KHat[1] = NaN", spoilt(exampleComparison, func(m *Comparison) { m.Models[1].KHat[1] = nan })},
		{"no decisions", Comparison{Models: []exhibit.LOO{{Method: "qvirl"}}}},
		{none, spoilt(exampleComparison, func(m *Comparison) { m.Models[1].Method = none })},
		{"Risk.World: 1000×100", spoilt(exampleRisk, func(m *Risk) { m.World = large })},
		{"Risk has 0 levels", spoilt(exampleRisk, func(m *Risk) { m.Levels = nil })},
		{"Risk.Values[0] = NaN", spoilt(exampleRisk, func(m *Risk) { m.Values[0] = nan })},
		{"Returns[5] = NaN", spoilt(exampleRisk, func(m *Risk) { m.Levels[1].Returns[5] = nan })},
		{"Returns has 0", spoilt(exampleRisk, func(m *Risk) { m.Levels[1].Returns = nil })},
		{"Level = 0.25, want ascending", spoilt(exampleRisk, func(m *Risk) { m.Levels[1].Level = 0.25 })},
		{"Queries.World: 1000×100", spoilt(exampleQueries, func(m *Queries) { m.World = large })},
		{"Queries has 0 steps", spoilt(exampleQueries, func(m *Queries) { m.Steps = nil })},
		{"Scores[2] = NaN", spoilt(exampleQueries, func(m *Queries) { m.Steps[0].Scores[2] = nan })},
		{"Steps[0].Query = 6", spoilt(exampleQueries, func(m *Queries) { m.Steps[0].Query = 6 })},
		{"0 steps", Trajectory{}},
		{"interval 1 of step 3", spoilt(exampleTrajectory, func(m *Trajectory) { m.Values[3][1].Mean = nan })},
		{"Pictures[2] is empty", spoilt(exampleTrajectory, func(m *Trajectory) {
			m.Pictures[2] = image.NewRGBA(image.Rect(0, 0, 2, 2))
		})},
		{"Taken[4] = 2", spoilt(exampleTrajectory, func(m *Trajectory) { m.Taken[4] = 2 })},
		{"Stack has no rows", Stack{}},
		{"Stack.Rows[0] is empty", Stack{Rows: [][]Drawing{{}}}},
		{"Stack.Rows[1][0] is nil", Stack{Rows: [][]Drawing{{exampleELBO()}, {nil}}}},
		{"Curves has no panels", Stack{Rows: [][]Drawing{{Curves{}}}}},
		{"Map: 1000×100 cells", Map{Width: 1000, Height: 100, Values: many}},
		{"HeatMaps: 100000×1 cells", HeatMaps{Width: 100_000, Height: 1, Columns: []string{"a"},
			Rows: []HeatRow{{Values: [][]float64{many}}}}},
		{"want at most 4000", Convergence{RHat: many, BulkESS: many}},
		{"want at most 1000", Marginals{Methods: []string{"qvirl"}, Panels: make([]MarginalPanel, 100_000)}},
		{none, Marginals{Methods: []string{none}, Panels: []MarginalPanel{{Distributions: []Distribution{normal}}}}},
		{none, Tails{Level: 0.1, Methods: []string{none}, Panels: []TailPanel{{Samples: [][]float64{{1, 2}}}}}},
		{"Scatter.Panels[0].Z[1] = NaN", Scatter{Panels: []ScatterPanel{{X: []float64{1, 2}, Y: []float64{1, 2},
			Z: []float64{1, nan}}}}},
		{"100000 points", Scatter{Panels: []ScatterPanel{{X: many, Y: many}}}},
	}
}()

// In a notebook each of them is one sentence in place of a picture.
func TestBadInputBecomesASentence(t *testing.T) {
	k := inNotebook(t)
	seen := map[string]bool{}
	for _, c := range slices.Concat(wrong(), worse) {
		seen[reflect.TypeOf(c.d).Name()] = true
		err := Show(c.d)
		checkSentence(t, k, reflect.TypeOf(c.d).String(), c.want, err)
	}
	// There is no widget without a line above.
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	widgets := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Figure" {
				continue
			}
			name, ok := f.Recv.List[0].Type.(*ast.Ident)
			if !ok || !name.IsExported() {
				continue
			}
			widgets++
			if !seen[name.Name] {
				t.Errorf("no bad input is given to %s", name.Name)
			}
		}
	}
	if widgets < 20 {
		t.Errorf("%d widgets were found", widgets)
	}
}

// checkSentence takes what was shown: a sentence that contains want, and nothing else.
func checkSentence(t *testing.T, k *kernel, name, want string, err error) {
	t.Helper()
	got := k.take()
	if err == nil || !strings.HasPrefix(err.Error(), "widgets: ") || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got the error %v, want one with %q", name, err, want)
	}
	if len(got) != 1 {
		t.Errorf("%s: %d outputs, want a sentence", name, len(got))
		return
	}
	text, _ := got[0].Data[protocol.MIMETextPlain].(string)
	fragment, _ := got[0].Data[protocol.MIMETextHTML].(string)
	if len(got[0].Data) != 2 || !strings.HasPrefix(text, "This cannot be drawn: ") || !strings.Contains(text, want) ||
		!strings.Contains(fragment, "This cannot be drawn") {
		t.Errorf("%s: shown is %v", name, got[0].Data)
	}
}

// So it is with each function that shows something else than one drawing.
func TestBadInputToShowFunctions(t *testing.T) {
	t.Setenv("BIRL_HEADLESS", "1")
	k := inNotebook(t)
	draw := func(int) (Drawing, error) { return Curves{}, nil }
	a := Assumptions{PriorStd: 1, Beta: 1}
	refit := func(Assumptions) (Drawing, error) { return Curves{}, nil }
	world := sixStates()
	for name, c := range map[string]struct {
		want string
		show func() error
	}{
		"ShowExplorer":     {"begins with state 6", func() error { return ShowExplorer(exampleExplorer(), 6) }},
		"ShowCorrelations": {"0 states", func() error { return ShowCorrelations(Correlations{World: world}) }},
		"ShowRisk":         {"0 levels", func() error { return ShowRisk(Risk{World: world}) }},
		"ShowQueries":      {"0 steps", func() error { return ShowQueries(Queries{World: world}) }},
		"ShowTrajectory":   {"0 steps", func() error { return ShowTrajectory(Trajectory{}) }},
		"ShowBrowser":      {"Marginals needs", func() error { return ShowBrowser(Marginals{}) }},
		"ShowTails":        {"Tails needs", func() error { return ShowTails(Tails{Level: 0.1}, 0, 0) }},
		"ShowSurface":      {"Surface needs", func() error { return ShowSurface(Surface{}, "x") }},
		"ShowTable":        {"Table needs", func() error { return ShowTable(Table{}) }},
		"ShowVegaLite": {"Curves has no panels", func() error {
			return ShowVegaLite(map[string]any{}, Curves{})
		}},
		"ShowAnimations":    {"needs pictures", func() error { return ShowAnimations(10, 10, Animation{}) }},
		"no animations":     {"needs animations", func() error { return ShowAnimations(10, 10) }},
		"Show, nil":         {"drawing is nil", func() error { return Show(nil) }},
		"ShowVegaLite, nil": {"drawing is nil", func() error { return ShowVegaLite(nil, nil) }},
		"ShowPictures, nil": {"number 0 is nil", func() error { return ShowPictures("t", 10, nil) }},
		"ShowPictures":      {"needs pictures", func() error { return ShowPictures("t", 10) }},
		"Slider":            {"needs options", func() error { return Slider("β", nil, 0, draw) }},
		"Live": {"Curves has no panels",
			func() error { l := NewLive(); _ = l.Update(Curves{}); return l.Done() }},
		"Refit, world": {"1000×100 cells", func() error {
			return Refit(exhibit.World{Width: 1000, Height: 100}, a, refit)
		}},
		"Refit, prior": {"β 1, want both positive", func() error { return Refit(world, Assumptions{Beta: 1}, refit) }},
		"Refit, demonstration": {"state 6 and action 0", func() error {
			return Refit(world, Assumptions{PriorStd: 1, Beta: 1, Demonstrations: []mdp.Step{{State: 6}}}, refit)
		}},
		"Refit, nothing": {"needs a function", func() error { return Refit(world, a, nil) }},
	} {
		checkSentence(t, k, name, c.want, c.show())
	}
}

// Without a reader, Refit shows what was assumed, and the picture of that.
func TestRefitWithoutReader(t *testing.T) {
	t.Setenv("BIRL_HEADLESS", "1")
	k := inNotebook(t)
	start := Assumptions{PriorMean: -1, PriorStd: 3, Beta: 2, State: 1, Demonstrations: []mdp.Step{{State: 0,
		Action: 2}}}
	var got Assumptions
	err := Refit(sixStates(), start, func(a Assumptions) (Drawing, error) {
		got = a
		return exampleELBO(), nil
	})
	shown := k.take()
	if err != nil || !reflect.DeepEqual(got, start) || len(shown) != 2 ||
		shown[0].Data[protocol.MIMETextMarkdown] != "*prior −1 ± 3, β = 2, 1 demonstrated decision*" {
		t.Errorf("error %v, drawn %v, %d outputs", err, got, len(shown))
	}
	sent := `{"PriorMean": -1, "PriorStd": 3, "Beta": 2, "State": 1, "Demonstrations": [{"State": 0, "Action": 2}]}`
	if got, err := parseAssumptions(sent); err != nil || !reflect.DeepEqual(got, start) {
		t.Errorf("of what a page sends, %+v is read, %v", got, err)
	}
	form := refitForm("x", sixStates(), start)
	for _, want := range []string{`data-state="5"`, `data-action="4">left`, `name="prior-std" value="3"`,
		`name="undo"`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	script, err := refitJS("x", start)
	if err != nil || !strings.Contains(script, `"demos":[{"State":0,"Action":2}]`) || !strings.Contains(script,
		`"state":1}`) {
		t.Errorf("the script begins with %.300s, %v", script, err)
	}
}

// Each interactive view is shown with a picture in all formats, and reaches the notebook whole.
func TestShowViews(t *testing.T) {
	k := inNotebook(t)
	e := exampleExplorer()
	e.World.Truth, e.World.Moves = nil, nil
	for name, show := range map[string]func() error{
		"explorer":     func() error { return ShowExplorer(e, 1) },
		"correlations": func() error { return ShowCorrelations(exampleCorrelations()) },
		"risk":         func() error { return ShowRisk(exampleRisk()) },
		"queries":      func() error { return ShowQueries(exampleQueries()) },
		"trajectory":   func() error { return ShowTrajectory(exampleTrajectory()) },
	} {
		if err := show(); err != nil {
			t.Fatal(err)
		}
		got := k.take()
		if len(got) != 1 || got[0].Data[protocol.MIMEImagePNG] == nil || got[0].Data[protocol.MIMEImageSVG] == nil ||
			got[0].Data[protocol.MIMETextPlain] == "" {
			t.Fatalf("%s: %d outputs, or a picture is missing", name, len(got))
		}
		spec, ok := got[0].Data[vega].(map[string]any)
		if !ok {
			t.Fatalf("%s: the view is a %T", name, got[0].Data[vega])
		}
		for _, s := range spec["signals"].([]any) {
			signal := s.(map[string]any)
			if value, ok := signal["value"]; ok && value == nil {
				t.Errorf("%s: the signal %s arrives as null", name, signal["name"])
			}
			if of, ok := signal["value"].([]any); ok && len(of) == 0 {
				t.Errorf("%s: the signal %s arrives empty", name, signal["name"])
			}
		}
	}
}
