package apprenticeship

import (
	"fmt"
	"slices"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/metric"
)

// tableMethods are the policies in the order of the tables.
var tableMethods = []string{"valuewalk-mean", "valuewalk-cvar", "qvirl-mean", "qvirl-cvar", "qvirl-exactmax-cvar",
	"qvirl-maxmean-mean", "qvirl-maxmean-cvar", "qvirl-maxmean-exactmax-cvar", "qvirl-log-e-p-mean",
	"qvirl-log-e-p-cvar", "qvirl-log-e-p-exactmax-cvar", "qvirl-e-log-p-mean", "qvirl-e-log-p-cvar",
	"qvirl-e-log-p-exactmax-cvar",
	"qvirl-svi-log-e-p-mean", "qvirl-svi-log-e-p-cvar", "qvirl-svi-mean", "qvirl-svi-cvar",
	"qvirl-matched-mean", "qvirl-matched-cvar", "qvirl-refined-mean", "qvirl-refined-cvar",
	"avril-0.02-mean", "avril-0.02-cvar", "avril-0.17-mean", "avril-0.17-cvar", Optimal, Random}

// paper holds the values of the paper's Table 2: the return under the true reward, and the mean and the CVaR under the
// posterior. Its AVRIL rows stand beside both of ours, since its λ is not known for certain.
var paper = exhibit.Published("paper", []string{ReturnTrue, ReturnMean, ReturnCVaR}, map[string][]float64{
	"valuewalk-mean":  {75.4, 1.8, 112.1, 2.8, 59.9, 2.8},
	"valuewalk-cvar":  {75.8, 1.3, 107.7, 3.0, 62.1, 2.3},
	"qvirl-mean":      {70.8, 2.1, 106.4, 3.2, 49.0, 3.9},
	"qvirl-cvar":      {66.9, 1.9, 89.6, 3.3, 49.7, 2.8}, // from which of the two kinds of samples is not said
	"avril-0.02-mean": {-22.2, 4.8, 5.4, 2.7, -86.3, 3.4},
	"avril-0.02-cvar": {36.7, 1.1, 27.1, 1.4, 14.0, 1.3},
	"avril-0.17-mean": {-22.2, 4.8, 5.4, 2.7, -86.3, 3.4},
	"avril-0.17-cvar": {36.7, 1.1, 27.1, 1.4, 14.0, 1.3},
	Optimal:           {100, 0, 64.0, 3.4, -4.1, 4.5},
	Random:            {0, 0, 5.4, 1.4, -17.1, 1.3},
})

// Report makes the tables.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	tables, err := Tables(rows)
	if err != nil {
		return nil, err
	}
	r := &exhibit.Report{Title: "Apprenticeship on random gridworlds", Tables: tables}
	r.Text = append(r.Text, fmt.Sprintf("Means over %d worlds ± standard error. Returns are normalised in each world: "+
		"0 is the random policy's and 100 the optimal policy's return under the true reward. A mean policy maximises "+
		"the mean of the return over its method's posterior, a CVaR policy the mean of the worst 10 %%.",
		len(experiment.Series(rows, Random, ReturnTrue))))
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// Tables returns Table 2 beside the paper's values, and what the policies promise by their own posteriors.
func Tables(rows []experiment.Row) ([]exhibit.Table, error) {
	rows = worlds.NameLambda(rows)
	t := experiment.Tables{Rows: rows, Methods: tableMethods}
	t.Add(exhibit.Table{Name: "table2",
		Title: "Returns of the apprentices", Notes: []string{"Mean and CVaR are under ValueWalk's samples."},
		Columns: metric.Columns(1, ReturnTrue, ReturnMean, ReturnCVaR)}, paper)
	columns := append(metric.Columns(1, OwnMean, ReturnMeanHeldOut, OwnStd, ReturnStdHeldOut, OwnCVaR,
		ReturnCVaRHeldOut), metric.Columns(4, Gap)...)
	// there may be no held-out samples
	columns = slices.DeleteFunc(columns, func(c exhibit.Column) bool {
		return !slices.ContainsFunc(rows, func(r experiment.Row) bool { return r.Metric == c.Metric })
	})
	t.Add(exhibit.Table{Name: "own",
		Title: "What the policies promise and what they keep", Columns: columns, Notes: []string{"Own: under the " +
			"samples of the policy's own method. Held-out: under a second, independent run of ValueWalk. Std: " +
			"standard deviation of the return. Gap: by how much another policy's own CVaR could at most be higher."}})
	return t.Made, t.Err
}
