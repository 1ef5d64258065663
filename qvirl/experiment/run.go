package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Shard is one of several equal parts of a run: the units whose number, counted from 0, leaves Index − 1 when divided
// by Count. The zero value is the whole run.
type Shard struct{ Index, Count int } // 1 ≤ Index ≤ Count

// ParseShard reads a shard written as "i/n".
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	count, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || index < 1 || index > count {
		return Shard{}, fmt.Errorf("shard %q: want i/n with 1 ≤ i ≤ n, such as 2/8", text)
	}
	return Shard{index, count}, nil
}

// holds reports whether the shard computes the unit of that number.
func (s Shard) holds(unit int) bool { return s.Count == 0 || unit%s.Count == s.Index-1 }

// Options say how a plan is run.
type Options struct {
	Out       string // folder for the results; made if it is missing
	Shard     Shard
	Resume    bool        // keep the units that are finished; without it they are an error
	Overwrite bool        // remove the results that the folder holds; not with a shard
	UnitsOnly bool        // leave rows.csv and run.json to a later Merge, and other shards' units alone
	Backend   string      // description of what is computed on, for the record
	Events    func(Event) // told what happens, one call at a time; may be nil
}

// Event is something that happened during a run.
type Event struct {
	Kind     EventKind `json:"event"`
	Unit     string    `json:"unit,omitempty"`
	Done     int       `json:"units_done"`              // finished units of this run's share
	Total    int       `json:"units"`                   // all of its share
	Fraction float64   `json:"fraction"`                // of the share's work, in 0..1
	Elapsed  float64   `json:"seconds"`                 // since the run began
	Left     float64   `json:"seconds_left,omitempty"`  // estimate; 0 while unknown
	Status   string    `json:"status,omitempty"`        // what the unit is doing
	Missing  []string  `json:"missing_units,omitempty"` // at the end: units of the plan that the folder lacks
	Rows     int       `json:"rows,omitempty"`          // at the end: rows in the folder
	Notes    []string  `json:"notes,omitempty"`         // at the end of a unit
	Out      string    `json:"out,omitempty"`           // at the end
	Error    string    `json:"error,omitempty"`         // of a failed run
}

// EventKind is what an event is about.
type EventKind string

// The kinds of events.
const (
	Started      EventKind = "started"
	Progressed   EventKind = "progress"
	UnitFinished EventKind = "unit"
	Finished     EventKind = "finished"
	Failed       EventKind = "failed"
)

// Run computes the units of the plan that the options ask for, and keeps each as it ends. When ctx ends, the unit that
// is being computed is given up; those that are finished stay, and a later run with Resume goes on. The error then
// wraps ctx's. The record covers all units in the folder, also those of other shards; it is nil if there is none, which
// is no error of a shard that holds no unit of the plan, and with UnitsOnly.
func Run(ctx context.Context, plan *Plan, o Options) (*Record, error) {
	r, err := prepare(plan, o)
	if err != nil {
		return nil, err
	}
	if err = r.units(ctx); err != nil {
		err = fmt.Errorf("experiment %s: %w", plan.Experiment, err)
	}
	if o.UnitsOnly {
		if err != nil {
			r.report(Event{Kind: Failed, Done: r.done, Out: o.Out, Error: err.Error()})
			return nil, err
		}
		r.report(Event{Kind: Finished, Done: r.share, Out: o.Out})
		return nil, nil
	}
	if units, unitsErr := r.store.units(); unitsErr != nil || len(units) == 0 {
		if err = errors.Join(err, unitsErr); err != nil {
			r.report(Event{Kind: Failed, Done: r.done, Out: o.Out, Error: err.Error()})
			return nil, err
		}
		r.report(Event{Kind: Finished, Missing: r.names, Out: o.Out})
		return nil, nil
	}
	record, deriveErr := r.store.derive()
	if err = errors.Join(err, deriveErr); err != nil {
		r.report(Event{Kind: Failed, Done: r.done, Out: o.Out, Error: err.Error()})
		return record, err
	}
	r.report(Event{Kind: Finished, Done: r.share, Missing: record.Missing, Rows: record.Rows, Out: o.Out})
	return record, nil
}

