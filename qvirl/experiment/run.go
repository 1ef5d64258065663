package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/metric"
)

// Shard is one of several equal parts of a run: the groups of units whose number, counted from 0, leaves Index − 1 when
// divided by Count. The zero value is the whole run.
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

// units returns the numbers of the plan's units that the shard holds, group by group.
func (s Shard) units(plan *Plan) []int { return slices.Concat(s.groups(plan)...) }

// Shares returns what tells how many units each of n shards of a plan has, and how many of them a folder holds by then.
func Shares(p *Plan, dir string, n int) func() (finished, units []int, err error) {
	return func() ([]int, []int, error) {
		there, err := finishedUnits(p, dir)
		if err != nil {
			return nil, nil, err
		}
		finished, units := make([]int, n), make([]int, n)
		for i := range n {
			for _, u := range (Shard{i + 1, n}).units(p) {
				units[i]++
				if there[u] {
					finished[i]++
				}
			}
		}
		return finished, units, nil
	}
}

// groups returns the plan's groups that the shard holds.
func (s Shard) groups(plan *Plan) [][]int {
	var out [][]int
	for g, units := range plan.groups() {
		if s.Count == 0 || g%s.Count == s.Index-1 {
			out = append(out, units)
		}
	}
	return out
}

// Options say how a plan is run.
type Options struct {
	Out       string // folder for the results; made if it is missing
	Shard     Shard
	Anew      bool                 // compute units that are stored, too
	UnitsOnly bool                 // leave rows.csv and run.json to a later Merge, and other shards' units alone
	Parallel  int                  // groups of units that are computed at a time; 0 for one
	Backend   string               // description of what is computed on, for the record
	Events    func(progress.Event) // told what happens, one call at a time; may be nil
}

// Run computes the units of the plan that the folder lacks, or holds under other keys, and that are in the shard, and
// keeps each as it ends. When ctx ends, the units that are being computed are given up; those that are finished stay,
// and a later run goes on. The error then wraps ctx's. The record covers all units of the plan in the folder, also
// those of other shards; it is nil if there is none, which is no error of a shard that holds no unit of the plan, and
// with UnitsOnly.
func Run(ctx context.Context, plan *Plan, o Options) (*Record, error) {
	r, err := prepare(plan, o)
	if err != nil {
		return nil, err
	}
	fail := func(record *Record, err error) (*Record, error) {
		r.report(progress.Event{Kind: progress.Failed, Out: o.Out, Error: err.Error()})
		return record, err
	}
	if notes := r.changes(); len(notes) > 0 {
		r.report(progress.Event{Kind: progress.Started, Notes: notes})
	}
	if err = r.compute(ctx); err != nil {
		err = fmt.Errorf("experiment %s: %w", plan.Experiment, err)
	}
	if o.UnitsOnly {
		if err != nil {
			return fail(nil, err)
		}
		r.report(progress.Event{Kind: progress.Finished, Out: o.Out})
		return nil, nil
	}
	record, deriveErr := r.store.derive()
	if err = errors.Join(err, deriveErr); err != nil {
		return fail(record, err)
	}
	if record == nil { // no unit is there
		r.report(progress.Event{Kind: progress.Finished, Missing: r.store.plan.names(), Out: o.Out})
		return nil, nil
	}
	r.report(progress.Event{Kind: progress.Finished, Missing: record.Missing, Rows: record.Rows, Out: o.Out})
	return record, nil
}

// Left does all that Run does before it computes: it makes the folder, writes the plan there, and brings published
// results into files of units. It returns the numbers of the plan's units that Run would compute.
func Left(plan *Plan, o Options) ([]int, error) {
	r, err := prepare(plan, o)
	if err != nil {
		return nil, err
	}
	return slices.Concat(r.todo...), nil
}

// runner is a run in progress.
type runner struct {
	plan    *Plan
	options Options
	store   store
	todo    [][]int // groups of units to compute
	share   int     // units of the share, finished ones included
	machine Machine
	began   time.Time

	mutex    sync.Mutex          // guards what follows, and calls of options.Events one at a time
	done     int                 // finished units of the share
	within   map[int]float64     // fraction of each unit to compute that is done
	fraction float64             // of all of them, as told last
	took     map[string]measured // finished units of each method, and all as ""
}

// measured are the durations of finished units.
type measured struct{ seconds, units float64 }

// prepare checks everything that can be checked before computing, and finds the units to compute.
func prepare(plan *Plan, o Options) (*runner, error) {
	if err := plan.validate(); err != nil {
		return nil, err
	}
	keys, err := plan.Keys()
	if err != nil {
		return nil, err
	}
	layout, err := newLayout(plan, keys)
	if err != nil {
		return nil, err
	}
	r := &runner{plan: plan, options: o, store: store{o.Out, layout}, machine: ThisMachine(o.Backend),
		began: time.Now(), within: map[int]float64{}, took: map[string]measured{}}
	if err := r.store.checkOwner(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Out, UnitsDir), 0o755); err != nil { // better now than after an hour
		return nil, fmt.Errorf("experiment %s: cannot write to %s: %w", plan.Experiment, o.Out, err)
	}
	if err := r.store.adopt(plan); err != nil {
		return nil, err
	}
	if err := r.store.writeLayout(); err != nil {
		return nil, fmt.Errorf("experiment %s: cannot write to %s: %w", plan.Experiment, o.Out, err)
	}
	finished, err := finishedUnits(plan, o.Out)
	if err != nil {
		return nil, err
	}
	for _, group := range o.Shard.groups(plan) {
		var todo []int
		for _, i := range group {
			r.share++
			if o.Anew || !finished[i] {
				todo = append(todo, i)
				continue
			}
			record, err := r.store.read(i)
			if err != nil {
				return nil, err
			}
			if _, err := r.store.rows(record); err != nil {
				return nil, err
			}
			r.measure(i, record)
		}
		if len(todo) > 0 {
			r.todo = append(r.todo, todo)
		}
	}
	return r, nil
}

