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
// The last is about the samplers.
func Report(rows []experiment.Row, record *experiment.Record) (*experiment.Report, error) {
	tables, err := Tables(rows)
	if err != nil {
		return nil, err
	}
	if samplers := SamplerTable(rows, record, ValueWalk, PolicyWalk); samplers != nil {
		tables = append(tables, *samplers)
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

// SamplerTable compares Markov chains that sampled the same posterior: their convergence, by rows of ChainMetrics, and the
// effective samples a second, if the record of the run is given. It is nil where there are no such rows.
func SamplerTable(rows []experiment.Row, record *experiment.Record, methods ...string) *experiment.Table {
	table, err := experiment.Tabulate(rows, methods, []experiment.Column{
		{Metric: RHatMax, Title: "largest R̂", Decimals: 4}, {Metric: ESSBulkMin, Title: "smallest bulk ESS", Decimals: 0},
		{Metric: ESSTailMin, Title: "smallest tail ESS", Decimals: 0}, {Metric: Acceptance, Title: "acceptance", Decimals: 2},
		{Metric: Iterations, Title: "iterations", Decimals: 0}})
	if err != nil {
		return nil
	}
	table.Name, table.Title = "samplers", "Samplers of the exact posterior"
	table.Rows = slices.DeleteFunc(table.Rows, func(r experiment.TableRow) bool { return r.Cells[1].Estimate == nil })
	if len(table.Rows) == 0 {
		return nil
	}
	table.Notes = []string{"Of all rewards and values, the worst counts. Effective samples are those of the samples that are kept. " +
		"An iteration of ValueWalk is a trajectory through all values, one of PolicyWalk a proposal for each reward."}
	if record == nil {
		return table
	}
	table.Columns = append(table.Columns, experiment.Column{Metric: "seconds", Title: "seconds", Decimals: 1},
		experiment.Column{Metric: "ess_per_second", Title: "bulk ESS a second", Decimals: 0})
	for i := range table.Rows {
		row := &table.Rows[i]
		cells := make([]experiment.Cell, 2)
		if seconds := record.Seconds[row.Method]; seconds > 0 {
			cells[0].Estimate = &experiment.Estimate{Mean: seconds, StdErr: math.NaN()}
			cells[1].Estimate = &experiment.Estimate{Mean: row.Cells[1].Estimate.Mean / seconds, StdErr: math.NaN()}
		}
		row.Cells = append(row.Cells, cells...)
	}
	return table
}

// order puts the methods into the order of the tables.
func order(methods []string) []string {
	rank := func(m string) float64 {
		var lambda float64
		switch {
		case m == ValueWalk:
			return -3
		case m == PolicyWalk:
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
