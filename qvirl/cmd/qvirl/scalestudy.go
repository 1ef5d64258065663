package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/submit"
)

// scaleName is the name of the study of what spreading an experiment over many tasks costs.
const scaleName = "scaling"

// scaleConfig determines what is measured. The rows are times, and differ from run to run.
type scaleConfig struct {
	Tasks  []int // numbers of tasks that share the same worlds
	Worlds int   // of the experiment posterior-quality, a unit each
	Side   int   // of these worlds
	Stores []int // numbers of units of folders that are read and merged
	Chunk  int   // worlds to a unit in those
	Rows   int   // to a world in those

	quality experiment.Definition // the experiment that is spread
}

func paperScaling() scaleConfig {
	return scaleConfig{Tasks: []int{1, 2, 8, 64}, Worlds: 64, Side: 4, Stores: []int{50, 200, 800}, Chunk: 20,
		Rows: 140}
}

func quickScaling() scaleConfig {
	return scaleConfig{Tasks: []int{1, 2}, Worlds: 4, Side: 3, Stores: []int{10, 20, 40}, Chunk: 20, Rows: 140}
}

// The metrics of the study.
const (
	wallSeconds      = "wall_seconds"      // from the submission to the last unit
	processorSeconds = "processor_seconds" // of all tasks' processes
	unitSeconds      = "unit_seconds"      // processor time within units
	compileSeconds   = "compile_seconds"   // processor time of the first world's QVIRL less the second's, on 8×8 worlds
	checkSeconds     = "check_seconds"     // processor time of looking at what a folder holds, which each task does
	mergeSeconds     = "merge_seconds"     // processor time of writing rows.csv and run.json
	recordMB         = "record_mb"         // of all units' records together
	rowCount         = "rows"
	coreSeconds      = "core_seconds" // of a stored run: its processor time, else its time by the clock on all cores
	pieces           = "pieces"       // worlds or learners of a stored run
)

// scaleDefinition is the study as the command lists it. It runs this program's own processes.
func scaleDefinition(quality experiment.Definition) experiment.Definition {
	of := func(make func() scaleConfig) func() scaleConfig {
		return func() scaleConfig { c := make(); c.quality = quality; return c }
	}
	return experiment.Define(scaleName,
		"What spreading an experiment over many tasks costs, and what limits it (beyond the paper)",
		of(quickScaling), of(paperScaling), scaleReport)
}

// Units returns the units of the study: each number of tasks and of units, the program, and what is stored.
func (c scaleConfig) Units(backendName string) ([]experiment.Unit, error) {
	if len(c.Tasks) < 2 || len(c.Stores) < 3 || slices.Min(append(slices.Clone(c.Tasks), c.Stores...)) < 1 ||
		min(c.Worlds, c.Chunk, c.Rows) < 1 || c.Side < 2 {
		return nil,
			fmt.Errorf("scaling: %+v: want at least two numbers of tasks, three of units, and positive numbers", c)
	}
	var units []experiment.Unit
	add := func(name string, measure func(ctx context.Context) (map[string]map[string]float64, error)) {
		stored := func(r experiment.Row) bool { return slices.Contains(storedNames, r.Method) }
		units = append(units, experiment.Unit{Name: name, On: []any{name, c},
			Owns: func(r experiment.Row) bool { return r.Method == name || name == "stored" && stored(r) },
			Run: func(ctx context.Context, _ *experiment.Stages) (*experiment.Result, error) {
				measured, err := measure(ctx)
				if err != nil {
					return nil, err
				}
				result := &experiment.Result{}
				for method, values := range measured {
					for metric, v := range values {
						if !math.IsNaN(v) {
							result.Rows = append(result.Rows, experiment.Row{Environment: "machine", Method: method,
								Metric: metric, Value: v})
						}
					}
				}
				return result, nil
			}})
	}
	for _, n := range c.Tasks {
		name := "tasks-" + strconv.Itoa(n)
		add(name, func(ctx context.Context) (map[string]map[string]float64, error) {
			m, _, err := c.spread(ctx, backendName, n, c.Worlds, c.Side)
			return map[string]map[string]float64{name: m}, err
		})
	}
	add("program", func(ctx context.Context) (map[string]map[string]float64, error) {
		m, record, err := c.spread(ctx, backendName, 1, 2, 8)
		if err != nil {
			return nil, err
		}
		var seconds []float64 // of QVIRL, world after world
		for _, u := range record.Units {
			if s, ok := u.Processor["qvirl"]; ok {
				seconds = append(seconds, s)
			}
		}
		m[compileSeconds] = seconds[0] - seconds[1]
		return map[string]map[string]float64{"program": m}, nil
	})
	for _, n := range c.Stores {
		name := "store-" + strconv.Itoa(n)
		add(name, func(ctx context.Context) (map[string]map[string]float64, error) {
			m, err := c.store(ctx, n)
			return map[string]map[string]float64{name: m}, err
		})
	}
	add("stored", func(context.Context) (map[string]map[string]float64, error) { return storedRuns() })
	return units, nil
}

