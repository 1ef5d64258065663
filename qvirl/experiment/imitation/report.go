package imitation

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// titles name the environments for readers.
var titles = map[string]string{
	LunarLander: "Lunar Lander", Highway: "Highway",
	RivalsCartPole: "Baselines in CartPole", RivalsAcrobot: "Baselines in Acrobot",
	RivalsLunarLander: "Baselines in Lunar Lander",
}

// measures are the metrics that have a table.
var measures = []struct {
	metric   string
	decimals int
}{
	{Return, 1}, {HeldOut, 3}, {HeldOutAirborne, 3}, {HeldOutUncalibrated, 3}, {ECE, 3}, {ECEUncalibrated, 3},
	{ReturnWorst, 1}, {Terminated, 2}, {EnvironmentSteps, 0}, {Objective, 1}, {ObjectiveDemonstrated, 1},
	{ObjectiveRollouts, 1}, {ObjectiveOthers, 1}, {ObjectiveRank, 2}, {TrainSeconds, 1},
}

// figures are means by metric, method and number of trajectories.
type figures map[string]map[string]map[int]float64

// Report makes the tables and figures of the experiment of the given name.
func Report(name string, rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("imitation: no rows to report")
	}
	r := &exhibit.Report{Title: "Few demonstrations: " + titles[name]}
	r.Text = append(r.Text, "Means over runs ± standard error, by the number of trajectories to learn from. Each run "+
		"learns from a subset of its own of the training demonstrations; the log-likelihood and the calibration are "+
		"those of test demonstrations that no run has seen, and all apprentices meet the same episodes. Nothing was "+
		"chosen by held-out data: all figures are those of the end of training. Runs train together, and a run's "+
		"seconds are its part of the time that all took, beside whatever else the machine did.")
	levels := constants(rows)
	rows = experiment.Where(rows, func(r experiment.Row) bool { return r.Demos > 0 })
	if rows = beforeCalibration(rows); slices.ContainsFunc(rows,
		func(r experiment.Row) bool { return r.Metric == HeldOutUncalibrated }) {
		r.Text = append(r.Text, "Most learners were calibrated by parts of the demonstrations that they learnt from. "+
			"Those that were not, whose probabilities are their own, stand beside the others before calibration; "+
			"those of actions in the air are all as they came out.")
	}
	for _, m := range measures {
		t := table(rows, m.metric, m.decimals, references[name][m.metric], experiment.Mean)
		if t == nil {
			continue
		}
		t.Name, t.Title = m.metric, titles[name]+": "+metric.Title(m.metric)
		r.Tables = append(r.Tables, *t)
		if m.metric == Return {
			t := table(rows, Return, m.decimals, nil, spread)
			for i := range t.Columns {
				t.Columns[i].Metric, t.Columns[i].Better = "return_spread", exhibit.Lower
			}
			t.Name, t.Title = "return_spread", titles[name]+": Standard deviation of the return from run to run"
			r.Tables = append(r.Tables, *t)
		}
	}
	r.Charts = charts(name, rows)
	for i := range r.Charts {
		if panel := &r.Charts[i].Panels[0]; panel.YLabel == metric.Label(Return) {
			panel.Levels = levels
		}
	}
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// constants returns the returns of policies that learn nothing.
func constants(rows []experiment.Row) (levels []exhibit.Level) {
	for _, r := range rows {
		if r.Demos == 0 && r.Metric == Return {
			levels = append(levels, exhibit.Level{Name: r.Method, Y: r.Value})
		}
	}
	return levels
}

// beforeCalibration returns the rows with the measures of what was not calibrated among those before calibration, if
// other learners were calibrated: by the metric of the calibrated ones, the curves of those would be one line beside
// them.
func beforeCalibration(rows []experiment.Row) []experiment.Row {
	calibrated := map[string]bool{}
	for _, r := range rows {
		if r.Metric == HeldOutUncalibrated {
			calibrated[r.Method] = true
		}
	}
	if len(calibrated) == 0 {
		return rows
	}
	own := map[string]string{HeldOut: HeldOutUncalibrated, ECE: ECEUncalibrated}
	out := slices.Clone(rows)
	for i, r := range out {
		if metricName, ok := own[r.Metric]; ok && !calibrated[r.Method] {
			out[i].Metric = metricName
		}
	}
	return out
}

// methods lists the methods of the rows, in the order of the longest config and then by name.
func methods(rows []experiment.Row) []string {
	var first []string
	for _, l := range PaperHighway().Learners {
		first = append(first, l.Name)
	}
	return experiment.Ordered(rows, first)
}

