package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/irl"
)

type fakeConfig struct{ Worlds, Chunk, Offset int }

// calls counts the units that fake plans computed.
var calls atomic.Int32

// Validate accepts any numbers.
func (c fakeConfig) Validate() error { return nil }

// Units returns units whose rows are known numbers: the methods a and b on chunks of worlds. Offset is a setting of b.
func (c fakeConfig) Units(string) ([]Unit, error) {
	var out []Unit
	for _, chunk := range Chunks("worlds", Seeds(0, c.Worlds), c.Chunk) {
		for _, name := range []string{"b", "a"} {
			offset := 0
			if name == "b" {
				offset = c.Offset
			}
			out = append(out, Unit{Name: name + "-" + chunk.Name, Group: chunk.Name, Method: name,
				On: []any{name, chunk.Seeds, offset}, Owns: chunk.OwnsOf(name),
				Run: func(ctx context.Context, t *Stages) (*Result, error) {
					calls.Add(1)
					return fakeRows(ctx, name, chunk.Seeds, offset, t)
				}})
		}
	}
	return out, nil
}

func fakeRows(ctx context.Context, name string, seeds []uint64, offset int, t *Stages) (*Result, error) {
	first, err := Share(ctx, "first", func() (uint64, error) { return seeds[0], nil })
	if err != nil || first != seeds[0] {
		return nil, fmt.Errorf("the chunk of %d shares what begins with %d (%w)", seeds[0], first, err)
	}
	r := &Result{Notes: []string{"a note"}}
	return r, t.Run("", "", func(progress irl.Progress) error {
		for j, seed := range seeds {
			if err := ctx.Err(); err != nil {
				return err
			}
			value := rand.New(rand.NewPCG(seed, uint64(name[0]))).NormFloat64()
			r.Rows = append(r.Rows, Row{Environment: "world", Method: name, Demos: 5, Seed: seed, Metric: "w1",
				Value: value + float64(offset)})
			progress.Report(j+1, len(seeds), "world")
		}
		return nil
	})
}

// fake returns the plan of a config.
func fake(c fakeConfig) *Plan {
	p, err := NewPlan("fake", "quick", "go", c)
	if err != nil {
		panic(err)
	}
	return p
}

