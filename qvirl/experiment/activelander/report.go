package activelander

import (
	"fmt"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// measures are the metrics that have a panel and a table.
var measures = []struct {
	metric   string
	decimals int
}{{Return, 1}, {HeldOut, 3}}

// Report makes the learning curves, and tables of some of their points and of the paired differences.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("activelander: no rows to report")
	}
	r := &exhibit.Report{Title: "Active learning in Lunar Lander", Charts: []exhibit.Chart{LearningCurves(rows)}}
	runs := map[uint64]bool{}
	for _, row := range rows {
		runs[row.Seed] = true
	}
	r.Text = append(r.Text, fmt.Sprintf("Means over %d runs ± standard error, by the number of queries. All methods "+
		"of a run begin with the same trajectory and choose among the same candidates, and all apprentices meet the "+
		"same episodes. Differences are those within runs.", len(runs)))
	for _, m := range measures {
		t := exhibit.Table{Name: m.metric, Title: metric.Title(m.metric)}
		differences := exhibit.Table{Name: m.metric + "_difference",
			Title: t.Title + ", less that with queries at random"}
		at := experiment.DemosOf(rows, m.metric)
		for _, k := range at {
			c := exhibit.Column{Metric: m.metric, Name: fmt.Sprintf("after %d", k), Decimals: m.decimals}
			t.Columns, differences.Columns = append(t.Columns, c), append(differences.Columns, c)
		}
		for _, method := range ordered(rows) {
			var means, above []*exhibit.Estimate
			values := experiment.ByDemos(rows, method, m.metric)
			for _, k := range at {
				means = append(means, experiment.Mean(values[k]))
				above = append(above, Difference(rows, method, m.metric, k))
			}
			t.AddRow(method, means...)
			if method != Random {
				differences.AddRow(method, above...)
			}
		}
		for _, table := range []exhibit.Table{t, differences} { // there are none without rows of random queries beside
			if len(table.Columns) > 0 && len(table.Rows) > 0 {
				r.Tables = append(r.Tables, table)
			}
		}
	}
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// Difference returns by how much a method's metric is above that of random queries after a number of queries, as a mean
// over runs of the differences within them; nil without at least two runs that have both.
func Difference(rows []experiment.Row, method, metricName string, queries int) *exhibit.Estimate {
	rows = experiment.Where(rows, func(r experiment.Row) bool { return r.Demos == queries })
	e := experiment.Paired(experiment.Series(rows, method, metricName), experiment.Series(rows, Random, metricName))
	if e == nil || e.N < 2 {
		return nil
	}
	return e
}

// ordered lists the methods of the rows, those of the experiment first and in its order.
func ordered(rows []experiment.Row) []string { return experiment.Ordered(rows, Paper().Methods) }

// LearningCurves returns the means over runs by the number of queries, a panel for each metric.
func LearningCurves(rows []experiment.Row) exhibit.Chart {
	chart := exhibit.Chart{Name: "learning-curve", Title: "Active learning in Lunar Lander"}
	for _, m := range measures {
		panel := exhibit.Panel{XLabel: "queries", YLabel: metric.Label(m.metric)}
		for _, method := range ordered(rows) {
			if curve := experiment.Learning(rows, method, m.metric); len(curve.X) > 0 {
				panel.Curves = append(panel.Curves, curve)
			}
		}
		if len(panel.Curves) > 0 {
			chart.Panels = append(chart.Panels, panel)
		}
	}
	return chart
}
