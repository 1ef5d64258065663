package obstacle

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/metric"
)

// The metrics of the samplers' chains, which the registry of package metric explains.
const (
	RHatMax    = "rhat_max"
	ESSBulkMin = "ess_bulk_min"
	ESSTailMin = "ess_tail_min"
	Acceptance = "acceptance"
	Iterations = "iterations"
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

// Sampler is a posterior that a Markov chain has sampled.
type Sampler interface {
	irl.ValuePosterior
	Sampling() *mcmc.Diagnostics
}

// ChainMetrics returns the metrics of a sampler's chains by name. Those that do not exist are left out.
func ChainMetrics(s Sampler) map[string]float64 {
	d := s.Sampling()
	out := map[string]float64{Acceptance: d.Acceptance, Iterations: float64(d.Iterations)}
	rhat, bulk := d.Worst()
	for name, v := range map[string]float64{RHatMax: rhat, ESSBulkMin: bulk,
		ESSTailMin: min(floats.Min(d.Reward.TailESS), floats.Min(d.Value.TailESS))} {
		if !math.IsNaN(v) {
			out[name] = v
		}
	}
	return out
}

// SamplerTable compares Markov chains that sampled the same posterior: their convergence, by rows of ChainMetrics, and
// the effective samples a second, if the record of the run is given. It is nil where there are no such rows.
func SamplerTable(rows []experiment.Row, record *experiment.Record, methods ...string) *exhibit.Table {
	table, err := experiment.Tabulate(rows, methods, exhibit.Table{Name: "samplers",
		Title: "Samplers of the exact posterior", Columns: slices.Concat(metric.Columns(4, RHatMax),
			metric.Columns(0, ESSBulkMin, ESSTailMin), metric.Columns(2, Acceptance), metric.Columns(0, Iterations))})
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
			cells[0], cells[1] = exhibit.Number(seconds), exhibit.Number(row.Cells[1].Estimate.Mean/seconds)
		}
		row.Cells = append(row.Cells, cells...)
	}
	return table
}
