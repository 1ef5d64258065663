package calibration

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/metric"
)

// Methods are the methods in the order of the tables.
var Methods = []string{worlds.ValueWalk, worlds.QVIRL, ExactMax, "avril-0.02", "avril-0.17"}

// Report makes the tables and figures.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	tables, err := Tables(rows)
	if err != nil {
		return nil, err
	}
	r := &exhibit.Report{Title: "Calibration of reward posteriors", Tables: tables, Ranks: RankCharts(rows)}
	for _, chart := range []*exhibit.Chart{AllStates(rows), Coverage(rows)} {
		if len(chart.Panels) > 0 {
			r.Charts = append(r.Charts, *chart)
		}
	}
	r.Text = append(r.Text, fmt.Sprintf("Rewards drawn from the prior, demonstrations from the expert for them, and "+
		"the rank of the truth among %d samples of each posterior. Ranks of the true posterior are uniform.", Samples))
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// Tables returns the tests of uniformity, where the ranks lie and how far they spread, and the coverage.
func Tables(rows []experiment.Row) ([]exhibit.Table, error) {
	rows = worlds.NameLambda(rows)
	tests, err := uniformity(rows)
	if err != nil {
		return nil, err
	}
	out := experiment.Tables{Rows: withShape(rows), Methods: Methods, Made: []exhibit.Table{*tests}}
	for _, t := range []struct{ name, title, prefix, note string }{
		{"location", "Mean rank", meanOf, "In units of the largest rank: 0.5 if the posterior is calibrated, less if " +
			"it lies too high."},
		{"spread", "Spread of the ranks", spreadOf, "Mean squared distance to the middle, in units of the uniform " +
			"distribution's: 1 if the posterior is calibrated, more if it is too narrow, less if it is too wide."},
	} {
		columns := []exhibit.Column{{Metric: t.prefix + RankState, Name: "all non-terminal states", Decimals: 3}}
		for _, q := range Quantities {
			columns = append(columns, exhibit.Column{Metric: t.prefix + q.Metric, Name: q.Title, Decimals: 3})
		}
		out.Add(exhibit.Table{Name: t.name, Title: t.title, Columns: columns, Notes: []string{t.note}})
	}
	out.Add(exhibit.Table{Name: "coverage",
		Title:   "True rewards of non-terminal states in central credible intervals",
		Columns: metric.Columns(3, Coverage50, Coverage90)})
	return out.Made, out.Err
}

// uniformity returns the p-values of the tests.
func uniformity(rows []experiment.Row) (*exhibit.Table, error) {
	t := &exhibit.Table{Name: "uniformity", Title: "p-values of uniform ranks"}
	for _, q := range Quantities {
		t.Columns = append(t.Columns, exhibit.Column{Metric: q.Metric, Name: q.Title, Decimals: 4})
	}
	t.Columns = append(t.Columns, exhibit.Column{Metric: RankState, Name: "all non-terminal states", Decimals: 4})
	tests, draws := 0, 0
	for _, method := range Methods {
		var estimates []*exhibit.Estimate
		some := false
		add := func(p float64, n int) {
			var e *exhibit.Estimate
			if !math.IsNaN(p) {
				e = &exhibit.Estimate{Mean: max(p, math.SmallestNonzeroFloat64), StdErr: math.NaN(), N: n} // none is 0
				some = true
				tests++
				draws = max(draws, n)
			}
			estimates = append(estimates, e)
		}
		for _, q := range Quantities {
			ranks := Ranks(rows, method, q)
			p := math.NaN()
			if len(ranks) > 0 {
				_, p = ChiSquare(ranks)
			}
			add(p, len(ranks))
		}
		states := NewStateRanks(rows, method, false)
		add(states.Hotelling(), len(states))
		if some {
			t.AddRow(method, estimates...)
		}
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("calibration: no row holds ranks of any of the methods %q", Methods)
	}
	t.Notes = []string{
		fmt.Sprintf("Single quantities: χ² over %d bins, one rank in each of %d draws. All non-terminal states: "+
			"Hotelling's T² of the shares in the bins, "+
			"a draw counting as one observation, since the states of a draw depend on each other.", Bins, draws),
		fmt.Sprintf("With %d p-values, one below %.4f stands in at most one of twenty such tables if all posteriors "+
			"are calibrated (Bonferroni).", tests, 0.05/float64(tests)),
		"Mean value and log-likelihood are of samples of QVIRL's values, whichever way its rewards are drawn.",
	}
	return t, nil
}