// spread computes worlds by so many tasks of one core each, as many at a time as this machine has cores.
func (c scaleConfig) spread(ctx context.Context, backendName string, tasks, worlds,
	side int) (map[string]float64, *experiment.Record, error) {
	dir, err := os.MkdirTemp("", scaleName)
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	seeds := make([]int, worlds)
	for i := range seeds {
		seeds[i] = 1000 + i
	}
	// short chains and a short training: what is measured is not the work but what comes with it
	text, err := json.Marshal(map[string]any{"Seeds": seeds, "Chunk": 1, "Methods": []string{"qvirl"},
		"HeldOut": []int{},
		"Lambdas": []float64{}, "Again": 0, "Draws": 100, "World": map[string]int{"Width": side, "Height": side},
		"ValueWalk": map[string]int{"Samples": 20, "MinESS": 0, "Warmup": 100, "MaxIterations": 200},
		"QVIRL":     map[string]int{"Steps": 50, "Rounds": 1}})
	if err != nil {
		return nil, nil, err
	}
	config := filepath.Join(dir, configFile)
	if err := writeFile(config, text); err != nil {
		return nil, nil, err
	}
	plan, err := c.quality.Plan(experiment.Settings{Scale: "quick", Override: text})
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	out := filepath.Join(dir, "out")
	command := []string{self, "run", c.quality.Name, "--units-only", "--out", out, "--config", config}
	if backendName != "" {
		command = append(command, "--backend", backendName)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	began, used := time.Now(), childrenSeconds()
	err = submit.Run(ctx, plan, submit.Job{Name: scaleName, Command: command, Dir: here, Out: out, Tasks: tasks,
		CPUs: 1},
		&submit.Local{Parallel: runtime.NumCPU()}, submit.Options{Every: 100 * time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	m := map[string]float64{wallSeconds: time.Since(began).Seconds(), processorSeconds: childrenSeconds() - used}
	record, err := experiment.Merge(nil, out)
	if err != nil {
		return nil, nil, err
	}
	for _, seconds := range record.Processor {
		m[unitSeconds] += seconds
	}
	return m, record, nil
}

// store keeps, checks and merges so many units, each with the rows of a chunk of worlds, and a config that lists all
// worlds.
func (c scaleConfig) store(ctx context.Context, units int) (map[string]float64, error) {
	dir, err := os.MkdirTemp("", scaleName)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	seeds := make([]uint64, units*c.Chunk)
	for i := range seeds {
		seeds[i] = uint64(100_000 + i)
	}
	p := &experiment.Plan{Experiment: "store", Scale: "quick", Config: map[string][]uint64{"Seeds": seeds}}
	for _, chunk := range experiment.Chunks("worlds", seeds, c.Chunk) {
		p.Units = append(p.Units, experiment.Unit{Name: chunk.Name, On: chunk.Seeds, Owns: chunk.Owns,
			Run: func(context.Context, *experiment.Stages) (*experiment.Result, error) {
				r := &experiment.Result{}
				for _, seed := range chunk.Seeds {
					for k := range c.Rows {
						r.Rows = append(r.Rows, experiment.Row{Environment: "gridworld-8x8", Method: "qvirl", Demos: 5,
							Seed: seed, Metric: fmt.Sprintf("metric_%03d", k),
							Value: math.Sqrt(float64(seed) + float64(k)/7)})
					}
				}
				return r, nil
			}})
	}
	o := experiment.Options{Out: dir, UnitsOnly: true}
	if _, err := experiment.Run(ctx, p, o); err != nil {
		return nil, err
	}
	m := map[string]float64{}
	records, err := filepath.Glob(filepath.Join(dir, experiment.UnitsDir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range records {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		m[recordMB] += float64(info.Size()) / 1e6
	}
	used := ownSeconds()
	o.Shard = experiment.Shard{Index: 1, Count: units}
	if _, err := experiment.Left(p, o); err != nil {
		return nil, err
	}
	m[checkSeconds] = ownSeconds() - used
	used = ownSeconds()
	record, err := experiment.Merge(nil, dir)
	if err != nil {
		return nil, err
	}
	m[mergeSeconds], m[rowCount] = ownSeconds()-used, float64(record.Rows)
	return m, nil
}

// storedNames are the experiments whose stored runs say what is to be spread.
var storedNames = []string{"posterior-quality", "lunarlander"}

// storedRuns returns what the stored runs that are to be spread have cost.
func storedRuns() (map[string]map[string]float64, error) {
	out := map[string]map[string]float64{}
	for _, name := range storedNames {
		rows, record, err := experiment.ReadResults(defaultDir(name, paperScale))
		if err != nil {
			return nil, fmt.Errorf("scaling: the stored run of %s, which is looked for in the working folder: %w",
				name, err)
		}
		m := map[string]float64{rowCount: float64(len(rows))}
		for _, seconds := range record.Processor {
			m[coreSeconds] += seconds
		}
		if len(record.Processor) == 0 {
			for _, u := range record.Units {
				m[coreSeconds] += u.Finished.Sub(u.Started).Seconds() * float64(record.Machines[u.Machine].Cores)
			}
		}
		type piece struct {
			method string
			demos  int
			seed   uint64
		}
		seen := map[piece]bool{}
		for _, r := range rows {
			switch name {
			case "lunarlander": // a learner
				seen[piece{r.Name(), r.Demos, r.Seed}] = true
			default: // a world, with all its methods
				seen[piece{seed: r.Seed}] = true
			}
		}
		m[pieces] = float64(len(seen))
		out[name] = m
	}
	return out, nil
}

// costs are what the rows say of the costs of spreading.
type costs struct {
	start          float64 // processor seconds of a task beside its work, compilation on 4×4 worlds included
	work           float64 // processor seconds of the worlds that are shared
	compile        float64 // processor seconds on 8×8 worlds
	perRow, perMB  float64 // seconds of merging
	mbPerUnitWorld float64 // MB of a unit's record for each world of the config
	points         []costPoint
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
	var stores [][3]float64 // rows, MB, seconds
	units, worlds := 0., 0.
	for name, m := range values {
		kind, number, _ := strings.Cut(name, "-")
		n, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil:
		case kind == "tasks":
			c.points = append(c.points, costPoint{n, m[processorSeconds], m[unitSeconds], m[wallSeconds]})
		case kind == "store":
			stores = append(stores, [3]float64{m[rowCount], m[recordMB], m[mergeSeconds]})
			if n > units {
				units, worlds = n, n*20
				c.mbPerUnitWorld = m[recordMB] / units / worlds
			}
		}
	}
	if len(c.points) < 2 || len(stores) < 3 {
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
	// merging = rows × perRow + MB × perMB
	a, b = mat.NewDense(len(stores), 2, nil), mat.NewVecDense(len(stores), nil)
	for i, s := range stores {
		a.SetRow(i, []float64{s[0], s[1]})
		b.SetVec(i, s[2])
	}
	if err := x.SolveVec(a, b); err != nil {
		return nil, fmt.Errorf("scaling: %w", err)
	}
	c.perRow, c.perMB = x.AtVec(0), x.AtVec(1)
	return c, nil
}

// coresDrawn are the numbers of cores at which predictions are drawn; a task has one.
var coresDrawn = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}

// prediction is how long a job takes, in seconds by the clock, and what the time goes into.
type prediction struct{ work, start, merge float64 }

func (p prediction) total() float64 { return p.work + p.start + p.merge }

// predict returns the time of so many equal units on cores: ⌈units/cores⌉ units one after the other on the core that
// has most, a start of each process, and one merge at the end of rows and of records that list worlds.
func (c *costs) predict(cores, units, unitWork, start, rows, worlds float64) prediction {
	return prediction{work: math.Ceil(units/cores) * unitWork, start: start,
		merge: rows*c.perRow + units*worlds*c.mbPerUnitWorld*c.perMB}
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
	number := func(v float64) exhibit.Cell {
		return exhibit.Cell{Estimate: &exhibit.Estimate{Mean: v,
			StdErr: math.NaN()}}
	}
	tasks := exhibit.Table{Name: "tasks", Title: "The same worlds shared by tasks", Columns: []exhibit.Column{
		{Title: "processor seconds", Decimals: 1}, {Title: "within units", Decimals: 1}, {Title: "by the clock",
			Decimals: 1},
		{Title: "model", Decimals: 1}}}
	var measured, model exhibit.Curve
	measured.Name, model.Name = "measured", "work + tasks · start"
	for _, p := range c.points {
		fitted := c.work + p.tasks*c.start
		tasks.Rows = append(tasks.Rows, exhibit.TableRow{Method: fmt.Sprintf("%g tasks", p.tasks),
			Cells: []exhibit.Cell{number(p.processor), number(p.units), number(p.wall), number(fitted)}})
		measured.X, measured.Y = append(measured.X, p.tasks), append(measured.Y, p.processor)
		model.X, model.Y = append(model.X, p.tasks), append(model.Y, fitted)
	}
	panels := []exhibit.Panel{{Title: "measured here", XLabel: "tasks", YLabel: "processor seconds", LogX: true,
		LogY:   true,
		Curves: []exhibit.Curve{measured, model}}}
	predicted := exhibit.Table{Name: "predicted", Title: "Predicted time by the clock, in minutes",
		Columns: []exhibit.Column{
			{Title: "1 core", Decimals: 0}, {Title: "64 cores", Decimals: 1}, {Title: "1000 cores", Decimals: 1},
			{Title: "of which work", Decimals: 1}, {Title: "start", Decimals: 1}, {Title: "merging", Decimals: 1}}}
	process := stored("program", processorSeconds) - stored("program", unitSeconds)
	for _, job := range []struct {
		name, of              string
		pieces, each, records float64 // worlds or learners, how many of them to a unit, and how many a record lists
		compile               float64 // what the stored times lack; those of learners have it
	}{
		{"Table 1, 20 worlds a unit", "posterior-quality", 1e5, 20, 1e5, c.compile},
		{"Table 1, 100 worlds a unit", "posterior-quality", 1e5, 100, 1e5, c.compile},
		{"Lunar Lander, 10 learners a unit", "lunarlander", 1000, 10, 0, 0},
		{"Lunar Lander, 1 learner a unit", "lunarlander", 1000, 1, 0, 0},
	} {
		n := stored(job.of, pieces)
		work, perPiece := stored(job.of, coreSeconds)/n, stored(job.of, rowCount)/n
		at := func(cores float64) prediction {
			return c.predict(cores, job.pieces/job.each, job.each*work, process+job.compile, job.pieces*perPiece,
				job.records)
		}
		thousand := at(1000)
		row := exhibit.TableRow{Method: job.name}
		for _, v := range []float64{at(1).total(), at(64).total(), thousand.total(), thousand.work, thousand.start,
			thousand.merge} {
			row.Cells = append(row.Cells, number(v/60))
		}
		predicted.Rows = append(predicted.Rows, row)
		curve := exhibit.Curve{Name: job.name}
		for _, cores := range coresDrawn {
			curve.X, curve.Y = append(curve.X, cores), append(curve.Y, at(1).total()/at(cores).total())
		}
		if len(panels) == 1 || strings.HasPrefix(job.name, "Lunar Lander, 10") {
			title, _, _ := strings.Cut(job.name, ",")
			panels = append(panels, exhibit.Panel{Title: title, XLabel: "cores", YLabel: "times faster than one",
				LogX: true, LogY: true,
				Curves: []exhibit.Curve{{Name: "ideal", X: coresDrawn, Y: coresDrawn}}})
		}
		last := &panels[len(panels)-1]
		last.Curves = append(last.Curves, curve)
	}
	text := []string{fmt.Sprintf("A task costs %.1f seconds of processor time beside its work on 4×4 worlds, most of "+
		"it for the compilation of QVIRL's program, which takes %.1f seconds on 8×8 worlds; a process alone takes "+
		"%.2f. Merging takes %.2f seconds for a million rows and %.0f for a gigabyte of records.",
		c.start, c.compile, process, 1e6*c.perRow, 1e3*c.perMB),
		fmt.Sprintf("A unit's record lists all worlds of the config: %.0f bytes for each, in every unit.",
			1e6*c.mbPerUnitWorld)}
	return &exhibit.Report{Title: "What spreading an experiment costs", Text: text, Tables: []exhibit.Table{tasks,
		predicted},
		Charts: []exhibit.Chart{{Name: "scaling", Title: "Spreading an experiment over tasks", Panels: panels}}}, nil
}
