package widgets

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// tableDrawing lets tables stand among the drawings in the tests of bad input.
type tableDrawing struct{ Table }

func (t tableDrawing) Figure() (*Figure, error) {
	for _, render := range []func() (string, error){t.Text, t.Markdown, t.HTML} {
		if _, err := render(); err != nil {
			return nil, err
		}
	}
	_, err := t.CSV()
	return nil, err
}

// bad is a drawing with bad input, and what the error must say.
type bad struct {
	want string
	d    Drawing
}

// wrong is drawings with data that do not fit; the error names the field.
func wrong() []bad {
	nan, inf := math.NaN(), math.Inf(1)
	normal := []Distribution{distuv.Normal{Mu: 0, Sigma: 1}}
	panel := func(truth float64, d ...Distribution) Marginals {
		return Marginals{Methods: []string{"qvirl"}, Panels: []MarginalPanel{{Truth: &truth, Distributions: d}}}
	}
	curves := func(p CurvePanel) Curves { return Curves{Panels: []CurvePanel{p}} }
	line := func(x, y, se []float64) Curves { return curves(CurvePanel{Curves: []Curve{{X: x, Y: y, StdErr: se}}}) }
	heat := func(values ...[]float64) HeatMaps {
		return HeatMaps{Width: 1, Height: 2, Columns: []string{"a"}, Rows: []HeatRow{{Values: values}}}
	}
	verdicts := func(v ...*exhibit.Verdict) Verdicts {
		f := exhibit.VerdictFamily{Title: "a", Problems: []string{"b"}}
		if v != nil {
			f.Verdicts = [][]*exhibit.Verdict{v}
		}
		return Verdicts{Methods: []string{"qvirl"}, Families: []exhibit.VerdictFamily{f}}
	}
	cell := func(c Cell) tableDrawing {
		return tableDrawing{Table{Columns: []Column{{Name: "m", Decimals: 2}}, References: []string{"paper"},
			Rows: []Row{{Method: "qvirl", Cells: []Cell{c}}}}}
	}
	return []bad{
		{"Marginals needs", Marginals{}},
		{"Marginals needs", Marginals{Methods: []string{"qvirl"}}},
		{"Marginals.Panels[0].Distributions has 2", panel(0, normal[0], normal[0])},
		{"Marginals.Panels[0].Truth = +Inf", panel(inf, normal...)},
		{"all are nil", panel(0, nil)},
		{"Distributions[0]: mean, std, quantiles[0] = NaN", panel(0, distuv.Normal{Mu: nan, Sigma: 1})},
		{"std, quantiles[1] = +Inf", panel(0, distuv.Normal{Mu: 0, Sigma: inf})},
		{"negative standard deviation -1", panel(0, distuv.Normal{Mu: 0, Sigma: -1})},
		{"0 samples", panel(0, samples{distuv.Normal{Mu: 0, Sigma: 1}, nil})},
		{"Columns = -1", Marginals{Methods: []string{"qvirl"}, Columns: -1, Panels: panel(0, normal...).Panels}},
		{"Verdicts needs", Verdicts{}},
		{"Verdicts needs", VerdictCounts{}},
		{"Verdicts.Families[0].Verdicts has 0", verdicts()},
		{"Verdicts.Families[0].Verdicts[0] has 2", verdicts(nil, nil)},
		{"Verdicts[0][0].Error = NaN", verdicts(&exhibit.Verdict{Error: nan})},
		{"Tails needs", Tails{Level: 0.1}},
		{"Tails.Level = 1", Tails{Level: 1, Methods: []string{"qvirl"}, Panels: []TailPanel{{}}}},
		{"Tails.Panels[0].Samples has 0", Tails{Level: 0.1, Methods: []string{"qvirl"}, Panels: []TailPanel{{}}}},
		{"all are nil", Tails{Level: 0.1, Methods: []string{"qvirl"},
			Panels: []TailPanel{{Samples: [][]float64{nil}}}}},
		{"has 1 samples", Tails{Level: 0.1, Methods: []string{"qvirl"},
			Panels: []TailPanel{{Samples: [][]float64{{1}}}}}},
		{"Samples[0][1] = NaN", Tails{Level: 0.1, Methods: []string{"qvirl"},
			Panels: []TailPanel{{Samples: [][]float64{{1, nan}}}}}},
		{"Truth[0] = -Inf", Tails{Level: 0.1, Methods: []string{"qvirl"},
			Panels: []TailPanel{{Samples: [][]float64{{1, 2}}, Truth: []float64{-inf}}}}},
		{"Map: size 0×3", Map{Height: 3}},
		{"Map.Values has 3 entries, want 4", Map{Width: 2, Height: 2, Values: make([]float64, 3)}},
		{"Map.Values[1] = NaN", Map{Width: 2, Height: 1, Values: []float64{0, nan}}},
		{"Map.Terminal has 1", Map{Width: 2, Height: 1, Terminal: []bool{true}}},
		{"Map.Demonstrations[1][0]: state 2", Map{Width: 2, Height: 1, Demonstrations: []mdp.Trajectory{nil,
			{{State: 2}}}}},
		{"action 5", Map{Width: 2, Height: 1, Demonstrations: []mdp.Trajectory{{{Action: 5}}}}},
		{"Map.Policy has 5", Map{Width: 2, Height: 1, Policy: make([]float64, 5)}},
		{"Map.Policy[1] = NaN", Map{Width: 1, Height: 1, Policy: []float64{0, nan, 0, 0, 0}}},
		{"Map.Policy: the probabilities of state 1 sum to 5, want 1", Map{Width: 2, Height: 1, Policy: []float64{0, 0,
			0, 0, 0, 1, 1, 1, 1, 1}}},
		{"Map.Marked: state -1", Map{Width: 1, Height: 1, Marked: map[int]string{-1: "x"}}},
		{"HeatMaps: size", HeatMaps{}},
		{"HeatMaps needs columns and rows", HeatMaps{Width: 1, Height: 1}},
		{"HeatMaps.Rows[0].Values has 2", heat([]float64{1, 2}, []float64{1, 2})},
		{"HeatMaps.Rows[0].Values[0] has 1", heat([]float64{1})},
		{"HeatMaps.Rows[0].Values[0][1] = +Inf", heat([]float64{1, inf})},
		{"Curves has no panels", Curves{}},
		{"Curves.Panels[0] has no curves", curves(CurvePanel{})},
		{"Curves.Panels[0].Curves[0] has no points", line(nil, nil, nil)},
		{"Curves[0].Y[0] = -1e+308 cannot be drawn", line([]float64{0, 1}, []float64{-1e308, 1e308}, nil)},
		{"Curves[0].X[1] = 1e+308 cannot be drawn", line([]float64{0, 1e308}, []float64{0, 1}, nil)},
		{"Y[1] = 1e-320 cannot be drawn on a logarithmic axis", curves(CurvePanel{LogY: true, Curves: []Curve{
			{Name: "a", X: []float64{0, 1}, Y: []float64{1, 1e-320}}}})},
		{"Y has 1 entries, want 2", line([]float64{1, 2}, []float64{1}, nil)},
		{"StdErr has 1 entries", line([]float64{1, 2}, []float64{1, 2}, []float64{1})},
		{"X[0] = NaN", line([]float64{nan}, []float64{1}, nil)},
		{"Y[0] = +Inf", line([]float64{1}, []float64{inf}, nil)},
		{"StdErr[0] = -1", line([]float64{1}, []float64{1}, []float64{-1})},
		{"Low[0] = 2 and High[0] = 1",
			curves(CurvePanel{Curves: []Curve{{X: []float64{1}, Y: []float64{1}, Low: []float64{2}, High: []float64{1},
				Band: "b"}}})},
		{"High has 0 entries",
			curves(CurvePanel{Curves: []Curve{{X: []float64{1}, Y: []float64{1}, Low: []float64{1}, Band: "b"}}})},
		{"want a Band", curves(CurvePanel{
			Curves: []Curve{{X: []float64{1}, Y: []float64{1}, Low: []float64{0}, High: []float64{1}}}})},
		{"X[1] = 1 is below", line([]float64{2, 1}, []float64{1, 1}, nil)},
		{"logarithmic", curves(CurvePanel{LogX: true, Curves: []Curve{{X: []float64{0, 1}, Y: []float64{0, 1}}}})},
		{"Y[0] = 0 cannot", curves(CurvePanel{LogY: true, Curves: []Curve{{X: []float64{0, 1}, Y: []float64{0, 1}}}})},
		{"Y[1] = 1 cannot", curves(CurvePanel{LogY: true, Curves: []Curve{{X: []float64{0, 1}, Y: []float64{-1, 1}}}})},
		{"YRange", curves(CurvePanel{LogY: true, Curves: []Curve{{X: []float64{0}, Y: []float64{-1}}},
			YRange: &[2]float64{-2, 0}})},
		{"Levels[0].Y = NaN", curves(CurvePanel{Curves: []Curve{{X: []float64{1}, Y: []float64{1}}},
			Levels: []Level{{Y: nan}}})},
		{"Marks[0].X = +Inf", curves(CurvePanel{Curves: []Curve{{X: []float64{1}, Y: []float64{1}}},
			Marks: []Mark{{X: inf}}})},
		{"YRange = [2 1] is", curves(CurvePanel{Curves: []Curve{{X: []float64{1}, Y: []float64{1}}},
			YRange: &[2]float64{2, 1}})},
		{"unit square", Calibration{Panels: []CalibrationPanel{{
			Curves: []Curve{{X: []float64{0.5}, Y: []float64{1.5}}}}}}},
		{"no panels", Calibration{}},
		{"Traces has no panels", Traces{}},
		{"Traces.Panels[0].Chains is empty", Traces{Panels: []TracePanel{{}}}},
		{"Traces.Panels[0].Chains[1] has no draws", Traces{Panels: []TracePanel{{Chains: [][]float64{{1}, {}}}}}},
		{"Chains[0][1] = NaN", Traces{Panels: []TracePanel{{Chains: [][]float64{{1, nan}}}}}},
		{"Ranks has no panels", Ranks{}},
		{"Ranks.Panels[0] has 0 ranks", Ranks{Panels: []RankPanel{{Max: 3}}}},
		{"Ranks.Panels[0].Ranks[1] = 4", Ranks{Panels: []RankPanel{{Max: 3, Ranks: []int{0, 4}}}}},
		{"Bins = -1", Ranks{Bins: -1, Panels: []RankPanel{{Max: 3, Ranks: []int{0}}}}},
		{"Convergence.RHat is empty", Convergence{}},
		{"Convergence.BulkESS has 0", Convergence{RHat: []float64{1}}},
		{"Convergence.RHat[0] = NaN", Convergence{RHat: []float64{nan}, BulkESS: []float64{1}}},
		{"Dots needs", Dots{}},
		{"Dots.Panels[0].Estimates has 0", Dots{Methods: []string{"a"}, Panels: []DotPanel{{}}}},
		{"Dots.Panels[0].Estimates[0] = NaN", Dots{Methods: []string{"a"},
			Panels: []DotPanel{{Estimates: []*Estimate{Value(nan, 1)}}}}},
		{"Dots.Panels[0].Published has 2", Dots{Methods: []string{"a"},
			Panels: []DotPanel{{Estimates: []*Estimate{nil}, Published: make([]*Estimate, 2)}}}},
		{"Surface needs", Surface{}},
		{"Surface.X[1] = 1", Surface{X: []float64{1, 1}, Y: []float64{1, 2}, Panels: []SurfacePanel{{}}}},
		{"Surface.Panels[0].Z has 3", Surface{X: []float64{1, 2}, Y: []float64{1, 2},
			Panels: []SurfacePanel{{Z: make([]float64, 3)}}}},
		{"Z[0] = -Inf", Surface{X: []float64{1, 2}, Y: []float64{1, 2},
			Panels: []SurfacePanel{{Z: []float64{-inf, 0, 0, 0}}}}},
		{"Scatter has no", Scatter{}},
		{"Scatter.Panels[0] has no points", Scatter{Panels: []ScatterPanel{{}}}},
		{"Scatter.Panels[0].Y has 1", Scatter{Panels: []ScatterPanel{{X: []float64{1, 2}, Y: []float64{1}}}}},
		{"Scatter.Panels[0].X[1] = NaN", Scatter{Panels: []ScatterPanel{{X: []float64{1, nan}, Y: []float64{1, 2}}}}},
		{"one has Z", Scatter{Panels: []ScatterPanel{{X: []float64{1}, Y: []float64{1}}, {X: []float64{1},
			Y: []float64{1}, Z: []float64{1}}}}},
		{"Marked has point 1", Scatter{Panels: []ScatterPanel{{X: []float64{1}, Y: []float64{1},
			Marked: map[int]string{1: "a"}}}}},
		{"Line has 2", Scatter{Panels: []ScatterPanel{{X: []float64{1}, Y: []float64{1}, Line: []float64{1, 2}}}}},
		{"Table needs", tableDrawing{}},
		{"Table.Columns[0].Decimals = -1",
			tableDrawing{Table{Columns: []Column{{Name: "m", Decimals: -1}},
				Rows: []Row{{Method: "a", Cells: []Cell{{}}}}}}},
		{"Table.Rows[0].Cells has 0",
			tableDrawing{Table{Columns: []Column{{Name: "m", Decimals: 1}}, Rows: []Row{{}}}}},
		{"Table.Rows[0].Cells[0].Estimate = +Inf", cell(Cell{Estimate: Value(inf, 0)})},
		{"Cells[0].Estimate = 1 ± -1", cell(Cell{Estimate: Value(1, -1)})},
		{"Cells[0].References has 2", cell(Cell{References: make([]*Estimate, 2)})},
		{"References[0] = NaN", cell(Cell{References: []*Estimate{Value(nan, 1)}})},
	}
}