// Prefixes of the metrics that withShape adds.
const (
	meanOf   = "mean_"
	spreadOf = "spread_"
)

// withShape adds rows of the mean and the spread of the ranks: of the states that are not terminal, averaged in each
// draw, and of each quantity.
func withShape(rows []experiment.Row) []experiment.Row {
	out := append([]experiment.Row(nil), rows...)
	add := func(r experiment.Row, metric string, ranks ...float64) {
		mean, spread := 0.0, 0.0
		for _, rank := range ranks {
			u := (rank + 0.5) / (Samples + 1)
			mean += u / float64(len(ranks))
			spread += 12 * (u - 0.5) * (u - 0.5) / float64(len(ranks))
		}
		out = append(out, r.With(meanOf+metric, mean), r.With(spreadOf+metric, spread))
	}
	type draw struct {
		method string
		seed   uint64
	}
	states := map[draw][]float64{}
	last := map[draw]experiment.Row{}
	var order []draw
	for _, r := range rows {
		for _, q := range Quantities {
			if r.Metric == q.Metric {
				add(r, r.Metric, r.Value)
			}
		}
		var s int
		if n, _ := fmt.Sscanf(r.Metric, RankState+"_%d", &s); n == 1 {
			d := draw{r.Name(), r.Seed}
			if states[d] == nil {
				order = append(order, d)
			}
			states[d], last[d] = append(states[d], r.Value), r
		}
	}
	for _, d := range order {
		add(last[d], RankState, states[d]...)
	}
	return out
}

// RankCharts returns a figure of rank histograms for each quantity, with the methods side by side.
func RankCharts(rows []experiment.Row) []exhibit.RankChart {
	rows = worlds.NameLambda(rows)
	var out []exhibit.RankChart
	for _, q := range Quantities {
		chart := exhibit.RankChart{Name: "ranks-" + q.Metric[len("rank_"):], Title: "Ranks of the truth: " + q.Title,
			Bins: Bins}
		for _, method := range Methods {
			if ranks := Ranks(rows, method, q); len(ranks) > 0 {
				chart.Panels = append(chart.Panels, exhibit.RankPanel{Method: method, Ranks: ranks, Max: Samples})
			}
		}
		if len(chart.Panels) > 0 {
			out = append(out, chart)
		}
	}
	return out
}

// AllStates returns the rank histograms of the rewards of all states, as curves.
func AllStates(rows []experiment.Row) *exhibit.Chart {
	return ofStates(rows, exhibit.Chart{Name: "all-states", Title: "Ranks of the true rewards of all states"},
		exhibit.Panel{XLabel: "rank", YLabel: "density", Levels: []exhibit.Level{{Name: "uniform", Y: 1}}},
		StateRanks.Histogram)
}

// Levels are the nominal levels of the coverage curves.
var Levels = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}

// Coverage returns the share of true rewards in central credible intervals, over their level.
func Coverage(rows []experiment.Row) *exhibit.Chart {
	return ofStates(rows, exhibit.Chart{Name: "coverage-curve", Title: "True rewards in central credible intervals"},
		exhibit.Panel{XLabel: "nominal level", YLabel: "covered fraction"},
		func(s StateRanks) (x, share, stdErr []float64) {
			share, stdErr = s.Coverage(Levels)
			return Levels, share, stdErr
		}, exhibit.Curve{Name: "nominal", X: []float64{0, 1}, Y: []float64{0, 1}})
}

// ofStates returns a chart of the states that are not terminal and of those that are: a panel like the given one for
// each kind, with the curves of all methods and then the others.
func ofStates(rows []experiment.Row, chart exhibit.Chart, like exhibit.Panel,
	curve func(StateRanks) (x, y, stdErr []float64), others ...exhibit.Curve) *exhibit.Chart {
	rows = worlds.NameLambda(rows)
	for i, title := range []string{"non-terminal states", "terminal states"} {
		panel := like
		panel.Title = title
		for _, method := range Methods {
			if states := NewStateRanks(rows, method, i == 1); len(states) > 1 {
				x, y, stdErr := curve(states)
				panel.Curves = append(panel.Curves, exhibit.Curve{Name: method, X: x, Y: y, StdErr: stdErr})
			}
		}
		if len(panel.Curves) > 0 {
			panel.Curves = append(panel.Curves, others...)
			chart.Panels = append(chart.Panels, panel)
		}
	}
	return &chart
}
