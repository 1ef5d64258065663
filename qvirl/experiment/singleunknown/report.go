package singleunknown

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// tableMethods are the methods in the order of the tables.
var tableMethods = []string{Exact, ValueWalk, ValueWalkNoDet, QVIRL, QVIRLHighest, QVIRLBetween}

// paper holds the numbers in the paper's text, which are QVIRL's. The posterior mean follows from them and the map.
var paper = func() exhibit.Reference {
	values := map[string]exhibit.Estimate{}
	for metric, v := range map[string]float64{RewardMean: -4.75, QThrough: 8.0, QAround: 5.2, CautiousThrough: 2.7,
		OnlyTile: 2.7} {
		values[metric] = *exhibit.Number(v)
	}
	return exhibit.Reference{Name: "paper", Values: map[string]map[string]exhibit.Estimate{
		QVIRL: values, QVIRLHighest: values, QVIRLBetween: values}}
}()

// Report makes two tables for each standard deviation of the known rewards: decisions, and diagnostics.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "One unknown reward: through or around?", Text: []string{
		"The apprentice in the bottom right cell can cut through the tile of unknown reward (prior N(−1, 10²)) or go " +
			"around. It plans with the posterior mean reward, or, cautious, with the mean less two standard " +
			"deviations in every cell. The last but one column lowers the reward of the unknown tile alone."}}
	tables, err := Tables(rows)
	r.Tables = tables
	return r, err
}

// Tables returns the tables of the report.
func Tables(rows []experiment.Row) ([]exhibit.Table, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("singleunknown: no rows to report")
	}
	byEnvironment := map[string][]experiment.Row{}
	for _, row := range rows {
		byEnvironment[row.Environment] = append(byEnvironment[row.Environment], row)
	}
	var out experiment.Tables
	for _, name := range slices.Sorted(maps.Keys(byEnvironment)) {
		var std float64
		if _, err := fmt.Sscanf(name, "gridworld-3x3-known-%g", &std); err != nil {
			return nil, fmt.Errorf("singleunknown: environment %q is not one of this experiment", name)
		}
		out.Rows, out.Methods = byEnvironment[name], tableMethods
		out.Add(exhibit.Table{Name: name,
			Title: fmt.Sprintf("Other rewards known up to a standard deviation of %g", std),
			Notes: []string{"The ELBO of exact is the log evidence, which no ELBO exceeds but for the closed form of " +
				"the likelihood."},
			Columns: metric.Columns(2, RewardMean, RewardStd, QThrough, QAround, CautiousThrough, CautiousAround,
				OnlyTile, ELBO)}, paper)
		out.Methods = []string{Exact, ValueWalk, ValueWalkNoDet}
		out.Add(exhibit.Table{Name: name + "-diagnostics", Title: fmt.Sprintf("Diagnostics at %g", std),
			Columns: append(metric.Columns(3, RHatMax), metric.Columns(0, ESS)...)})
	}
	return out.Made, out.Err
}