// spread is the standard deviation over runs, with its standard error for normal values; nil for less than two.
func spread(values []float64) *exhibit.Estimate {
	if len(values) < 2 {
		return nil
	}
	std := stat.StdDev(values, nil)
	return &exhibit.Estimate{Mean: std, StdErr: std / math.Sqrt(2*float64(len(values)-1)), N: len(values)}
}

// table returns the table of a metric, a column for each number of trajectories and a row for each method that has it,
// or nil if no row holds it. What stands in a cell is a summary over runs, and what was published, if anything was.
func table(rows []experiment.Row, metricName string, decimals int, known map[string]map[int]float64,
	summary func(values []float64) *exhibit.Estimate) *exhibit.Table {
	sizes := experiment.DemosOf(rows, metricName)
	if len(sizes) == 0 {
		return nil
	}
	t := &exhibit.Table{}
	for _, n := range sizes {
		t.Columns = append(t.Columns, exhibit.Column{Metric: metricName, Name: fmt.Sprintf("n = %d", n),
			Decimals: decimals})
	}
	if known != nil {
		t.References = []string{"published"}
	}
	for _, method := range methods(rows) {
		values := experiment.ByDemos(rows, method, metricName)
		if len(values) == 0 {
			continue
		}
		row := exhibit.Row{Method: method}
		for _, n := range sizes {
			cell := exhibit.Cell{Estimate: summary(values[n])}
			if t.References != nil {
				var e *exhibit.Estimate
				if x, ok := known[method][n]; ok {
					e = exhibit.Number(x)
				}
				cell.References = append(cell.References, e)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Compared are the methods of the paper's comparison.
func Compared() []string {
	var out []string
	for _, l := range published(nil) {
		out = append(out, l.Name)
	}
	return out
}

// Main returns the rows of the methods of the paper's comparison, without the variants.
func Main(rows []experiment.Row) []experiment.Row {
	return experiment.Where(rows, func(r experiment.Row) bool { return slices.Contains(Compared(), r.Method) })
}

// charts returns the figures of rows that beforeCalibration has sorted: the paper's comparison in its two panels, what
// calibration makes of it, and QVIRL beside the variants, each if there are rows for it.
func charts(name string, rows []experiment.Row) []exhibit.Chart {
	own := HeldOutUncalibrated // the paper calibrates nothing
	if !slices.ContainsFunc(rows, func(r experiment.Row) bool { return r.Metric == own }) {
		own = HeldOut
	}
	main := []exhibit.Panel{panel(Main(rows), Return, false), panel(Main(rows), own, true)}
	variants := experiment.Where(rows, func(r experiment.Row) bool {
		return r.Method == variational.Name || !slices.Contains(Compared(), r.Method)
	})
	all := []exhibit.Chart{{Name: "few-demonstrations", Title: titles[name] + ": apprentices from few demonstrations",
		Panels: main}}
	if own != HeldOut {
		all = append(all, exhibit.Chart{Name: "calibrated", Title: titles[name] + ": calibrated by the demonstrations",
			Panels: []exhibit.Panel{panel(Main(rows), HeldOut, false), panel(Main(rows), ECE, false)}})
	}
	if len(experiment.Methods(variants)) > 1 {
		all = append(all, exhibit.Chart{Name: "variants", Title: titles[name] + ": QVIRL and the variants",
			Panels: []exhibit.Panel{panel(variants, Return, false), panel(variants, own, true)}})
	}
	return slices.DeleteFunc(all, func(c exhibit.Chart) bool {
		return slices.ContainsFunc(c.Panels, func(p exhibit.Panel) bool { return len(p.Curves) == 0 })
	})
}

// panel returns the curves of a metric over the number of trajectories. Log-likelihoods may have a logarithmic axis,
// since those of learners that are sure and wrong are many times those of others.
func panel(rows []experiment.Row, metricName string, logarithmic bool) exhibit.Panel {
	label := metric.Label(metricName)
	if logarithmic {
		label = metric.Label(HeldOut)
	}
	p := exhibit.Panel{XLabel: "demonstrated trajectories", YLabel: label, LogX: true, LogY: logarithmic, Bars: true}
	for _, method := range methods(rows) {
		if c := experiment.Learning(rows, method, metricName); len(c.X) > 0 {
			p.Curves = append(p.Curves, c)
		}
	}
	return p
}
