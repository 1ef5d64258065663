package posteriorquality

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/metric"
)

// tableMethods are the methods in the order of the tables.
var tableMethods = []string{worlds.ValueWalk, worlds.ValueWalkNoDet, worlds.ValueWalkAgain, worlds.QVIRL,
	worlds.QVIRL20k, worlds.QVIRLMaxMean, worlds.QVIRLLogEP, worlds.QVIRLELogP, worlds.QVIRLSVILogEP, worlds.QVIRLSVI,
	worlds.QVIRLMatched, worlds.QVIRLRefined, worlds.AVRIL, "avril-0.17"}

// paper holds the values of the paper's Table 1. Its AVRIL row stands beside both of ours: λ was to be the best one,
// but the numbers are those of a smaller posterior.
var paper = exhibit.Published("paper",
	[]string{metric.W1, metric.LogDensity, metric.RewardCoverage, metric.PolicyCoverage, metric.PolicyTV},
	map[string][]float64{
		worlds.ValueWalk: {0, 0, -2.432, 0.013, 0.888, 0.004, 0.910, 0.003, 0, 0},
		worlds.QVIRL:     {0.486, 0.011, -2.437, 0.009, 0.901, 0.004, 0.913, 0.003, 0.207, 0.003},
		worlds.AVRIL:     {1.704, 0.007, -7.568, 0.284, 0.521, 0.006, 0.727, 0.005, 0.250, 0.004},
		"avril-0.17":     {1.704, 0.007, -7.568, 0.284, 0.521, 0.006, 0.727, 0.005, 0.250, 0.004},
	})

// Report makes the tables and the figure of the curve over λ.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	main, heldOut := split(rows)
	r := &exhibit.Report{Title: "Posterior quality on random gridworlds"}
	if len(main) > 0 {
		tables, err := Tables(main)
		if err != nil {
			return nil, err
		}
		r.Tables = tables
		r.Text = append(r.Text, fmt.Sprintf("Means over %d worlds ± standard error. W₁ is the Wasserstein-1 distance "+
			"of the reward marginals to the exact posterior (ValueWalk); coverages are of central 90 %% intervals; TV "+
			"is the total variation distance of the posterior-predictive policy to that of the exact posterior.",
			len(experiment.Series(main, worlds.ValueWalk, metric.LogDensity))))
	}
	if chart := LambdaCurve(heldOut); chart != nil {
		r.Charts = append(r.Charts, *chart)
		var c Config
		if best, w1 := bestLambda(heldOut); record != nil && json.Unmarshal(record.Config, &c) == nil &&
			best != c.Lambda {
			r.Text = append(r.Text, fmt.Sprintf("On the held-out worlds λ = %g has the smallest W₁, %.3f, but the "+
				"config chose λ = %g.", best, w1, c.Lambda))
		}
	}
	if len(r.Tables) == 0 && len(r.Charts) == 0 {
		return nil, fmt.Errorf("posteriorquality: no rows to report")
	}
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// split separates the rows on held-out worlds from the others.
func split(rows []experiment.Row) (main, heldOut []experiment.Row) {
	is := func(r experiment.Row) bool { return strings.HasSuffix(r.Environment, heldOutSuffix) }
	return experiment.Where(rows, func(r experiment.Row) bool { return !is(r) }), experiment.Where(rows, is)
}

