package activelearning

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
)

// Report makes the learning curves and tables of some of their points.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("activelearning: no rows to report")
	}
	tables, err := Tables(rows)
	if err != nil {
		return nil, err
	}
	r := &exhibit.Report{Title: "Active learning in random gridworlds", Tables: tables,
		Charts: []exhibit.Chart{LearningCurves(rows)}}
	r.Text = append(r.Text, "Means over runs ± standard error. The return is that of the optimal policy of the "+
		"posterior mean reward under the "+
		"true reward, 0 for the random policy and 100 for the optimal one. The entropy is that of the Gaussian with "+
		"the posterior's "+
		"covariance of all rewards. W1 is the Wasserstein-1 distance of the reward marginals to a posterior that "+
		"ValueWalk samples "+
		"from the same demonstrations.")
	for _, method := range ordered(rows) {
		if inside, of := InsideBand(rows, method, ReturnTrue); of > 0 && method != ValueWalk {
			r.Text = append(r.Text, fmt.Sprintf("The mean return of %s lies within a standard error of ValueWalk's "+
				"after %d of %d queries.", method, inside, of))
		}
		if metrics := courses(rows, method); len(metrics) > 0 {
			text := fmt.Sprintf("The returns, entropies and times of %s are those of %d courses in each world.", method,
				len(metrics))
			var counts []string
			for _, name := range metrics {
				if inside, of := InsideBand(rows, method, name); of > 0 {
					counts = append(counts, fmt.Sprintf("%d of %d", inside, of))
				}
			}
			if len(counts) > 0 {
				text += " Each course alone is within a standard error of ValueWalk's mean after " +
					strings.Join(counts, ", ") + " queries."
			}
			r.Text = append(r.Text, text)
		}
	}
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// ordered lists the methods of the rows, those of the experiment first and in its order.
func ordered(rows []experiment.Row) []string {
	return experiment.Ordered(rows, Paper().Methods)
}

// point is a metric's mean over runs after a number of queries.
type point struct {
	queries int
	*exhibit.Estimate
}

// curve returns the means of a metric of a method over runs, by number of queries.
func curve(rows []experiment.Row, method, name string) []point {
	values := map[int][]float64{}
	for _, r := range rows {
		if r.Name() == method && r.Metric == name {
			values[r.Demos] = append(values[r.Demos], r.Value)
		}
	}
	var out []point
	for _, k := range slices.Sorted(maps.Keys(values)) {
		out = append(out, point{k, experiment.Mean(values[k])})
	}
	return out
}

// LearningCurves returns the curves over the number of queries, a panel each for the return, the entropy of the reward
// posterior and the distances to the exact posterior (Fig. learning_curve, which shows the first).
func LearningCurves(rows []experiment.Row) exhibit.Chart {
	chart := exhibit.Chart{Name: "learning-curve", Title: "Active learning in random gridworlds"}
	for _, p := range []struct{ metric, label string }{
		{ReturnTrue, "return under the true reward"}, {RewardEntropy, "entropy of the rewards, nats"},
		{W1, "W1 to the exact posterior"}, {PolicyTV, "TV to the exact policy"},
	} {
		panel := exhibit.Panel{XLabel: "queries", YLabel: p.label}
		for _, method := range ordered(rows) {
			c := exhibit.Curve{Name: method}
			for _, at := range curve(rows, method, p.metric) {
				c.Add(float64(at.queries), at.Estimate)
			}
			if len(c.X) > 1 {
				panel.Curves = append(panel.Curves, c)
			}
		}
		if p.metric == ReturnTrue {
			panel.Levels = []exhibit.Level{{Name: "optimal", Y: 100}}
		}
		if len(panel.Curves) > 0 {
			chart.Panels = append(chart.Panels, panel)
		}
	}
	return chart
}

// Tables returns a table of the returns after some numbers of queries and of the entropy after the last, and one of
// each distance to the exact posterior that there are rows of, after the numbers of queries for which there are any.
func Tables(rows []experiment.Row) ([]exhibit.Table, error) {
	last := 0
	measured := map[string]map[int]bool{W1: {}, PolicyTV: {}}
	for _, r := range rows {
		last = max(last, r.Demos)
		if at, ok := measured[r.Metric]; ok {
			at[r.Demos] = true
		}
	}
	byQueries := func(name, title string, columns ...column) (*exhibit.Table, error) {
		var shown []exhibit.Column
		var chosen []experiment.Row
		for _, c := range columns {
			key := fmt.Sprintf("%s-%d", c.metric, c.queries)
			shown = append(shown, exhibit.Column{Metric: key, Name: fmt.Sprintf("%safter %d", c.prefix, c.queries),
				Decimals: c.decimals})
			for _, r := range rows {
				if r.Metric == c.metric && r.Demos == c.queries {
					r.Metric = key
					chosen = append(chosen, r)
				}
			}
		}
		return experiment.Tabulate(chosen, ordered(rows), exhibit.Table{Name: name, Title: title, Columns: shown})
	}
	var returns []column
	for _, k := range []int{0, 5, 10, 20, 30} {
		if k < last {
			returns = append(returns, column{ReturnTrue, "return ", k, 1})
		}
	}
	returns = append(returns, column{ReturnTrue, "return ", last, 1}, column{RewardEntropy, "entropy ", last, 1})
	table, err := byQueries("returns", "Returns of the apprentice by number of queries", returns...)
	if err != nil {
		return nil, err
	}
	out := []exhibit.Table{*table}
	for _, d := range []struct{ metric, name, title string }{
		{W1, "w1", "W1 of the rewards to the exact posterior by number of queries"},
		{PolicyTV, "tv", "TV of the policy to the exact one by number of queries"},
	} {
		var columns []column
		for _, k := range slices.Sorted(maps.Keys(measured[d.metric])) {
			columns = append(columns, column{d.metric, "", k, 3})
		}
		if len(columns) == 0 {
			continue
		}
		table, err := byQueries(d.name, d.title, columns...)
		if err != nil {
			return nil, err
		}
		out = append(out, *table)
	}
	return out, nil
}

// column is a metric after a number of queries.
type column struct {
	metric, prefix    string // the title is the prefix, "after" and the number
	queries, decimals int
}

// InsideBand returns after how many of the queries, from the first on, the mean of a method's return lies within a
// standard error of ValueWalk's mean; of is the number of queries at which both are known. name is ReturnTrue, or that
// of one course.
func InsideBand(rows []experiment.Row, method, name string) (inside, of int) {
	theirs := map[int]*exhibit.Estimate{}
	for _, p := range curve(rows, ValueWalk, ReturnTrue) {
		theirs[p.queries] = p.Estimate
	}
	for _, p := range curve(rows, method, name) {
		if vw, ok := theirs[p.queries]; ok && p.queries > 0 && vw.N > 1 {
			of++
			if math.Abs(p.Mean-vw.Mean) <= vw.StdErr {
				inside++
			}
		}
	}
	return inside, of
}

// courses returns the metrics of the returns of a method's courses; none if it has but one.
func courses(rows []experiment.Row, method string) (metrics []string) {
	for course := 1; len(curve(rows, method, courseMetric(course))) > 0; course++ {
		metrics = append(metrics, courseMetric(course))
	}
	return metrics
}