// runner is a run in progress.
type runner struct {
	plan    *Plan
	options Options
	store   store
	config  json.RawMessage
	names   []string      // of all units of the plan
	todo    []int         // units to compute
	adopted []*UnitRecord // units of a run under another config that count as this run's
	share   int           // units of the share, finished ones included
	done    int           // finished ones
	machine Machine
	began   time.Time
	cost    float64 // of the units to compute
	spent   float64 // of those that are done

	mutex            sync.Mutex // guards what follows, and calls of options.Events one at a time
	within, unitCost float64    // fraction of the present unit that is done, and the unit's cost
}

// probePrefix begins the name of the file that shows that a folder can be written to.
const probePrefix = ".probe"

// prepare checks everything that can be checked before computing.
func prepare(plan *Plan, o Options) (*runner, error) {
	if err := plan.validate(); err != nil {
		return nil, err
	}
	config, err := json.Marshal(plan.Config)
	if err != nil {
		return nil, fmt.Errorf("experiment %s: config: %w", plan.Experiment, err)
	}
	r := &runner{plan: plan, options: o, store: store{o.Out}, config: config, began: time.Now()}
	for _, u := range plan.Units {
		r.names = append(r.names, u.Name)
	}
	if o.Overwrite {
		if o.Shard.Count > 0 {
			return nil, fmt.Errorf("experiment %s: a shard cannot overwrite: it would remove what other shards have "+
				"finished", plan.Experiment)
		}
		if err := removeResults(o.Out); err != nil {
			return nil, err
		}
	}
	if err := r.choose(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Out, UnitsDir), 0o755); err != nil {
		return nil, fmt.Errorf("experiment %s: cannot write to %s: %w", plan.Experiment, o.Out, err)
	}
	probe, err := os.CreateTemp(filepath.Join(o.Out, UnitsDir), probePrefix)
	if err != nil { // better now than after an hour
		return nil, fmt.Errorf("experiment %s: cannot write to %s: %w", plan.Experiment, o.Out, err)
	}
	probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, err
	}
	for _, u := range r.adopted {
		u.Scale, u.Plan, u.Config = plan.Scale, r.names, r.config
		if err := writeJSON(r.store.recordPath(u.Unit), u); err != nil {
			return nil, err
		}
	}
	r.machine = ThisMachine(o.Backend)
	return r, nil
}

// choose finds the units to compute, given what the folder holds.
func (r *runner) choose() error {
	want := func(string) bool { return true }
	if r.options.UnitsOnly {
		share := map[string]bool{}
		for _, i := range r.options.Shard.Units(r.plan) {
			share[r.names[i]] = true
		}
		want = func(name string) bool { return share[name] }
	}
	done, err := r.store.read(want)
	if err != nil {
		return err
	}
	for name, u := range done {
		mine := &UnitRecord{Experiment: r.plan.Experiment, Plan: r.names, Config: r.config}
		switch {
		case sameRun(mine, u, "", "") == nil:
		case !r.adoptable(u):
			return fmt.Errorf("experiment: %s holds results of another experiment or config (%s); use another "+
				"folder, or --overwrite",
				r.options.Out, r.store.recordPath(name))
		case !r.options.Resume:
			return fmt.Errorf("experiment: %s holds units of another config that these settings have too (%s); "+
				"--resume keeps them and goes on, --overwrite starts over",
				r.options.Out, r.store.recordPath(name))
		default:
			r.adopted = append(r.adopted, u)
		}
		if _, err := r.store.rows(u); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(r.options.Out, RowsFile)); err == nil && len(done) == 0 && !r.options.UnitsOnly {
		return fmt.Errorf("experiment: %s holds results already, without the units to resume from; use another "+
			"folder, or --overwrite", r.options.Out)
	}
	for i, u := range r.plan.Units {
		if !r.options.Shard.holds(i) {
			continue
		}
		r.share++
		if done[u.Name] != nil {
			if !r.options.Resume {
				return fmt.Errorf("experiment: %s holds %d finished units of this run already; --resume keeps them "+
					"and goes on, --overwrite starts over",
					r.options.Out, len(done))
			}
			r.done++
			continue
		}
		r.todo = append(r.todo, i)
		r.cost += u.Cost
	}
	return nil
}

// adoptable reports whether a unit of another config has the rows that the plan's unit of that name would have.
func (r *runner) adoptable(u *UnitRecord) bool {
	if r.plan.Part == nil || u.Experiment != r.plan.Experiment || !slices.Contains(r.names, u.Unit) {
		return false
	}
	theirs, err := r.plan.Part(u.Config, u.Unit)
	if err != nil { // a config that is too old to be understood is another
		return false
	}
	mine, err := r.plan.Part(r.config, u.Unit)
	return err == nil && bytes.Equal(compact(mine), compact(theirs))
}

