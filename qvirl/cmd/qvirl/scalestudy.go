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
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/check"
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

// The metrics of the study, which the registry of package metric explains.
const (
	wallSeconds      = "wall_seconds"
	processorSeconds = "processor_seconds"
	unitSeconds      = "unit_seconds"
	compileSeconds   = "compile_seconds"
	checkSeconds     = "check_seconds"
	mergeSeconds     = "merge_seconds"
	recordMB         = "record_mb"
	rowCount         = "rows"
	coreSeconds      = "core_seconds"
	pieces           = "pieces"
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

// storeVersion is that of the layout of folders with results, whose costs are measured.
const storeVersion = 1

// figures are what was measured, by the method of the rows and their metric.
type figures map[string]map[string]float64

// Validate refuses numbers that are too few or too small.
func (c scaleConfig) Validate() error {
	return check.First(check.That(len(c.Tasks) >= 2 && len(c.Stores) >= 3 &&
		slices.Min(slices.Concat(c.Tasks, c.Stores)) >= 1 && min(c.Worlds, c.Chunk, c.Rows) >= 1 && c.Side >= 2,
		"scaling: %+v: want at least two numbers of tasks, three of units, and positive numbers", c),
		check.All(scaleName, check.Distinct("Tasks", c.Tasks), check.Distinct("Stores", c.Stores)))
}

// Units returns the units of the study: each number of tasks and of units, the program, and what is stored.
func (c scaleConfig) Units(backendName string) ([]experiment.Unit, error) {
	var units []experiment.Unit
	add := func(name string, version int, measure func(ctx context.Context) (figures, error)) {
		stored := func(r experiment.Row) bool { return slices.Contains(storedNames, r.Method) }
		units = append(units, experiment.Unit{Name: name, Version: version, On: []any{name, c},
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
		add(name, 0, func(ctx context.Context) (figures, error) {
			m, _, err := c.spread(ctx, backendName, n, c.Worlds, c.Side)
			return figures{name: m}, err
		})
	}
	add("program", 0, func(ctx context.Context) (figures, error) {
		m, record, err := c.spread(ctx, backendName, 1, 2, 8)
		if err != nil {
			return nil, err
		}
		m[compileSeconds], err = firstMore(record.Units)
		return figures{"program": m}, err
	})
	for _, n := range c.Stores {
		name := "store-" + strconv.Itoa(n)
		add(name, storeVersion, func(ctx context.Context) (figures, error) {
			m, err := c.store(ctx, n)
			return figures{name: m}, err
		})
	}
	add("stored", 0, func(context.Context) (figures, error) { return storedRuns() })
	return units, nil
}

// firstMore returns how many seconds of processor time QVIRL took more for the first of its units than for the next.
func firstMore(units []experiment.UnitSummary) (float64, error) {
	var seconds []float64
	for _, u := range units {
		if s, ok := u.Processor["qvirl"]; ok {
			seconds = append(seconds, s)
		}
	}
	if len(seconds) < 2 {
		return 0, errors.New("scaling: the units have no processor times; run the study where the system tells them, " +
			"as Linux does")
	}
	return seconds[0] - seconds[1], nil
}

// spread computes worlds by so many tasks of one core each, as many at a time as this machine has cores.
func (c scaleConfig) spread(ctx context.Context, backendName string, tasks, worlds,
	side int) (map[string]float64, *experiment.Record, error) {
	dir, err := os.MkdirTemp("", scaleName)
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	// short chains and a short training: what is measured is not the work but what comes with it
	text, err := json.Marshal(map[string]any{"Seeds": experiment.Seeds(1000, worlds), "Chunk": 1,
		"Methods": []string{"qvirl"}, "HeldOut": []int{},
		"Lambdas": []float64{}, "Again": 0, "Draws": 100, "World": map[string]int{"Width": side, "Height": side},
		"ValueWalk": map[string]int{"Samples": 20, "MinESS": 0, "Warmup": 100, "MaxIterations": 200},
		"QVIRL":     map[string]int{"Steps": 50, "Rounds": 1}})
	if err != nil {
		return nil, nil, err
	}
	config := filepath.Join(dir, configFile)
	if err := atomicfile.WriteBytes(config, text); err != nil {
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
	began, used := time.Now(), experiment.ChildrenSeconds()
	err = submit.Run(ctx, experiment.Shares(plan, out, tasks), submit.Job{Name: scaleName, Command: command, Dir: here,
		Out: out, Tasks: tasks, CPUs: 1}, &submit.Local{Parallel: runtime.NumCPU()},
		submit.Options{Every: 100 * time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	m := map[string]float64{wallSeconds: time.Since(began).Seconds(),
		processorSeconds: experiment.ChildrenSeconds() - used}
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
	seeds := experiment.Seeds(100_000, units*c.Chunk)
	p := &experiment.Plan{Experiment: "store", Scale: "quick", Config: map[string][]uint64{"Seeds": seeds}}
	for _, chunk := range experiment.Chunks("worlds", seeds, c.Chunk) {
		p.Units = append(p.Units, experiment.Unit{Name: chunk.Name, On: chunk.Seeds, Owns: chunk.Owns,
			Run: func(context.Context, *experiment.Stages) (*experiment.Result, error) {
				r := &experiment.Result{}
				for _, seed := range chunk.Seeds {
					for k := range c.Rows {
						r.Rows = append(r.Rows, experiment.Row{Environment: "gridworld-8x8", Method: "qvirl", Demos: 5,
							Seed: seed, Metric: fmt.Sprintf("Metric_%03d", k),
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
	for _, path := range append(records, filepath.Join(dir, experiment.PlanFile)) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		m[recordMB] += float64(info.Size()) / 1e6
	}
	used := experiment.ProcessorSeconds()
	o.Shard = experiment.Shard{Index: 1, Count: units}
	if _, err := experiment.Left(p, o); err != nil {
		return nil, err
	}
	m[checkSeconds] = experiment.ProcessorSeconds() - used
	used = experiment.ProcessorSeconds()
	record, err := experiment.Merge(nil, dir)
	if err != nil {
		return nil, err
	}
	m[mergeSeconds], m[rowCount] = experiment.ProcessorSeconds()-used, float64(record.Rows)
	return m, nil
}

// storedNames are the experiments whose stored runs say what is to be spread.
var storedNames = []string{"posterior-quality", "lunarlander"}

// storedRuns returns what the stored runs that are to be spread have cost.
func storedRuns() (figures, error) {
	out := figures{}
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