// changes says of which methods the folder holds rows that depend on other settings, and whether it holds units that
// the config has no more, and what follows from it.
func (r *runner) changes() []string {
	counts, units := map[string]int{}, os.DirFS(filepath.Join(r.options.Out, UnitsDir))
	for _, i := range slices.Concat(r.todo...) {
		u := &r.plan.Units[i]
		others, _ := fs.Glob(units, fileName(u.Name, keyPattern)+".json")
		if len(others) > 0 && !r.options.Anew {
			counts[cmp.Or(u.Method, u.Name)]++
		}
	}
	var out []string
	for _, of := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s: what its rows depend on has changed since they were stored: %d units are "+
			"computed anew", of, counts[of]))
	}
	record, err := ReadRecord(r.options.Out)
	if err != nil {
		return out
	}
	gone := slices.DeleteFunc(record.Units, func(u UnitSummary) bool {
		return slices.ContainsFunc(r.plan.Units, func(planned Unit) bool { return planned.Name == u.Unit })
	})
	if len(gone) > 0 {
		out = append(out, fmt.Sprintf("%d units of another config, such as %s, are none of this one's: %s leaves out "+
			"their rows, which stay in %s", len(gone), gone[0].Unit, RowsFile, filepath.Join(r.options.Out, UnitsDir)))
	}
	return out
}

// compute computes what is to be computed.
func (r *runner) compute(ctx context.Context) error {
	groups, inner := errgroup.WithContext(ctx)
	groups.SetLimit(max(r.options.Parallel, 1))
	for _, units := range r.todo {
		groups.Go(func() error {
			shared := withShared(inner)
			for _, i := range units {
				if err := inner.Err(); err != nil {
					return context.Cause(ctx) // nil where another group has failed
				}
				if err := r.unit(shared, i); err != nil {
					return fmt.Errorf("unit %s: %w", r.plan.Units[i].Name, err)
				}
			}
			return nil
		})
	}
	if err := groups.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// unit computes a unit and keeps it.
func (r *runner) unit(ctx context.Context, i int) error {
	u := &r.plan.Units[i]
	r.set(i, 0)
	r.report(progress.Event{Kind: progress.Started, Unit: u.Name})
	record := r.store.plan.record(i)
	record.Machine, record.Started = r.machine, time.Now().UTC()
	scratch := filepath.Join(r.options.Out, scratchDir, fileName(u.Name, record.Key))
	t := newStages(u.Method, func(done, total int, status string) {
		if total > 0 {
			r.set(i, min(float64(done)/float64(total), 1))
		}
		r.report(progress.Event{Kind: progress.Progressed, Unit: u.Name, Status: status})
	})
	result, err := u.Run(WithScratch(ctx, scratch), t)
	if err != nil {
		return err
	}
	record.Finished, record.Notes = time.Now().UTC(), result.Notes
	record.Seconds = t.times.Seconds
	if r.options.Parallel <= 1 { // other units' is not told from this one's
		record.Processor = t.times.Processor
	}
	for j := range result.Rows {
		row := &result.Rows[j]
		row.Experiment, row.Commit = r.plan.Experiment, r.machine.commit()
		if !u.owns(*row) {
			return fmt.Errorf("its row of %s, %s, %s, seed %d, is not its own", row.Environment, row.Name(), row.Metric,
				row.Seed)
		}
		if err := metric.Check(row.Experiment, row.Metric); err != nil {
			return err
		}
	}
	if err := r.store.put(record, result.Rows); err != nil {
		return err
	}
	if err := os.RemoveAll(scratch); err != nil {
		return fmt.Errorf("its state: %w", err)
	}
	r.set(i, 1)
	r.measure(i, &record)
	r.report(progress.Event{Kind: progress.UnitFinished, Unit: u.Name, Notes: result.Notes})
	return nil
}

// set says which fraction of a unit is done, at least.
func (r *runner) set(unit int, fraction float64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.within[unit] = max(r.within[unit], fraction)
}

// measure counts a finished unit, and takes its duration into the estimates of others.
func (r *runner) measure(unit int, u *UnitRecord) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.done++
	seconds := u.Finished.Sub(u.Started).Seconds()
	for _, of := range slices.Compact([]string{"", r.plan.Units[unit].Method}) {
		m := r.took[of]
		r.took[of] = measured{m.seconds + seconds, m.units + 1}
	}
}

// expected returns how long a unit takes: the mean of the finished units of its method, or else of all.
func (r *runner) expected(unit int) float64 {
	m, ok := r.took[r.plan.Units[unit].Method]
	if !ok {
		m = r.took[""]
	}
	if m.seconds == 0 {
		return 1
	}
	return m.seconds / m.units
}

// report fills in how far the run has come and the estimates of time, and passes the event on.
func (r *runner) report(e progress.Event) {
	if r.options.Events == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	e.Elapsed, e.Total, e.Done = time.Since(r.began).Seconds(), r.share, r.done
	all, now := 0., 0.
	for _, i := range slices.Concat(r.todo...) {
		seconds := r.expected(i)
		all, now = all+seconds, now+r.within[i]*seconds
	}
	if all > 0 {
		r.fraction = max(r.fraction, now/all)
	}
	if e.Kind == progress.Finished {
		r.fraction = 1
	}
	e.Fraction, e.Left = r.fraction, progress.Left(e.Elapsed, r.fraction)
	r.options.Events(e)
}
