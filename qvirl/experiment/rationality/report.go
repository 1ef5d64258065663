package rationality

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/metric"
)

// Report makes the table of the calibration, and that of the learners.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "The rationality coefficient, inferred"}
	if t := Calibration(rows); t != nil {
		r.Tables = append(r.Tables, *t)
	}
	if t := Losses(rows); t != nil {
		r.Tables = append(r.Tables, *t)
	}
	if len(r.Tables) == 0 {
		return nil, fmt.Errorf("rationality: no rows to report")
	}
	return r, nil
}

// Calibration returns the table of the coverage of β's intervals over draws from the prior, or nil if there are none.
func Calibration(rows []experiment.Row) *exhibit.Table {
	drawn := experiment.Where(rows, func(r experiment.Row) bool {
		_, ok := worlds.ExpertOf(r.Environment)
		return !ok
	})
	t, _ := experiment.Tabulate(drawn, []string{ValueWalk, QVIRL}, exhibit.Table{Name: "calibration",
		Title:   "Coverage of the inferred β over draws from the prior",
		Columns: metric.Columns(3, Covered)})
	return t
}

// Experts returns the experts' β that rows are of, ascending.
func Experts(rows []experiment.Row) []float64 {
	return experiment.Distinct(rows, func(r experiment.Row) (float64, bool) { return worlds.ExpertOf(r.Environment) })
}

// Loss returns the mean of how much larger a learner's gap is than that of the learner that knows β, over worlds with
// an expert of the given β; nil if there are no rows.
func Loss(rows []experiment.Row, learner string, expert float64) *exhibit.Estimate {
	of := experiment.Where(rows, func(r experiment.Row) bool {
		beta, ok := worlds.ExpertOf(r.Environment)
		return ok && beta == expert
	})
	return experiment.Paired(experiment.Series(of, learner, LogProbGap), experiment.Series(of, Known, LogProbGap))
}

// Losses returns the table of what learners lose against the one that knows β, or nil if there are none. Its last
// column is the largest loss over the experts.
func Losses(rows []experiment.Row) *exhibit.Table {
	t := &exhibit.Table{Name: "losses", Title: "What a learner loses that does not know β: log probability of the " +
		"optimal action in states that no demonstration visits"}
	experts := Experts(rows)
	for _, expert := range experts {
		t.Columns = append(t.Columns, exhibit.Column{Metric: fmt.Sprintf("loss_%g", expert),
			Name: fmt.Sprintf("expert β = %g", expert), Decimals: 3})
	}
	t.Columns = append(t.Columns, exhibit.Column{Metric: "worst", Name: "worst", Decimals: 3})
	for _, learner := range []string{Wrong, Inferred, Misled} {
		var losses []*exhibit.Estimate
		worst := math.Inf(-1)
		for _, expert := range experts {
			e := Loss(rows, learner, expert)
			if e != nil {
				worst = math.Max(worst, e.Mean)
			}
			losses = append(losses, e)
		}
		if !math.IsInf(worst, -1) {
			t.AddRow(learner, append(losses, exhibit.Number(worst))...)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
