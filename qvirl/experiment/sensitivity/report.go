package sensitivity

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
)

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "QVIRL with a wrong rationality coefficient on random 8×8 gridworlds (Figure 10)",
		Quick, Paper, Report)
}

// Grid is a metric over experts and learners.
type Grid struct {
	Demos             []int
	Experts, Learners []float64
	Cells             map[int][][]*exhibit.Estimate // by number of demonstrations; [learner][expert]
}

// NewGrid averages a metric of the learners over worlds.
func NewGrid(rows []experiment.Row, metric string) (*Grid, error) {
	rows = experiment.Where(rows, func(r experiment.Row) bool { return r.Metric == metric && r.Method != Expert })
	if len(rows) == 0 {
		return nil, fmt.Errorf("sensitivity: no row holds %s", metric)
	}
	for _, r := range rows {
		if _, ok := expertOf(r); !ok {
			return nil, fmt.Errorf("sensitivity: the environment %q does not name the expert's β", r.Environment)
		}
		if _, ok := learnerOf(r); !ok {
			return nil, fmt.Errorf("sensitivity: a row of %s has no β", r.Name())
		}
	}
	g := &Grid{Demos: experiment.DemosOf(rows, metric), Experts: experiment.Distinct(rows, expertOf),
		Learners: experiment.Distinct(rows, learnerOf), Cells: map[int][][]*exhibit.Estimate{}}
	for _, demos := range g.Demos {
		for _, learner := range g.Learners {
			var line []*exhibit.Estimate
			for _, expert := range g.Experts {
				line = append(line, experiment.Average(of(rows, demos, expert), Learner(learner), metric))
			}
			g.Cells[demos] = append(g.Cells[demos], line)
		}
	}
	return g, nil
}

func expertOf(r experiment.Row) (beta float64, ok bool) { return worlds.ExpertOf(r.Environment) }

func learnerOf(r experiment.Row) (beta float64, ok bool) { return r.Setting("beta") }

// of returns the rows with so many demonstrations by an expert.
func of(rows []experiment.Row, demos int, expert float64) []experiment.Row {
	return experiment.Where(rows, func(r experiment.Row) bool {
		beta, ok := expertOf(r)
		return ok && beta == expert && r.Demos == demos
	})
}

// Table returns the grid at a number of demonstrations: a row for each learner, a column for each expert.
func (g *Grid) Table(name, title string, demos int) exhibit.Table {
	t := exhibit.Table{Name: fmt.Sprintf("%s-%d", name, demos),
		Title: title + ", " + progress.Count(demos, "demonstration", "demonstrations")}
	for _, expert := range g.Experts {
		t.Columns = append(t.Columns, exhibit.Column{Metric: fmt.Sprint(expert), Name: fmt.Sprintf("expert β = %g",
			expert), Decimals: 3})
	}
	for i, learner := range g.Learners {
		t.AddRow(fmt.Sprintf("learner β = %g", learner), g.Cells[demos][i]...)
	}
	return t
}

// Chart draws the grid as a curve over the learner's β for each expert, a panel for each number of demonstrations.
func (g *Grid) Chart(name, title, label string) exhibit.Chart {
	c := exhibit.Chart{Name: name, Title: title}
	for _, demos := range g.Demos {
		p := exhibit.Panel{Title: progress.Count(demos, "demonstration", "demonstrations"), XLabel: "learner's β",
			YLabel: label, LogX: true, Levels: []exhibit.Level{{Name: "as the demonstrator", Y: 0}}}
		for j, expert := range g.Experts {
			curve := exhibit.Curve{Name: fmt.Sprintf("expert's β = %g", expert)}
			for i, learner := range g.Learners {
				curve.Add(learner, g.Cells[demos][i][j])
			}
			p.Curves = append(p.Curves, curve)
		}
		c.Panels = append(c.Panels, p)
	}
	return c
}

// Best returns, for each expert and number of demonstrations, the β of the learner with the smallest mean of a metric,
// and by how much it beats the learner that knows the expert's β: the mean of the differences in each world. The best
// of several looks better than it is, so a difference below two standard errors says little.
func Best(rows []experiment.Row, metricName, name, title string) (*exhibit.Table, error) {
	g, err := NewGrid(rows, metricName)
	if err != nil {
		return nil, err
	}
	t := &exhibit.Table{Name: name, Title: title, Notes: []string{
		"The advantage over the learner that knows the expert's β is the mean over worlds of the difference of the " +
			"two gaps."}}
	for _, demos := range g.Demos {
		t.Columns = append(t.Columns, exhibit.Column{Metric: fmt.Sprintf("best_%d", demos),
			Name: "best β, " + progress.Count(demos, "demo", "demos"), Decimals: 1},
			exhibit.Column{Metric: fmt.Sprintf("advantage_%d", demos), Name: "advantage", Decimals: 3})
	}
	for j, expert := range g.Experts {
		var estimates []*exhibit.Estimate
		for _, demos := range g.Demos {
			best, low := -1, math.Inf(1)
			for i := range g.Learners {
				if e := g.Cells[demos][i][j]; e != nil && e.Mean < low {
					best, low = i, e.Mean
				}
			}
			if best < 0 {
				estimates = append(estimates, nil, nil)
				continue
			}
			here := of(rows, demos, expert)
			estimates = append(estimates, exhibit.Number(g.Learners[best]), experiment.Paired(
				experiment.Series(here, Learner(expert), metricName),
				experiment.Series(here, Learner(g.Learners[best]), metricName)))
		}
		t.AddRow(fmt.Sprintf("expert β = %g", expert), estimates...)
	}
	return t, nil
}

// Report makes a table for each metric and number of demonstrations, a figure of each metric on held-out states, and a
// table of the best learners.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "Sensitivity to the rationality coefficient", Text: []string{
		"How much less probability the learner gives to the truly optimal action than the demonstrator, averaged " +
			"over states that are not terminal and that no demonstration visits. Positive: the learner gives it less."}}
	for _, m := range []struct{ metric, name, title, label string }{
		{LogProbGap, "log-prob", "Log probability, demonstrator less learner", "log probability gap"},
		{ProbGap, "prob", "Probability, demonstrator less learner", "probability gap"},
	} {
		g, err := NewGrid(rows, m.metric)
		if err != nil {
			return nil, err
		}
		for _, demos := range g.Demos {
			r.Tables = append(r.Tables, g.Table(m.name, m.title, demos))
		}
		r.Charts = append(r.Charts, g.Chart(m.name, m.title, m.label))
	}
	best, err := Best(rows, LogProbGap, "best", "Learners with the smallest log probability gap")
	if err != nil {
		return nil, err
	}
	r.Tables = append(r.Tables, *best)
	return r, nil
}
