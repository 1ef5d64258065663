package avril3x3

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
)

// paper holds the counts that the paper's text gives.
var paper = exhibit.Reference{Name: "paper", Values: map[string]map[string]exhibit.Estimate{
	obstacle.AVRIL(0.2): {Below02: {Mean: 5, StdErr: math.NaN()}},
	obstacle.AVRIL(0.5): {Below0001: {Mean: 8, StdErr: math.NaN()}},
}}

// Report makes the tables: standard deviations and means of the rewards, values, and how far the posterior collapsed.
// The last is about the samplers.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	c := Paper()
	if record != nil && len(record.Config) > 0 {
		if err := json.Unmarshal(record.Config, &c); err != nil {
			return nil, fmt.Errorf("avril3x3: the record's config: %w", err)
		}
	}
	t := experiment.Tables{Rows: rows}
	t.Made, t.Err = Tables(rows)
	c.addRates(&t)
	addWeights(&t)
	if t.Err != nil {
		return nil, t.Err
	}
	if samplers := obstacle.SamplerTable(rows, record, obstacle.ValueWalk, obstacle.PolicyWalk); samplers != nil {
		t.Made = append(t.Made, *samplers)
	}
	return &exhibit.Report{Title: "AVRIL on a 3×3 gridworld", Tables: t.Made, Charts: c.widths(rows), Text: []string{
		"Posterior standard deviations of the rewards under the prior N(0, 66²). The paper reports that at λ = 0.2 " +
			"the standard deviation of five states falls below 0.2 where it should be 40 to 64, that at λ = 0.5 it " +
			"falls below 0.001 in eight, and that at λ = 0.1 the posterior is essentially the prior."}}, nil
}

// widths returns the smallest and the largest standard deviation of AVRIL's rewards over λ, beside that which no
// demonstration changes, PriorStd·√(1 − λ·|A|): a chart, or none where the rows have fewer than two values of λ.
func (c Config) widths(rows []experiment.Row) []exhibit.Chart {
	low, high, free := exhibit.Curve{Name: "smallest of the nine cells"},
		exhibit.Curve{Name: "largest of the nine cells"}, exhibit.Curve{Name: fmt.Sprintf("%g √(1 − 5λ)", c.PriorStd)}
	for _, method := range order(experiment.Methods(rows)) {
		lambda, rate, ok := obstacle.SettingOf(method)
		if !ok || rate != 0 {
			continue
		}
		smallest, largest := experiment.Average(rows, method, StdMin), experiment.Average(rows, method, StdMax)
		if smallest == nil || largest == nil {
			continue
		}
		low.X, low.Y = append(low.X, lambda), append(low.Y, smallest.Mean)
		high.X, high.Y = append(high.X, lambda), append(high.Y, largest.Mean)
	}
	if len(low.X) < 2 {
		return nil
	}
	const points = 100
	for i := range points {
		lambda := collapse * 0.999 * float64(i) / (points - 1)
		free.X, free.Y = append(free.X, lambda), append(free.Y, c.PriorStd*math.Sqrt(1-lambda/collapse))
	}
	return []exhibit.Chart{{Name: "widths", Title: "AVRIL: posterior standard deviation of the rewards",
		Panels: []exhibit.Panel{{
			XLabel: "λ", YLabel: "standard deviation", LogY: true, Curves: []exhibit.Curve{low, high, free},
			Marks: []exhibit.Mark{{Note: "1/5", X: collapse}}}}}}
}

// collapse is the λ from which on AVRIL's objective has no maximum: one over the number of actions.
const collapse = 0.2

// addRates adds the table that compares AVRIL's learning rates at the values of λ that have more than one.
func (c Config) addRates(t *experiment.Tables) {
	var methods []string
	all := order(experiment.Methods(t.Rows))
	for _, method := range all {
		lambda, _, ok := obstacle.SettingOf(method)
		if ok && slices.ContainsFunc(all, func(other string) bool {
			at, rate, _ := obstacle.SettingOf(other)
			return at == lambda && rate != 0
		}) {
			methods = append(methods, method)
		}
	}
	addCompared(t, methods, exhibit.Table{Name: "rates", Title: "AVRIL by learning rate",
		Notes: []string{fmt.Sprintf("Without a learning rate in its name: the experiment's own, %g.",
			c.AVRIL.LearningRate)},
		Columns: append(metric.Columns(5, StdMin, StdMax), metric.Columns(0, Below02, Below0001)...)})
}

// addWeights adds the table that compares weights of the KL divergence in QVIRL's objective.
func addWeights(t *experiment.Tables) {
	methods := slices.DeleteFunc(order(experiment.Methods(t.Rows)), func(m string) bool {
		return m != obstacle.QVIRL && !reweighted(m)
	})
	addCompared(t, methods, exhibit.Table{Name: "weights",
		Title:   "QVIRL by the weight of the KL divergence",
		Notes:   []string{"Without a weight in its name: the ELBO's, 1."},
		Columns: metric.Columns(2, W1, StdMin, StdMax, MeanAbs)})
}

// addCompared adds the table of several methods, if there are several.
func addCompared(t *experiment.Tables, methods []string, table exhibit.Table) {
	if t.Methods = methods; len(methods) > 1 {
		t.Add(table)
	}
}

// reweighted reports whether a method is QVIRL with another weight of the KL divergence than the ELBO's.
func reweighted(name string) bool {
	_, ok := experiment.RowOf(name, "", 0, 0).Setting(klWeight)
	return ok
}

// Tables returns the tables of the methods that have all metrics, with the ELBO's weight of the KL divergence.
func Tables(rows []experiment.Row) ([]exhibit.Table, error) {
	methods := order(experiment.Methods(rows))
	methods = slices.DeleteFunc(methods, func(m string) bool {
		return reweighted(m) || experiment.Average(rows, m, W1) == nil
	})
	out := experiment.Tables{Rows: rows, Methods: methods}
	out.Add(obstacle.StatesTable("Standard deviation of the reward", RewardStd, 2))
	out.Add(obstacle.StatesTable("Mean of the reward", RewardMean, 1))
	out.Add(obstacle.StatesTable("Mean of the optimal value", ValueMean, 1))
	out.Add(obstacle.StatesTable("Standard deviation of the optimal value", ValueStd, 1))
	out.Add(exhibit.Table{Name: "collapse", Title: "Collapse",
		Columns: append(metric.Columns(2, W1, MeanAbs), metric.Columns(0, Below02, Below0001)...)}, paper)
	return out.Made, out.Err
}

// order puts the methods into the order of the tables: the samplers, QVIRL by its weight of the KL divergence, and
// AVRIL by λ and learning rate, the experiment's own last.
func order(methods []string) []string {
	kinds := []string{obstacle.ValueWalk, obstacle.PolicyWalk, obstacle.QVIRL, method.AVRIL}
	rank := func(name string) (kind int, setting, rate float64) {
		row := experiment.RowOf(name, "", 0, 0)
		kind, setting = slices.Index(kinds, row.Method), 1
		for _, key := range []string{klWeight, "lambda"} {
			if value, ok := row.Setting(key); ok {
				setting = value
			}
		}
		rate, _ = row.Setting("rate")
		return kind, setting, -rate
	}
	slices.SortFunc(methods, func(a, b string) int {
		kindA, settingA, rateA := rank(a)
		kindB, settingB, rateB := rank(b)
		return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(settingA, settingB), cmp.Compare(rateA, rateB))
	})
	return methods
}
