package obstacle

import (
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// StatesTable is an empty table of the metric of that name over the states.
func StatesTable(title, name string, decimals int) exhibit.Table {
	t := exhibit.Table{Name: strings.ReplaceAll(name, "_", "-"), Title: title}
	for s, state := range States {
		t.Columns = append(t.Columns, exhibit.Column{Metric: experiment.OfState(name, s), Name: state,
			Decimals: decimals})
	}
	return t
}

// Told are the numbers about a sampler's computation that become rows.
var Told = []string{metric.RHatMax, metric.ESSBulkMin, metric.ESSTailMin, metric.Acceptance, metric.Iterations}

// SamplerTable compares Markov chains that sampled the same posterior: their convergence, by rows of Told, and
// the effective samples a second, if the record of the run is given. It is nil where there are no such rows.
func SamplerTable(rows []experiment.Row, record *experiment.Record, methods ...string) *exhibit.Table {
	table, err := experiment.Tabulate(rows, methods, exhibit.Table{Name: "samplers",
		Title: "Samplers of the exact posterior", Columns: slices.Concat(metric.Columns(4, metric.RHatMax),
			metric.Columns(0, metric.ESSBulkMin, metric.ESSTailMin), metric.Columns(2, metric.Acceptance),
			metric.Columns(0, metric.Iterations))})
	if err != nil {
		return nil
	}
	table.Rows = slices.DeleteFunc(table.Rows, func(r exhibit.Row) bool { return r.Cells[1].Estimate == nil })
	if len(table.Rows) == 0 {
		return nil
	}
	table.Notes = []string{"Of all rewards and values, the worst counts. Effective samples are those of the samples " +
		"that are kept. " +
		"An iteration of ValueWalk is a trajectory through all values, one of PolicyWalk a proposal for each reward."}
	if record == nil {
		return table
	}
	table.Columns = append(table.Columns, exhibit.Column{Name: "seconds", Decimals: 1, Better: exhibit.Lower},
		exhibit.Column{Name: "bulk ESS a second", Better: exhibit.Higher})
	for i := range table.Rows {
		row := &table.Rows[i]
		cells := make([]exhibit.Cell, 2)
		if seconds := record.Seconds[row.Method]; seconds > 0 {
			cells[0].Estimate = exhibit.Number(seconds)
			cells[1].Estimate = exhibit.Number(row.Cells[1].Estimate.Mean / seconds)
		}
		row.Cells = append(row.Cells, cells...)
	}
	return table
}