// units computes what is to be computed.
func (r *runner) units(ctx context.Context) error {
	for _, i := range r.todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		unit := r.plan.Units[i]
		r.mutex.Lock()
		r.within, r.unitCost = 0, unit.Cost
		r.mutex.Unlock()
		r.report(Event{Kind: Started, Unit: unit.Name, Done: r.done})
		record := UnitRecord{Experiment: r.plan.Experiment, Scale: r.plan.Scale, Unit: unit.Name, Plan: r.names,
			Config: r.config, Machine: r.machine, Started: time.Now().UTC()}
		scratch := filepath.Join(r.options.Out, scratchDir, unit.Name)
		result, err := r.plan.Run(WithScratch(ctx, scratch), i, func(done, total int, status string) {
			r.progress(unit.Name, done, total, status)
		})
		if err != nil {
			return fmt.Errorf("unit %s: %w", unit.Name, err)
		}
		record.Finished, record.Notes = time.Now().UTC(), result.Notes
		record.Seconds, record.Processor = result.Times.Seconds, result.Times.Processor
		for j := range result.Rows {
			result.Rows[j].Experiment = r.plan.Experiment
		}
		if err := r.store.put(record, result.Rows); err != nil {
			return fmt.Errorf("unit %s: %w", unit.Name, err)
		}
		if err := os.RemoveAll(scratch); err != nil {
			return fmt.Errorf("unit %s: its state: %w", unit.Name, err)
		}
		r.mutex.Lock()
		r.within, r.unitCost, r.spent = 0, 0, r.spent+unit.Cost
		r.mutex.Unlock()
		r.done++
		r.report(Event{Kind: UnitFinished, Unit: unit.Name, Done: r.done, Notes: result.Notes})
	}
	return nil
}

// progress takes a unit's report of how far it has come.
func (r *runner) progress(unit string, done, total int, status string) {
	r.mutex.Lock()
	if total > 0 {
		r.within = min(max(float64(done)/float64(total), r.within), 1)
	}
	r.mutex.Unlock()
	r.report(Event{Kind: Progressed, Unit: unit, Done: r.done, Status: status})
}

// report fills in the estimates of time and passes the event on.
func (r *runner) report(e Event) {
	if r.options.Events == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	e.Elapsed, e.Total = time.Since(r.began).Seconds(), r.share
	if e.Kind == Finished {
		e.Fraction = 1
	} else if now := r.spent + r.within*r.unitCost; r.cost > 0 {
		e.Fraction = now / r.cost
		if now > 0 {
			e.Left = e.Elapsed * (r.cost - now) / now
		}
	}
	r.options.Events(e)
}

// removeResults removes the files of a run. It removes nothing if the folder holds others under their names.
func removeResults(dir string) error {
	units, err := os.ReadDir(filepath.Join(dir, UnitsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("experiment: cannot overwrite: %w", err)
	}
	var paths []string
	for _, e := range units {
		paths = append(paths, filepath.Join(dir, UnitsDir, e.Name()))
	}
	paths = append(paths, filepath.Join(dir, RowsFile), filepath.Join(dir, RunFile))
	for _, path := range paths {
		if err := checkOurs(path); err != nil {
			return fmt.Errorf("experiment: cannot overwrite %s, which holds something else than an experiment's "+
				"results: %w; "+
				"use another folder, or move it", dir, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, scratchDir)); err != nil {
		return fmt.Errorf("experiment: cannot overwrite: %w", err)
	}
	for _, path := range append(paths, filepath.Join(dir, UnitsDir)) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("experiment: cannot overwrite: %w", err)
		}
	}
	return nil
}

// checkOurs refuses a file that no run has written: what is neither rows nor the record of an experiment, nor left of a
// run that was killed while it wrote one.
func checkOurs(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	var record struct{ Experiment string }
	switch {
	case strings.HasPrefix(name, ".") && (filepath.Ext(name) == ".tmp" || strings.HasPrefix(name, probePrefix)):
		return nil
	case filepath.Ext(name) == ".csv" && strings.HasPrefix(string(text), csvLine(header)+"\n"):
		return nil
	case filepath.Ext(name) == ".json" && json.Unmarshal(text, &record) == nil && record.Experiment != "":
		return nil
	}
	return fmt.Errorf("%s is none of its files", path)
}