func TestBadInput(t *testing.T) {
	if _, err := ChainRanks("", nil); err == nil {
		t.Error("ranks of no chains gave no error")
	}
	if _, err := (Marginals{}).VegaLite(); err == nil {
		t.Error("a Vega-Lite view of nothing gave no error")
	}
}

// Data at the edges of what is legal is drawn: single points, constants, one state, nothing demonstrated.
func TestDegenerateInput(t *testing.T) {
	nan := math.NaN()
	point := []Curve{{Name: "qvirl", X: []float64{1}, Y: []float64{2}, Points: true}}
	for name, d := range map[string]Drawing{
		"point mass": Marginals{Title: "t", XLabel: "x", Methods: []string{"a"},
			Panels: []MarginalPanel{{Title: "p", Truth: new(0.0),
				Distributions: []Distribution{distuv.Normal{Mu: 0, Sigma: 0}}}}},
		"constant samples": Marginals{Title: "t", XLabel: "x", Methods: []string{"a"},
			Panels: []MarginalPanel{{Title: "p",
				Distributions: []Distribution{samples{distuv.Normal{Mu: 3, Sigma: 0}, []float64{3, 3, 3}}}}}},
		"one state":  Map{Title: "t", Width: 1, Height: 1, Values: []float64{0}, ValueLabel: "r"},
		"wide world": Map{Title: "t", Width: 40, Height: 2, Values: make([]float64, 80), ValueLabel: "r"},
		"tall world": Map{Title: "t", Width: 2, Height: 40, Values: make([]float64, 80), ValueLabel: "r"},
		"constant heat": HeatMaps{Title: "t", Width: 2, Height: 1, Columns: []string{"a"},
			Rows: []HeatRow{{Label: "l", Values: [][]float64{{5, 5}}}}},
		"one point": Curves{Title: "t", Panels: []CurvePanel{{Title: "a", XLabel: "b", YLabel: "c",
			Curves: point}}},
		"one point, log": Curves{Title: "t", Panels: []CurvePanel{{Title: "a", XLabel: "b", YLabel: "c", LogX: true,
			LogY: true, Curves: point}}},
		"all missing": Curves{Title: "t",
			Panels: []CurvePanel{{Title: "a", XLabel: "b",
				Curves: []Curve{{Name: "n", X: []float64{1, 2}, Y: []float64{nan, nan}}}}}},
		"constant chain": Traces{Title: "t", Panels: []TracePanel{{"a", [][]float64{{2, 2, 2}}}}},
		"one rank":       Ranks{Title: "t", Panels: []RankPanel{{Title: "p", Max: 1, Ranks: []int{1}}}},
		"one R-hat":      Convergence{Title: "t", XLabel: "state", RHat: []float64{1}, BulkESS: []float64{0}},
		"no estimate": Dots{Title: "t", Methods: []string{"a"},
			Panels: []DotPanel{{Title: "p", Estimates: []*Estimate{nil}}}},
		"no value": Surface{Title: "t", X: []float64{1, 2}, Y: []float64{1, 2},
			Panels: []SurfacePanel{{"p", []float64{nan, nan, nan, nan}}}},
		"huge numbers": Map{Title: "t", Width: 2, Height: 1, Values: []float64{1e12, -1e12}, ValueLabel: "r"},
	} {
		f, err := d.Figure()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if svg, err := f.SVG(); err != nil || len(svg) < 600 {
			t.Errorf("%s: %d bytes, %v", name, len(svg), err)
		}
	}
}

