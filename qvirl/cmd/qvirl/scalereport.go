package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
)

// costs are what the rows say of the costs of spreading.
type costs struct {
	start   float64 // processor seconds of a task beside its work, compilation on 4×4 worlds included
	work    float64 // processor seconds of the worlds that are shared
	compile float64 // processor seconds on 8×8 worlds
	perRow  float64 // seconds of merging, with the records of the units
	record  float64 // kB of a unit's record
	points  []costPoint
}

type costPoint struct{ tasks, processor, units, wall float64 }

func newCosts(rows []experiment.Row) (*costs, error) {
	values := map[string]map[string]float64{}
	for _, r := range rows {
		if values[r.Method] == nil {
			values[r.Method] = map[string]float64{}
		}
		values[r.Method][r.Metric] = r.Value
	}
	c := &costs{compile: values["program"][compileSeconds]}
	rowsSquared, rowsSeconds, stores := 0., 0., 0
	for _, name := range slices.Sorted(maps.Keys(values)) { // in one order, for equal sums
		m := values[name]
		kind, number, _ := strings.Cut(name, "-")
		n, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil:
		case kind == "tasks":
			c.points = append(c.points, costPoint{n, m[processorSeconds], m[unitSeconds], m[wallSeconds]})
		case kind == "store":
			// merging = rows × perRow, by least squares
			stores, rowsSquared = stores+1, rowsSquared+m[rowCount]*m[rowCount]
			rowsSeconds += m[rowCount] * m[mergeSeconds]
			c.record = 1e3 * m[recordMB] / n
		}
	}
	if len(c.points) < 2 || stores < 3 {
		return nil, errors.New("scaling: the rows lack numbers of tasks or of units")
	}
	slices.SortFunc(c.points, func(a, b costPoint) int { return int(a.tasks - b.tasks) })
	// processor time = work + tasks × start, by least squares
	a, b := mat.NewDense(len(c.points), 2, nil), mat.NewVecDense(len(c.points), nil)
	for i, p := range c.points {
		a.SetRow(i, []float64{1, p.tasks})
		b.SetVec(i, p.processor)
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return nil, fmt.Errorf("scaling: %w", err)
	}
	c.work, c.start = x.AtVec(0), x.AtVec(1)
	c.perRow = rowsSeconds / rowsSquared
	return c, nil
}

// coresDrawn are the numbers of cores at which predictions are drawn; a task has one.
var coresDrawn = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}

// prediction is how long a job takes, in seconds by the clock, and what the time goes into.
type prediction struct{ work, start, merge float64 }

func (p prediction) total() float64 { return p.work + p.start + p.merge }

// predict returns the time of so many equal units on cores: ⌈units/cores⌉ units one after the other on the core that
// has most, a start of each process, and one merge at the end.
func (c *costs) predict(cores, units, unitWork, start, rows float64) prediction {
	return prediction{work: math.Ceil(units/cores) * unitWork, start: start, merge: rows * c.perRow}
}

// scaleReport makes the tables and figures of the study.
func scaleReport(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	c, err := newCosts(rows)
	if err != nil {
		return nil, err
	}
	stored := func(name, metric string) float64 {
		v := experiment.Average(rows, name, metric)
		if v == nil {
			return math.NaN()
		}
		return v.Mean
	}
	number := exhibit.Number
	tasks := exhibit.Table{Name: "tasks", Title: "The same worlds shared by tasks", Columns: []exhibit.Column{
		{Name: "processor seconds", Decimals: 1}, {Name: "within units", Decimals: 1}, {Name: "by the clock",
			Decimals: 1},
		{Name: "model", Decimals: 1}}}
	var measured, model exhibit.Curve
	measured.Name, model.Name = "measured", "work + tasks · start"
	for _, p := range c.points {
		fitted := c.work + p.tasks*c.start
		tasks.AddRow(fmt.Sprintf("%g tasks", p.tasks), number(p.processor), number(p.units), number(p.wall),
			number(fitted))
		measured.X, measured.Y = append(measured.X, p.tasks), append(measured.Y, p.processor)
		model.X, model.Y = append(model.X, p.tasks), append(model.Y, fitted)
	}
	panels := []exhibit.Panel{
		{Title: "measured on two cores", XLabel: "tasks", YLabel: "processor seconds", LogX: true,
			Curves: []exhibit.Curve{measured, model}, YRange: &[2]float64{0, 1.1 * slices.Max(measured.Y)}},
		{Title: "predicted", XLabel: "cores", YLabel: "speed, % of the ideal", LogX: true,
			Levels: []exhibit.Level{{Name: "ideal", Y: 100}}, YRange: &[2]float64{0, 105}},
	}
	predicted := exhibit.Table{Name: "predicted", Title: "Predicted time by the clock, in minutes",
		Columns: []exhibit.Column{
			{Name: "1 core", Decimals: 0}, {Name: "64 cores", Decimals: 1}, {Name: "1000 cores", Decimals: 1},
			{Name: "of which work", Decimals: 1}, {Name: "start", Decimals: 1}, {Name: "merging", Decimals: 1}}}
	process := stored("program", processorSeconds) - stored("program", unitSeconds)
	var text []string
	for _, job := range []struct {
		name, of     string
		pieces, each float64 // worlds or learners, and how many of them to a unit
		compile      float64 // what the stored times lack; those of learners have it
	}{
		{"Table 1, 20 worlds a unit", "posterior-quality", 1e5, 20, c.compile},
		{"Table 1, 100 worlds a unit", "posterior-quality", 1e5, 100, c.compile},
		{"Lunar Lander, 10 learners a unit", "lunarlander", 1000, 10, 0},
		{"Lunar Lander, 1 learner a unit", "lunarlander", 1000, 1, 0},
	} {
		n := stored(job.of, pieces)
		work, perPiece := stored(job.of, coreSeconds)/n, stored(job.of, rowCount)/n
		at := func(cores float64) prediction {
			return c.predict(cores, job.pieces/job.each, job.each*work, process+job.compile, job.pieces*perPiece)
		}
		thousand := at(1000)
		var minutes []*exhibit.Estimate
		for _, v := range []float64{at(1).total(), at(64).total(), thousand.total(), thousand.work, thousand.start,
			thousand.merge} {
			minutes = append(minutes, number(v/60))
		}
		predicted.AddRow(job.name, minutes...)
		curve := exhibit.Curve{Name: job.name}
		for _, cores := range coresDrawn {
			curve.X, curve.Y = append(curve.X, cores), append(curve.Y, 100*at(1).total()/at(cores).total()/cores)
		}
		panels[1].Curves = append(panels[1].Curves, curve)
		text = append(text, fmt.Sprintf("%s: %.0f %% of the ideal speed on 1,000 cores.", job.name,
			curve.Y[len(curve.Y)-1]))
	}
	text = append(text, fmt.Sprintf("A task costs %.2f seconds of processor time beside its work on 4×4 worlds, and "+
		"compilation %.2f on 8×8 worlds; a process alone takes %.2f. Merging takes %.2f seconds for a million rows. A "+
		"unit's record has %.1f kB.", c.start, max(c.compile, 0), process, 1e6*c.perRow, c.record))
	return &exhibit.Report{Title: "What spreading an experiment costs", Text: text, Tables: []exhibit.Table{tasks,
		predicted},
		Charts: []exhibit.Chart{{Name: "scaling", Title: "Spreading an experiment over tasks", Panels: panels}}}, nil
}
