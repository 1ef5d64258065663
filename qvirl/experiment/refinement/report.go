package refinement

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// families are the approximate posteriors in the order of the table.
var families = []string{Paper, Start, SVI, LogExpected, Values, Rewards, Matched, Refined, ExactValues, ExactRewards,
	ExactWarped}

// Seconds is a column of the table of families that comes from the record of the run: seconds of processor time a
// world.
const Seconds = "seconds"

// Report makes the table of families, the figure of refinements, and the table of verdicts.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "Beyond the paper: approximate posteriors, refined and judged"}
	if compared, _ := split(rows); len(compared) > 0 {
		t, err := Families(rows, record)
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, *t)
		if chart := Transitions(rows, record); chart != nil {
			r.Charts = append(r.Charts, *chart)
		}
	}
	if t := Verdicts(rows); t != nil {
		r.Tables = append(r.Tables, *t)
	}
	if len(r.Tables) == 0 {
		return nil, fmt.Errorf("refinement: no rows to report")
	}
	return r, nil
}

// split separates rows on the worlds of the comparison from those of diagnoses.
func split(rows []experiment.Row) (compared, judged []experiment.Row) {
	verdict := map[uint64]bool{}
	for _, r := range rows {
		if r.Metric == Verdict {
			verdict[r.Seed] = true
		}
	}
	return experiment.Where(rows, func(r experiment.Row) bool { return !verdict[r.Seed] }),
		experiment.Where(rows, func(r experiment.Row) bool { return verdict[r.Seed] })
}

// Families returns the table of approximate posteriors on the worlds of the comparison; rows of diagnoses do not
// count. Seconds are those of the record, which may be nil.
func Families(rows []experiment.Row, record *experiment.Record) (*exhibit.Table, error) {
	rows, _ = split(rows)
	t, err := experiment.Tabulate(rows, families, exhibit.Table{Name: "families",
		Title: "Families of approximate posteriors, means over tuning worlds", Notes: []string{"Rows “best …”: " +
			"matched to the exact posterior's own samples, which is what the family could reach at best."},
		Columns: []exhibit.Column{{Metric: metric.W1, Name: "W₁", Decimals: 3},
			{Metric: metric.PolicyTV, Name: "TV", Decimals: 3},
			{Metric: metric.RewardCoverage, Name: "reward in 90 % CI", Decimals: 3},
			{Metric: metric.PolicyCoverage, Name: "policy in 90 % CI", Decimals: 3},
			{Metric: metric.LogDensity, Name: "log density", Decimals: 3}}})
	if err != nil {
		return nil, err
	}
	if record == nil || len(record.Processor) == 0 {
		return t, nil
	}
	t.Columns = append(t.Columns, exhibit.Column{Metric: Seconds, Name: "CPU seconds a world", Decimals: 2})
	for i, row := range t.Rows {
		t.Rows[i].Cells = append(t.Rows[i].Cells, exhibit.Cell{Estimate: secondsOf(rows, record, row.Method)})
	}
	t.Notes = append(t.Notes, "Seconds are processor time, of all threads together, in the quickest unit of worlds, "+
		"so that the compilation of a program counts for none but the first.")
	return t, nil
}

// secondsOf returns the processor time of a method for a world in its quickest unit; nil if that is not known. A
// refinement's time is without that of the posterior that it started from.
func secondsOf(rows []experiment.Row, record *experiment.Record, method string) *exhibit.Estimate {
	if record == nil {
		return nil
	}
	worlds := len(experiment.Series(rows, method, metric.W1))
	least, units := math.Inf(1), 0
	for _, u := range record.Units {
		if s, ok := u.Processor[method]; ok && strings.Contains(u.Unit, comparedUnits) {
			least, units = math.Min(least, s), units+1
		}
	}
	if units == 0 || worlds == 0 {
		return nil
	}
	return exhibit.Number(least * float64(units) / float64(worlds))
}

// Transitions returns the figure of refinements over their transitions on the worlds of the comparison: distance to the
// exact posterior, and seconds; or nil if the rows hold no refinements.
func Transitions(rows []experiment.Row, record *experiment.Record) *exhibit.Chart {
	rows, _ = split(rows)
	chart := &exhibit.Chart{Name: "transitions", Title: "From variational to exact"}
	for _, of := range []struct{ label, metric string }{{metric.Label(metric.W1), metric.W1},
		{metric.Label(metric.PolicyTV), metric.PolicyTV}, {"CPU seconds a world", Seconds}} {
		panel := exhibit.Panel{XLabel: "transitions k", YLabel: of.label}
		for _, from := range []string{Paper, Matched} {
			curve := exhibit.Curve{Name: from}
			for k := range maxTransitions {
				if name := turned(from, k); of.metric == Seconds {
					curve.Add(float64(k), secondsOf(rows, record, name))
				} else {
					curve.Add(float64(k), experiment.Average(rows, name, of.metric))
				}
			}
			if len(curve.X) > 1 {
				panel.Curves = append(panel.Curves, curve)
			}
		}
		if len(panel.Curves) > 0 {
			chart.Panels = append(chart.Panels, panel)
		}
	}
	if len(chart.Panels) == 0 {
		return nil
	}
	return chart
}

// Verdicts returns the table of diagnoses: how often each verdict was given to an approximate posterior and how often
// it was right; or nil if there are none.
func Verdicts(rows []experiment.Row) *exhibit.Table {
	_, rows = split(rows)
	t := &exhibit.Table{Name: "verdicts", Title: "Diagnoses, and how often they were right",
		Notes: []string{fmt.Sprintf(
			"“trust” is right if the reward marginals are within %g posterior standard deviations of the exact ones "+
				"and the policy within %g in total variation; “refine” if they are not but those of the refined "+
				"posterior are; “do not use” if neither are.", errorLimit, tvLimit),
			"“error” and “refined” are the mean W₁ of the rewards' marginals to the exact ones, in posterior " +
				"standard deviations, before and after the refinement. k̂ is the shape of the tail of the importance " +
				"weights, which cannot be used above 0.7."}}
	for code, name := range diagnoses {
		t.Columns = append(t.Columns, exhibit.Column{Metric: fmt.Sprintf("given_%d", code), Name: name},
			exhibit.Column{Metric: fmt.Sprintf("right_%d", code), Name: "right"})
	}
	t.Columns = append(append(t.Columns, metric.Columns(3, Error, RefinedError)...), metric.Columns(2, KHat)...)
	for _, name := range families {
		given := experiment.Series(rows, name, Verdict)
		if len(given) == 0 {
			continue
		}
		right := experiment.Series(rows, name, Right)
		var estimates []*exhibit.Estimate
		for code := range diagnoses {
			count, correct := 0.0, 0.0
			for seed, v := range given {
				if int(v) == code {
					count++
					correct += right[seed]
				}
			}
			estimates = append(estimates, exhibit.Number(count), exhibit.Number(correct))
		}
		for _, m := range []string{Error, RefinedError, KHat} {
			estimates = append(estimates, experiment.Average(rows, name, m))
		}
		t.AddRow(name, estimates...)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
