package likelihood

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
)

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "The closed-form likelihood against Monte Carlo and quadrature "+
		"(Figure 7)", Quick, Paper, Report)
}

// Report makes the figure, and tables of the largest errors.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "The likelihood approximation", Text: []string{
		"Probability of a₁ when Q₂ ~ N(0, 1): the closed form beside means over Monte Carlo samples with their " +
			"standard errors and the exact value by quadrature."}}
	for _, figure := range []func([]experiment.Row) (*exhibit.Chart, error){Panels, Differences} {
		chart, err := figure(rows)
		if err != nil {
			return nil, err
		}
		if chart != nil {
			r.Charts = append(r.Charts, *chart)
		}
	}
	m, err := NewErrorMap(rows)
	if err != nil {
		return nil, err
	}
	if m != nil {
		r.Tables = append(r.Tables, m.table())
	}
	if len(r.Charts)+len(r.Tables) == 0 {
		return nil, fmt.Errorf("likelihood: no rows to report")
	}
	return r, nil
}

// Panels returns the paper's figure with its two panels, or nil if the rows hold no points of it.
func Panels(rows []experiment.Row) (*exhibit.Chart, error) {
	return figure(rows, "panels", "Probability of a₁: Monte Carlo by level, and the closed form", "probability of a₁",
		false)
}

// Differences returns the same figure with the closed form less the Monte Carlo estimate, whose standard error is that
// of the difference; or nil if the rows hold no points of it.
func Differences(rows []experiment.Row) (*exhibit.Chart, error) {
	return figure(rows, "differences", "Closed form less Monte Carlo", "difference", true)
}

// figure draws the two panels, either the probabilities of both methods or their differences.
func figure(rows []experiment.Row, name, title, yLabel string, differences bool) (*exhibit.Chart, error) {
	type key struct {
		method, metric string
		at             Point
	}
	values := map[key]float64{}
	var points []Point
	for _, r := range rows {
		if r.Metric != Prob && r.Metric != StdErr {
			continue
		}
		p, err := parsePoint(r.Environment)
		if err != nil {
			return nil, err
		}
		values[key{r.Method, r.Metric, p}] = r.Value
		if r.Method == ClosedForm {
			points = append(points, p)
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	// A panel is the points along one coordinate with another as its level.
	panel := func(title, xLabel, level string, belongs func(Point) bool, x, of func(Point) float64) exhibit.Panel {
		out := exhibit.Panel{Title: title, XLabel: xLabel, YLabel: yLabel}
		if differences {
			out.Levels = []exhibit.Level{{Name: "no difference", Y: 0}}
		}
		byLevel := map[float64][]Point{}
		for _, p := range points {
			if belongs(p) {
				byLevel[of(p)] = append(byLevel[of(p)], p)
			}
		}
		curves := func(y, stdErr func(Point) float64, name func(level float64) string) {
			for _, l := range slices.Sorted(maps.Keys(byLevel)) {
				along := byLevel[l]
				if len(along) < 3 { // a point of the other panel
					continue
				}
				slices.SortFunc(along, func(a, b Point) int { return int(math.Copysign(1, x(a)-x(b))) })
				curve := exhibit.Curve{Name: name(l)}
				for _, p := range along {
					curve.X, curve.Y = append(curve.X, x(p)), append(curve.Y, y(p))
					if stdErr != nil {
						curve.StdErr = append(curve.StdErr, stdErr(p))
					}
				}
				out.Curves = append(out.Curves, curve)
			}
		}
		closed := func(p Point) float64 { return values[key{ClosedForm, Prob, p}] }
		sampled := func(p Point) float64 { return values[key{MonteCarlo, Prob, p}] }
		stdErr := func(p Point) float64 { return values[key{MonteCarlo, StdErr, p}] }
		byName := func(l float64) string { return fmt.Sprintf("%s = %g", level, l) }
		if differences {
			curves(func(p Point) float64 { return closed(p) - sampled(p) }, stdErr, byName)
			return out
		}
		curves(sampled, stdErr, byName)
		curves(closed, nil, func(float64) string { return "closed form" })
		return out
	}
	mean, std := func(p Point) float64 { return p.Mean }, func(p Point) float64 { return p.Std }
	correlation := func(p Point) float64 { return p.Correlation }
	return &exhibit.Chart{Name: name, Title: title, Panels: []exhibit.Panel{
		panel("correlation 0", "mean of Q₁", "σ₁", func(p Point) bool { return p.Correlation == 0 }, mean, std),
		panel("σ₁ = 1", "correlation of Q₁ and Q₂", "mean", func(p Point) bool { return p.Std == 1 }, correlation,
			mean),
	}}, nil
}

// ErrorMap is the error of the closed form, approximation − exact.
type ErrorMap struct {
	Gaps, Stds   []float64   // means and standard deviations of Q₁
	Correlations []float64   // of Q₁ and Q₂
	Errors       [][]float64 // for each correlation, that at Gaps[i], Stds[j] at j·len(Gaps)+i
}

// NewErrorMap returns the map that the rows hold, or nil if they hold none.
func NewErrorMap(rows []experiment.Row) (*ErrorMap, error) {
	values := map[Point]float64{}
	m := new(ErrorMap)
	for _, r := range rows {
		if r.Metric != Error {
			continue
		}
		p, err := parsePoint(r.Environment)
		if err != nil {
			return nil, err
		}
		values[p] = r.Value
		m.Gaps, m.Stds, m.Correlations = append(m.Gaps, p.Mean), append(m.Stds, p.Std),
			append(m.Correlations, p.Correlation)
	}
	if len(values) == 0 {
		return nil, nil
	}
	for _, axis := range []*[]float64{&m.Gaps, &m.Stds, &m.Correlations} {
		slices.Sort(*axis)
		*axis = slices.Compact(*axis)
	}
	for _, correlation := range m.Correlations {
		var panel []float64
		for _, std := range m.Stds {
			for _, gap := range m.Gaps {
				v, ok := values[Point{gap, std, correlation}]
				if !ok {
					v = math.NaN()
				}
				panel = append(panel, v)
			}
		}
		m.Errors = append(m.Errors, panel)
	}
	return m, nil
}

// The columns of the table of largest errors.
const (
	worst    = "worst"
	worstGap = "worst_gap"
	worstStd = "worst_std"
)

// table lists the largest error at each correlation and where it is.
func (m *ErrorMap) table() exhibit.Table {
	t := exhibit.Table{Name: "largest-errors", Title: "Largest error of the closed form on the map",
		Columns: []exhibit.Column{
			{Metric: worst, Name: "error", Decimals: 4}, {Metric: worstGap, Name: "at mean", Decimals: 2},
			{Metric: worstStd, Name: "at σ₁", Decimals: 2}}}
	for k, correlation := range m.Correlations {
		at := 0
		for i, v := range m.Errors[k] {
			if math.Abs(v) > math.Abs(m.Errors[k][at]) {
				at = i
			}
		}
		t.AddRow(fmt.Sprintf("correlation %+g", correlation), exhibit.Number(m.Errors[k][at]),
			exhibit.Number(m.Gaps[at%len(m.Gaps)]), exhibit.Number(m.Stds[at/len(m.Gaps)]))
	}
	return t
}
