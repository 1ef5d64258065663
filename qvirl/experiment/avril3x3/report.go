package avril3x3

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/experiment"
)

// paper holds the counts that the paper's text gives.
var paper = experiment.Reference{Name: "paper", Values: map[string]map[string]experiment.Estimate{
	AVRIL(0.2): {Below02: {Mean: 5, StdErr: math.NaN()}},
	AVRIL(0.5): {Below0001: {Mean: 8, StdErr: math.NaN()}},
}}

// Report makes the tables: standard deviations and means of the rewards, values, and how far the posterior collapsed.
func Report(rows []experiment.Row, _ *experiment.Record) (*experiment.Report, error) {
	tables, err := Tables(rows)
	if err != nil {
		return nil, err
	}
	return &experiment.Report{Title: "AVRIL on a 3×3 gridworld", Tables: tables, Text: []string{
		"Posterior standard deviations of the rewards under the prior N(0, 66²). The paper reports that at λ = 0.2 the standard " +
			"deviation of five states falls below 0.2 where it should be 40 to 64, that at λ = 0.5 it falls below 0.001 in eight, and that " +
			"at λ = 0.1 the posterior is essentially the prior."}}, nil
}

// Tables returns the tables of the report.
func Tables(rows []experiment.Row) ([]experiment.Table, error) {
	methods := order(experiment.Methods(rows))
	var out []experiment.Table
	for _, t := range []struct {
		name, title, metric string
		decimals            int
	}{
		{"reward-std", "Standard deviation of the reward", RewardStd, 2}, {"reward-mean", "Mean of the reward", RewardMean, 1},
		{"value-mean", "Mean of the optimal value", ValueMean, 1}, {"value-std", "Standard deviation of the optimal value", ValueStd, 1},
	} {
		var columns []experiment.Column
		for s, name := range States {
			columns = append(columns, experiment.Column{Metric: ofState(t.metric, s), Title: name, Decimals: t.decimals})
		}
		table, err := experiment.Tabulate(rows, methods, columns)
		if err != nil {
			return nil, err
		}
		table.Name, table.Title = t.name, t.title
		out = append(out, *table)
	}
	table, err := experiment.Tabulate(rows, methods, []experiment.Column{
		{Metric: W1, Title: "W1 to ValueWalk", Decimals: 2}, {Metric: MeanAbs, Title: "mean |posterior mean|", Decimals: 2},
		{Metric: Below02, Title: "states with std < 0.2", Decimals: 0}, {Metric: Below0001, Title: "with std < 0.001", Decimals: 0}}, paper)
	if err != nil {
		return nil, err
	}
	table.Name, table.Title = "collapse", "Collapse"
	return append(out, *table), nil
}

// order puts the methods into the order of the tables.
func order(methods []string) []string {
	rank := func(m string) float64 {
		var lambda float64
		switch {
		case m == ValueWalk:
			return -2
		case m == QVIRL:
			return -1
		case strings.HasPrefix(m, avrilPrefix):
			fmt.Sscanf(m, avrilPrefix+"%g", &lambda)
		}
		return lambda
	}
	slices.SortFunc(methods, func(a, b string) int {
		if rank(a) < rank(b) {
			return -1
		}
		return 1
	})
	return methods
}
