package activelearning

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
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
	r.Text = append(r.Text, "Methods choose queries by the expected information gain about the reward (Reward EIG) "+
		"unless their names say otherwise. Means over runs ± standard error. The return is that of the optimal "+
		"policy of the posterior mean reward under the true reward, 0 for the random policy and 100 for the optimal "+
		"one. The entropy is that of the Gaussian with the posterior's covariance of all rewards. W₁ is the "+
		"Wasserstein-1 distance of the reward marginals to a posterior that ValueWalk samples from the same "+
		"demonstrations.")
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

// shownAs is the method as which figures and tables show one: QVIRL, whose rows here do not name its queries, as in
// Lunar Lander, where they do.
func shownAs(method string) string {
	if method == QVIRL {
		return QVIRL + "-eig"
	}
	return method
}

// ordered lists the methods of the rows, those of the experiment first and in its order.
func ordered(rows []experiment.Row) []string {
	return experiment.Ordered(rows, Paper().Methods)
}

// LearningCurves returns the curves over the number of queries, a panel each for the return, the entropy of the reward
// posterior and the distances to the exact posterior (Figure 5a, which shows the first).
func LearningCurves(rows []experiment.Row) exhibit.Chart {
	chart := exhibit.Chart{Name: "learning-curve", Title: "Active learning in random gridworlds"}
	for _, name := range []string{ReturnTrue, RewardEntropy, W1, PolicyTV} {
		panel := exhibit.Panel{XLabel: "queries", YLabel: metric.Label(name)}
		for _, method := range ordered(rows) {
			if c := experiment.Learning(rows, method, name); len(c.X) > 1 {
				c.Name = shownAs(method)
				panel.Curves = append(panel.Curves, c)
			}
		}
		if name == ReturnTrue {
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
	for _, r := range rows {
		last = max(last, r.Demos)
	}
	out := experiment.Tables{Methods: ordered(rows)}
	byQueries := func(name, title string, columns ...column) {
		var shown []exhibit.Column
		out.Rows = nil
		for _, c := range columns {
			key := fmt.Sprintf("%s-%d", c.metric, c.queries)
			shown = append(shown, exhibit.Column{Metric: key, Name: fmt.Sprintf("%safter %d", c.prefix, c.queries),
				Decimals: c.decimals, Better: metric.Better(c.metric)})
			for _, r := range rows {
				if r.Metric == c.metric && r.Demos == c.queries {
					r.Metric = key
					out.Rows = append(out.Rows, r)
				}
			}
		}
		out.Add(exhibit.Table{Name: name, Title: title, Columns: shown})
	}
	var returns []column
	for _, k := range []int{0, 5, 10, 20, 30} {
		if k < last {
			returns = append(returns, column{ReturnTrue, "return ", k, 1})
		}
	}
	returns = append(returns, column{ReturnTrue, "return ", last, 1}, column{RewardEntropy, "entropy ", last, 1})
	byQueries("returns", "Returns of the apprentice by number of queries", returns...)
	for _, d := range []struct{ metric, name, title string }{
		{W1, "w1", "W₁ of the rewards to the exact posterior by number of queries"},
		{PolicyTV, "tv", "TV of the policy to the exact one by number of queries"},
	} {
		var columns []column
		for _, k := range experiment.DemosOf(rows, d.metric) {
			columns = append(columns, column{d.metric, "", k, 3})
		}
		if len(columns) > 0 {
			byQueries(d.name, d.title, columns...)
		}
	}
	for _, t := range out.Made {
		for i, row := range t.Rows {
			t.Rows[i].Method = shownAs(row.Method)
		}
	}
	return out.Made, out.Err
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
	theirs := experiment.ByDemos(rows, ValueWalk, ReturnTrue)
	for k, values := range experiment.ByDemos(rows, method, name) {
		if k > 0 && len(theirs[k]) > 1 {
			of++
			vw := experiment.Mean(theirs[k])
			if math.Abs(experiment.Mean(values).Mean-vw.Mean) <= vw.StdErr {
				inside++
			}
		}
	}
	return inside, of
}

// courses returns the metrics of the returns of a method's courses; none if it has but one.
func courses(rows []experiment.Row, method string) (metrics []string) {
	for k := 1; len(experiment.ByDemos(rows, method, courseMetric(k))) > 0; k++ {
		metrics = append(metrics, courseMetric(k))
	}
	return metrics
}