var config = fakeConfig{Worlds: 14, Chunk: 2}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// whole returns rows.csv of an uninterrupted run.
func whole(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	plan := fake(config)
	record, err := Run(context.Background(), plan, Options{Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !record.Complete || record.Rows != 28 || !(record.Seconds["a"] > 0) || len(record.Seconds) != 2 ||
		len(record.Machines) != 1 || len(record.Units) != 14 {
		t.Errorf("record %+v: want a complete run of 28 rows in 14 units on one machine", record)
	}
	stored, err := ReadRecord(dir)
	if err != nil || stored.SHA256 != digest([]byte(read(t, dir, RowsFile))) || len(stored.Notes) != 14 {
		t.Errorf("run.json: %+v, error %v", stored, err)
	}
	rows, err := ReadRowsFile(filepath.Join(dir, RowsFile))
	if err != nil || len(rows) != 28 || rows[0].Experiment != "fake" || rows[0].Method != "a" || rows[27].Seed != 13 {
		t.Errorf("%d rows, first %v, error %v", len(rows), rows[0], err)
	}
	return read(t, dir, RowsFile)
}

func TestShardsInAnyOrderGiveTheRowsOfOneRun(t *testing.T) {
	want := whole(t)
	for _, count := range []int{1, 3, 7, 9} { // with 9 some shards have nothing to do
		for _, order := range [][]int{rand.New(rand.NewPCG(1, 1)).Perm(count),
			rand.New(rand.NewPCG(2, 1)).Perm(count)} {
			shared, apart := t.TempDir(), t.TempDir()
			var dirs []string
			for _, i := range order {
				plan := fake(config)
				if _, err := Run(context.Background(), plan,
					Options{Out: shared, Shard: Shard{i + 1, count}, Parallel: i}); err != nil {
					t.Fatal(err)
				}
				dir := filepath.Join(apart, fmt.Sprint(i))
				record, err := Run(context.Background(), plan, Options{Out: dir, Shard: Shard{i + 1, count}})
				if err != nil {
					t.Fatal(err)
				}
				if record != nil {
					dirs = append(dirs, dir)
					if record.Complete != (count == 1) || len(record.Units)+len(record.Missing) != 14 {
						t.Errorf("shard %d/%d: complete %v, missing %v", i+1, count, record.Complete, record.Missing)
					}
				}
			}
			merged := t.TempDir()
			record, err := Merge(dirs, merged)
			if err != nil || !record.Complete {
				t.Fatalf("merging %v: record %+v, error %v", dirs, record, err)
			}
			for _, dir := range []string{shared, merged} {
				if got := read(t, dir, RowsFile); got != want {
					t.Errorf("%d shards: rows differ from those of one run:\n%s", count, got)
				}
			}
		}
	}
}

func TestConcurrentShardsLeaveOneCompleteFile(t *testing.T) {
	want := whole(t)
	for range 10 {
		dir := t.TempDir()
		var wait sync.WaitGroup
		for i := range 5 {
			wait.Go(func() {
				plan := fake(config)
				if _, err := Run(context.Background(), plan, Options{Out: dir, Shard: Shard{i + 1, 5}}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if read(t, dir, RowsFile) != want {
			t.Error("rows differ from those of one run")
		}
		if r, err := ReadRecord(dir); err != nil || !r.Complete {
			t.Errorf("run.json: %+v, error %v", r, err)
		}
	}
}

// TestProcessorTimesAreOfUnitsAlone: units that are computed side by side have none, nor has a record with one of them.
func TestProcessorTimesAreOfUnitsAlone(t *testing.T) {
	if math.IsNaN(ProcessorSeconds()) {
		t.Skip("the system does not tell processor times")
	}
	for _, c := range []struct{ first, second, methods int }{{1, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		dir, plan := t.TempDir(), fake(config)
		var record *Record
		for i, parallel := range []int{c.first, c.second} {
			var err error
			o := Options{Out: dir, Shard: Shard{i + 1, 2}, Parallel: parallel}
			if record, err = Run(t.Context(), plan, o); err != nil {
				t.Fatal(err)
			}
		}
		if !record.Complete || len(record.Seconds) != 2 || len(record.Processor) != c.methods {
			t.Errorf("%d units at a time, then %d: seconds %v, processor %v", c.first, c.second, record.Seconds,
				record.Processor)
		}
	}
}

func TestInterruptedRunGoesOn(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	plan := fake(config)
	ctx, cancel := context.WithCancel(context.Background())
	record, err := Run(ctx, plan, Options{Out: dir, Events: func(e progress.Event) {
		if e.Kind == progress.Progressed && e.Done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	if record == nil || record.Complete || len(record.Units) != 3 || len(record.Missing) != 11 {
		t.Fatalf("record %+v, want 3 units of 14", record)
	}
	calls.Store(0)
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 11 {
		t.Errorf("going on computed %d units, want the 11 missing ones", calls.Load())
	}
	if read(t, dir, RowsFile) != want {
		t.Error("rows differ from those of an uninterrupted run")
	}
	calls.Store(0)
	if _, err := Run(context.Background(), plan, Options{Out: dir, Anew: true}); err != nil || calls.Load() != 14 {
		t.Errorf("anew: error %v, %d units, want all 14", err, calls.Load())
	}
}

func TestFailedUnitKeepsTheOthers(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		dir := t.TempDir()
		plan := fake(config)
		broken := errors.New("chains diverged")
		plan.Units[4].Run = func(context.Context, *Stages) (*Result, error) { return nil, broken }
		record, err := Run(context.Background(), plan, Options{Out: dir, Parallel: parallel})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "b-worlds-0004") {
			t.Errorf("error %v, want the cause and the unit", err)
		}
		if parallel == 1 && (record == nil || len(record.Units) != 4) {
			t.Errorf("record %+v, want the four finished units", record)
		}
	}
}

// TestAUnitKeepsToItsRows: rows that another unit owns would be two for one thing.
func TestAUnitKeepsToItsRows(t *testing.T) {
	plan := fake(config)
	plan.Units[1].Run = plan.Units[0].Run
	if _, err := Run(t.Context(), plan, Options{Out: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "a-worlds-0000") || !strings.Contains(err.Error(), "not its own") {
		t.Errorf("error %v, want one that names the unit", err)
	}
}

func TestMergeRefusesWhatDoesNotBelongTogether(t *testing.T) {
	dirs := map[string]string{}
	run := func(name string, p *Plan) {
		dirs[name] = t.TempDir()
		if _, err := Run(context.Background(), p, Options{Out: dirs[name]}); err != nil {
			t.Fatal(err)
		}
	}
	run("a", fake(config))
	run("other config", fake(fakeConfig{Worlds: 14, Chunk: 2, Offset: 1}))
	plan := fake(config)
	first := plan.Units[0].Run
	plan.Units[0].Run = func(ctx context.Context, t *Stages) (*Result, error) {
		r, err := first(ctx, t)
		r.Rows[0].Value++
		return r, err
	}
	run("other rows", plan)
	plan = fake(config)
	plan.Experiment = "another"
	run("other experiment", plan)
	dirs["empty"] = t.TempDir()
	for name, want := range map[string]string{"other config": "different configs", "other rows": "different rows",
		"other experiment": "another", "empty": PlanFile} {
		had, made := t.TempDir(), filepath.Join(t.TempDir(), "made")
		for _, out := range []string{had, made} {
			_, err := Merge([]string{dirs["a"], dirs[name]}, out)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("merging %s: error %v, want one with %q", name, err, want)
			}
		}
		_, hadErr := os.Stat(had)
		if _, err := os.Stat(made); err == nil || hadErr != nil {
			t.Errorf("merging %s: the new folder is there: %v; the one that was: %v", name, err == nil, hadErr == nil)
		}
	}
	if _, err := Merge([]string{dirs["a"], dirs["a"]}, t.TempDir()); err != nil {
		t.Errorf("merging a folder twice: %v", err)
	}
	// A shard that no unit falls to is as good as any.
	none := t.TempDir()
	if _, err := Run(context.Background(), fake(config), Options{Out: none, Shard: Shard{100, 100}}); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{dirs["a"], none} {
		_, err := Merge([]string{none, out}, filepath.Join(t.TempDir(), "made"))
		if want := none + " holds no finished unit"; out != none && err != nil ||
			out == none && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("merging an empty shard and %s: error %v", out, err)
		}
	}
}

func TestEventsTellHowFar(t *testing.T) {
	var events []progress.Event
	if _, err := Run(context.Background(), fake(config), Options{Out: t.TempDir(), Shard: Shard{2, 2},
		Events: func(e progress.Event) { events = append(events, e) }}); err != nil {
		t.Fatal(err)
	}
	if n := len(events); n != 6*(1+3+1)+1 {
		t.Fatalf("%d events, want start, a stage, two worlds and end of six units, and the end", n)
	}
	for i, e := range events {
		if e.Total != 6 || i > 0 && e.Fraction < events[i-1].Fraction {
			t.Errorf("event %d: %+v after fraction %g", i, e, events[max(i-1, 0)].Fraction)
		}
	}
	if e := events[2]; e.Kind != progress.Progressed || e.Fraction != 0.25/6 || e.Status != ": world" || e.Left <= 0 {
		t.Errorf("third event %+v, want half of half a unit with an estimate of the time left", e)
	}
	if e := events[len(events)-1]; e.Kind != progress.Finished || e.Done != 6 || e.Fraction != 1 ||
		len(e.Missing) != 8 {
		t.Errorf("last event %+v", e)
	}
}

// TestExpectedTimesAreMeasured: the time that is left follows from how long units of the same method took.
func TestExpectedTimesAreMeasured(t *testing.T) {
	r := &runner{plan: fake(config), took: map[string]measured{}}
	if s := r.expected(0); s != 1 {
		t.Errorf("without any unit: %g", s)
	}
	for i, seconds := range []int{6, 2} {
		u := &UnitRecord{UnitSummary: UnitSummary{Started: time.Unix(0, 0), Finished: time.Unix(int64(seconds), 0)}}
		r.measure(2*i, u) // of b
		if i == 0 && r.expected(1) != 6 {
			t.Errorf("a after a unit of b of 6 s: %g", r.expected(1))
		}
	}
	if s := r.expected(0); s != 4 {
		t.Errorf("b after units of 6 s and 2 s: %g", s)
	}
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("2/8"); err != nil || s != (Shard{2, 8}) {
		t.Errorf("2/8 gave %v, %v", s, err)
	}
	for _, bad := range []string{"0/4", "5/4", "3", "a/b", "1/0", "-1/2", "1/2/3"} {
		if _, err := ParseShard(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestUnitsKeepTheirStateUntilTheyAreFinished: an interrupted unit finds what it left, a finished one leaves nothing.
func TestUnitsKeepTheirStateUntilTheyAreFinished(t *testing.T) {
	dir, found := t.TempDir(), ""
	fails := true
	plan := &Plan{Experiment: "stateful", Scale: "tiny", Config: 1, Units: []Unit{{Name: "a",
		Run: func(ctx context.Context, _ *Stages) (*Result, error) {
			path := filepath.Join(Scratch(ctx), "state")
			text, _ := os.ReadFile(path)
			found = string(text)
			if err := os.MkdirAll(Scratch(ctx), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
				return nil, err
			}
			if fails {
				return nil, errors.New("interrupted")
			}
			return &Result{Rows: []Row{{Environment: "ALE/Pong-v5", Method: "m", Metric: "w1"}}}, nil
		}}}}
	if _, err := Run(t.Context(), plan, Options{Out: dir}); err == nil || found != "" {
		t.Errorf("error %v; found %q before anything was kept", err, found)
	}
	fails = false
	record, err := Run(t.Context(), plan, Options{Out: dir})
	if err != nil || found != "half" || !record.Complete {
		t.Errorf("error %v; found %q, want what the interrupted unit left", err, found)
	}
	if left, err := os.ReadDir(filepath.Join(dir, scratchDir)); err != nil || len(left) > 0 {
		t.Errorf("after the unit there is %v (%v)", left, err)
	}
	if Scratch(t.Context()) != "" {
		t.Error("there is a folder without a run")
	}
}

// TestResultsThatAreBeingWrittenAreWaitedFor: rows.csv is written first, and its record a moment later.
func TestResultsThatAreBeingWrittenAreWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(t.Context(), fake(config), Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	want := read(t, dir, RowsFile)
	record := read(t, dir, RunFile)
	for _, before := range []string{"", strings.Replace(record, digest([]byte(want)), digest(nil), 1)} {
		path := filepath.Join(dir, RunFile)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		written := make(chan error)
		go func() {
			time.Sleep(100 * time.Millisecond)
			written <- atomicfile.WriteBytes(path, []byte(record))
		}()
		rows, got, err := ReadResults(dir)
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		if err != nil || !got.Complete || len(rows) != got.Rows {
			t.Errorf("%d rows of %+v, error %v, of results that were being written", len(rows), got, err)
		}
	}
}

// TestUnknownMetricsAreRefused runs a unit whose row has a metric that the registry lacks, and one with a metric of its
// own.
func TestUnknownMetricsAreRefused(t *testing.T) {
	for name, want := range map[string]string{"no_such_metric": "registry.csv", "Regret": ""} {
		plan := &Plan{Experiment: "test", Scale: "tiny", Config: 1, Units: []Unit{{Name: "all",
			Run: func(context.Context, *Stages) (*Result, error) {
				return &Result{Rows: []Row{{Environment: "world", Method: "m", Metric: name}}}, nil
			}}}}
		_, err := Run(t.Context(), plan, Options{Out: t.TempDir()})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