// TestMapsOfOtherProblems: maps of problems that are no gridworlds tell what their actions and states are called, and
// are high enough for what stands beside them.
func TestMapsOfOtherProblems(t *testing.T) {
	risk := exampleRisk()
	risk.World.Moves, risk.World.Actions = nil, []string{"repair", "run", "sell", "buy", "wait"}
	if names := parse(t, risk).count(func(e element) bool {
		return slices.Contains(risk.World.Actions, strings.TrimSpace(e.text))
	}); names < 2 {
		t.Errorf("%d actions are named, want at least one a map", names)
	}
	together := exampleCorrelations()
	together.World.States = []string{"hall", "attic", "cellar", "garden", "porch", "roof"}
	for _, name := range together.World.States {
		if n := parse(t, together).count(func(e element) bool { return strings.TrimSpace(e.text) == name }); n != 2 {
			t.Errorf("state %q is named %d times, want once a map", name, n)
		}
	}
	const label, mark = "posterior standard deviation of the reward", "a state with a very long name"
	values := []float64{1, 2, 3, 4, 5, 6, 7}
	for name, d := range map[string]Drawing{
		"Map": Map{Width: 7, Height: 1, Values: values, ValueLabel: label, Marked: map[int]string{2: mark}, side: 260},
		"HeatMaps": HeatMaps{Width: 7, Height: 1, Columns: []string{"a", "b"}, Marked: map[int]string{2: mark},
			Rows: []HeatRow{{Label: label, Values: [][]float64{values, values}}}},
	} {
		p := parse(t, d)
		if p.hasText(mark) || !p.hasText("…") {
			t.Errorf("%s: a name wider than its cell is not cut", name)
		}
		height, err := strconv.ParseFloat(strings.TrimSuffix(p.root["height"], "pt"), 64)
		if least := float64(barTitle().Width(label)); err != nil || height < least {
			t.Errorf("%s: %g high (error %v), less than the %g of a label beside it", name, height, err, least)
		}
	}
}