// Tables returns Table 1 beside the paper's values, the same by other conventions, the metrics over non-terminal
// states, and the diagnostics of the computations. Rows on held-out worlds are ignored.
func Tables(rows []experiment.Row) ([]exhibit.Table, error) {
	rows, _ = split(rows)
	t := experiment.Tables{Rows: rows, Methods: tableMethods}
	t.Add(exhibit.Table{Name: "table1", Title: "Posterior quality", Columns: []exhibit.Column{
		{Metric: metric.W1, Name: "W₁", Decimals: 3}, {Metric: metric.LogDensity, Name: "log density", Decimals: 3},
		{Metric: metric.RewardCoverage, Name: "reward in 90 % CI", Decimals: 3},
		{Metric: metric.PolicyCoverage, Name: "policy in 90 % CI", Decimals: 3},
		{Metric: metric.PolicyTV, Name: "TV", Decimals: 3}}}, paper)
	t.Add(exhibit.Table{Name: "conventions", Title: "By other conventions: distances to ValueWalk " +
		"without the determinant, L1 instead of total variation",
		Columns: metric.Columns(3, metric.W1NoDet, metric.PolicyTVNoDet, metric.PolicyL1)}, conventions(paper))
	t.Add(exhibit.Table{Name: "nonterminal", Title: "Policies over non-terminal states only", Columns: []exhibit.Column{
		{Metric: metric.PolicyCoverageNonterminal, Name: "policy in 90 % CI", Decimals: 3},
		{Metric: metric.PolicyTVNonterminal, Name: "TV", Decimals: 3},
		{Metric: metric.PolicyL1Nonterminal, Name: "policy L1", Decimals: 3}}})
	t.Add(exhibit.Table{Name: "diagnostics", Title: "Diagnostics of the computations, averaged over worlds",
		Columns: slices.Concat(metric.Columns(4, metric.RHatMax), metric.Columns(0, metric.ESSBulkMin),
			metric.Columns(2, metric.Divergences, metric.Converged, metric.Collapsed),
			metric.Columns(3, metric.Drift, metric.Settling))})
	return t.Made, t.Err
}

// conventions returns a reference's W1 and TV where they are compared with other distances of ours.
func conventions(of exhibit.Reference) exhibit.Reference {
	out := exhibit.Reference{Name: of.Name, Values: map[string]map[string]exhibit.Estimate{}}
	for method, values := range of.Values {
		out.Values[method] = map[string]exhibit.Estimate{metric.W1NoDet: values[metric.W1],
			metric.PolicyL1: values[metric.PolicyTV]}
	}
	// If the paper's ValueWalk left the determinant out, it is ours without it, and the reference of these distances.
	w1 := of.Values[worlds.ValueWalk][metric.W1]
	out.Values[worlds.ValueWalkNoDet] = map[string]exhibit.Estimate{metric.W1NoDet: w1}
	delete(out.Values, worlds.ValueWalk)
	return out
}

// bestLambda returns the λ of the smallest W1 on held-out worlds, +∞ without any.
func bestLambda(rows []experiment.Row) (best, w1 float64) {
	w1 = math.Inf(1)
	for _, lambda := range worlds.Lambdas(rows) {
		if e := experiment.Average(rows, worlds.AVRILName(lambda), metric.W1); e != nil && e.Mean < w1 {
			best, w1 = lambda, e.Mean
		}
	}
	return best, w1
}

// lowestDensity is the least log density that the curve over λ shows: collapsed posteriors have millions of nats less.
const lowestDensity = -20

// LambdaCurve returns the metrics of AVRIL over λ on held-out worlds, or nil if the rows hold fewer than two values of
// λ.
func LambdaCurve(rows []experiment.Row) *exhibit.Chart {
	_, rows = split(rows)
	lambdas := worlds.Lambdas(rows)
	if len(lambdas) < 2 {
		return nil
	}
	chart := &exhibit.Chart{Name: "lambda", Title: "AVRIL over λ, on held-out worlds"}
	best, bestW1 := bestLambda(rows)
	for _, name := range []string{metric.W1, metric.LogDensity, metric.RewardCoverage, metric.PolicyTV} {
		curve := exhibit.Curve{Name: worlds.AVRIL}
		var hidden []string
		for _, lambda := range lambdas {
			e := experiment.Average(rows, worlds.AVRILName(lambda), name)
			if e == nil || name == metric.LogDensity && e.Mean < lowestDensity {
				hidden = append(hidden, fmt.Sprint(lambda))
				continue
			}
			curve.Add(lambda, e)
		}
		panel := exhibit.Panel{XLabel: "λ", YLabel: metric.Label(name), Curves: []exhibit.Curve{curve}}
		if !math.IsInf(bestW1, 1) {
			panel.Marks = []exhibit.Mark{{Note: fmt.Sprintf("best W₁: λ = %g", best), X: best}}
		}
		if len(hidden) > 0 {
			panel.Title = fmt.Sprintf("below %d at λ = %s", lowestDensity, strings.Join(hidden, ", "))
		}
		if name == metric.RewardCoverage {
			panel.Levels = []exhibit.Level{{Name: "nominal", Y: metric.Level}}
		}
		if len(curve.X) > 1 {
			chart.Panels = append(chart.Panels, panel)
		}
	}
	return chart
}
