package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/overlay"
)

type fakeConfig struct{ Worlds, Chunk, Offset int }

// fake returns a plan whose rows are known numbers, and a counter of the units that it computed.
func fake(c fakeConfig) (*Plan, *atomic.Int32) {
	calls := new(atomic.Int32)
	p := &Plan{Experiment: "fake", Scale: "quick", Config: c}
	for i := 0; i < c.Worlds; i += c.Chunk {
		p.Units = append(p.Units, Unit{Name: fmt.Sprintf("worlds-%03d", i), Cost: float64(c.Chunk)})
	}
	p.Run = func(ctx context.Context, unit int, progress irl.Progress) (*Result, error) {
		calls.Add(1)
		r := &Result{Times: Times{map[string]float64{"a": 1.5}, map[string]float64{"a": 2.5}},
			Notes: []string{"a note"}}
		for j := 0; j < c.Chunk; j++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			seed := uint64(unit*c.Chunk + j)
			rng := rand.New(rand.NewPCG(seed, 0))
			for _, m := range []string{"b", "a"} {
				r.Rows = append(r.Rows, Row{"", "world", m, 5, seed, "w1", rng.NormFloat64() + float64(c.Offset)})
			}
			progress.Report(j+1, c.Chunk, "world")
		}
		return r, nil
	}
	return p, calls
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
	plan, _ := fake(config)
	record, err := Run(context.Background(), plan, Options{Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !record.Complete || record.Rows != 28 || record.Seconds["a"] != 7*1.5 || record.Processor["a"] != 7*2.5 ||
		len(record.Machines) != 1 || len(record.Units) != 7 {
		t.Errorf("record %+v: want a complete run of 28 rows in 7 units on one machine, 10.5 seconds", record)
	}
	stored, err := ReadRecord(dir)
	if err != nil || stored.SHA256 != digest([]byte(read(t, dir, RowsFile))) || len(stored.Notes) != 7 {
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
				plan, _ := fake(config)
				if _, err := Run(context.Background(), plan,
					Options{Out: shared, Shard: Shard{i + 1, count}}); err != nil {
					t.Fatal(err)
				}
				dir := filepath.Join(apart, fmt.Sprint(i))
				record, err := Run(context.Background(), plan, Options{Out: dir, Shard: Shard{i + 1, count}})
				if err != nil {
					t.Fatal(err)
				}
				if record != nil {
					dirs = append(dirs, dir)
					if record.Complete != (count == 1) || len(record.Units)+len(record.Missing) != 7 {
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
				plan, _ := fake(config)
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

func TestInterruptedRunResumes(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	plan, calls := fake(config)
	ctx, cancel := context.WithCancel(context.Background())
	record, err := Run(ctx, plan, Options{Out: dir, Events: func(e Event) {
		if e.Kind == Progressed && e.Done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	if record == nil || record.Complete || len(record.Units) != 3 || len(record.Missing) != 4 {
		t.Fatalf("record %+v, want 3 units of 7", record)
	}
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err == nil ||
		!strings.Contains(err.Error(), "--resume") {
		t.Errorf("running again: error %v, want one that names --resume", err)
	}
	calls.Store(0)
	if _, err := Run(context.Background(), plan, Options{Out: dir, Resume: true}); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 4 {
		t.Errorf("resuming computed %d units, want the 4 missing ones", calls.Load())
	}
	if read(t, dir, RowsFile) != want {
		t.Error("rows differ from those of an uninterrupted run")
	}
}

func TestFailedUnitKeepsTheOthers(t *testing.T) {
	dir := t.TempDir()
	plan, _ := fake(config)
	broken, run := errors.New("chains diverged"), plan.Run
	plan.Run = func(ctx context.Context, unit int, p irl.Progress) (*Result, error) {
		if unit == 2 {
			return nil, broken
		}
		return run(ctx, unit, p)
	}
	record, err := Run(context.Background(), plan, Options{Out: dir})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "worlds-004") {
		t.Errorf("error %v, want the cause and the unit", err)
	}
	if record == nil || len(record.Units) != 2 {
		t.Errorf("record %+v, want the two finished units", record)
	}
}

func TestFoldersWithOtherResultsAreProtected(t *testing.T) {
	dir := t.TempDir()
	plan, _ := fake(config)
	other, _ := fake(fakeConfig{Worlds: 14, Chunk: 2, Offset: 1})
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Out: dir}, {Out: dir, Resume: true}} {
		if _, err := Run(context.Background(), other, o); err == nil || !strings.Contains(err.Error(), "config") {
			t.Errorf("another config, resume %v: error %v", o.Resume, err)
		}
	}
	if _, err := Run(context.Background(), other, Options{Out: dir, Overwrite: true, Shard: Shard{1, 2}}); err == nil {
		t.Error("a shard was allowed to overwrite")
	}
	if err := os.RemoveAll(filepath.Join(dir, UnitsDir)); err != nil { // as results are published
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), plan, Options{Out: dir, Resume: true}); err == nil ||
		!strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("rows without units: error %v, want one that names --overwrite", err)
	}
	if _, err := Run(context.Background(), other, Options{Out: dir, Overwrite: true}); err != nil {
		t.Error(err)
	}
	if read(t, dir, RowsFile) == whole(t) {
		t.Error("the other config gave the same rows")
	}
}

// TestOverwriteKeepsWhatIsNotOurs: a folder that is not an experiment's keeps all its files, and so do results beside
// other files.
func TestOverwriteKeepsWhatIsNotOurs(t *testing.T) {
	plan, _ := fake(config)
	for _, c := range []struct {
		name, file, text string
		results          bool // of an experiment lie beside the file
	}{
		{"another program's units", "units/metre.txt", "a unit of length", false},
		{"another file among units", "units/notes.txt", "what I thought of them", true},
		{"another record", "units/metre.json", `{"length": 1}`, true},
		{"a folder among units", "units/deep/file", "x", true},
		{"other rows", "rows.csv", "a,b\n1,2\n", false},
		{"another run", "run.json", `{"distance": 42195}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.results {
				if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, filepath.FromSlash(c.file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Run(context.Background(), plan, Options{Out: dir, Overwrite: true}); err == nil ||
				!strings.Contains(err.Error(), "cannot overwrite") {
				t.Errorf("error %v, want a refusal", err)
			}
			if got := read(t, path); got != c.text {
				t.Errorf("the file became %q", got)
			}
			if c.results && len(read(t, dir, UnitsDir, "worlds-000.csv")) == 0 {
				t.Error("the results are gone")
			}
		})
	}
}

func TestUnitsOfAnotherConfigAreKeptWhereTheyDependOnTheSamePart(t *testing.T) {
	withPart := func(c fakeConfig) (*Plan, *atomic.Int32) {
		plan, calls := fake(c)
		plan.Part = func(config json.RawMessage, unit string) (json.RawMessage, error) {
			var c fakeConfig
			if err := overlay.JSON(&c, config); err != nil {
				return nil, err
			}
			c.Worlds = 0 // more worlds are more units
			return json.Marshal(c)
		}
		return plan, calls
	}
	more := fakeConfig{Worlds: 20, Chunk: 2}
	reference := t.TempDir()
	plan, _ := withPart(more)
	if _, err := Run(context.Background(), plan, Options{Out: reference}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan, _ = fake(config)
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	plan, calls := withPart(more)
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err == nil ||
		!strings.Contains(err.Error(), "--resume") {
		t.Errorf("without Resume: error %v, want one that names --resume", err)
	}
	other, _ := withPart(fakeConfig{Worlds: 20, Chunk: 2, Offset: 1})
	fewer, _ := withPart(fakeConfig{Worlds: 10, Chunk: 2})
	plain, _ := fake(more)
	for name, p := range map[string]*Plan{"another part": other, "a plan that lacks finished units": fewer,
		"a plan without parts": plain} {
		if _, err := Run(context.Background(), p, Options{Out: dir, Resume: true}); err == nil ||
			!strings.Contains(err.Error(), "config") {
			t.Errorf("%s: error %v, want one about the config", name, err)
		}
	}
	// the first one meets units of the old config, the second one its own
	for _, shard := range []Shard{{2, 2}, {1, 2}} {
		if _, err := Run(context.Background(), plan, Options{Out: dir, Resume: true, Shard: shard}); err != nil {
			t.Fatal(err)
		}
	}
	record, err := ReadRecord(dir)
	if err != nil || !record.Complete || calls.Load() != 3 || !strings.Contains(string(record.Config), "20") {
		t.Errorf("computed %d units, record %+v, error %v, want 3 and a complete record of the new config",
			calls.Load(), record, err)
	}
	if read(t, dir, RowsFile) != read(t, reference, RowsFile) {
		t.Error("rows differ from those of one run")
	}
}

func TestDamagedUnitsAreNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"changed rows": {func(d string) error { return os.WriteFile(d+"/worlds-002.csv", []byte("x"), 0o644) },
			"worlds-002.csv was changed"},
		"missing rows": {func(d string) error { return os.Remove(d + "/worlds-002.csv") }, "worlds-002.csv"},
		"truncated record": {func(d string) error { return os.Truncate(d+"/worlds-002.json", 100) },
			"worlds-002.json is damaged"},
		"foreign record": {func(d string) error { return os.Rename(d+"/worlds-002.json", d+"/elsewhere.json") },
			"elsewhere.json"},
	} {
		dir := t.TempDir()
		plan, _ := fake(config)
		if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil {
			t.Fatal(err)
		}
		if err := c.damage(filepath.Join(dir, UnitsDir)); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), plan, Options{Out: dir, Resume: true}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: resuming: error %v, want one with %q", name, err, c.want)
		}
		if _, err := Merge([]string{dir}, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: merging: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestUnfinishedUnitsAreComputedAgain(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	plan, calls := fake(config)
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, UnitsDir, "worlds-002.json")); err != nil { // a crash between the two files
		t.Fatal(err)
	}
	calls.Store(0)
	if _, err := Run(context.Background(), plan, Options{Out: dir, Resume: true}); err != nil || calls.Load() != 1 {
		t.Errorf("computed %d units, error %v, want 1", calls.Load(), err)
	}
	if read(t, dir, RowsFile) != want {
		t.Error("rows differ")
	}
}

func TestMergeRefusesWhatDoesNotBelongTogether(t *testing.T) {
	dirs := map[string]string{}
	for name, c := range map[string]fakeConfig{"a": config, "other config": {Worlds: 14, Chunk: 2, Offset: 1}} {
		dirs[name] = t.TempDir()
		plan, _ := fake(c)
		if _, err := Run(context.Background(), plan, Options{Out: dirs[name]}); err != nil {
			t.Fatal(err)
		}
	}
	dirs["other rows"], dirs["other experiment"], dirs["empty"] = t.TempDir(), t.TempDir(), t.TempDir()
	plan, _ := fake(config)
	run := plan.Run
	plan.Run = func(ctx context.Context, unit int, p irl.Progress) (*Result, error) {
		r, err := run(ctx, unit, p)
		r.Rows[0].Value++
		return r, err
	}
	if _, err := Run(context.Background(), plan, Options{Out: dirs["other rows"]}); err != nil {
		t.Fatal(err)
	}
	plan.Experiment = "another"
	if _, err := Run(context.Background(), plan, Options{Out: dirs["other experiment"]}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"other config": "different configs", "other rows": "different rows",
		"other experiment": "another", "empty": "no finished units"} {
		if _, err := Merge([]string{dirs["a"], dirs[name]}, t.TempDir()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("merging %s: error %v, want one with %q", name, err, want)
		}
	}
	if _, err := Merge([]string{dirs["a"], dirs["a"]}, t.TempDir()); err != nil {
		t.Errorf("merging a folder twice: %v", err)
	}
}

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	plan, calls := fake(config)
	out := filepath.Join(file, "out")
	if _, err := Run(context.Background(), plan, Options{Out: out}); err == nil ||
		!strings.Contains(err.Error(), out) || calls.Load() != 0 {
		t.Errorf("error %v after %d units, want one that names the folder before any unit", err, calls.Load())
	}
}

func TestEventsTellHowFar(t *testing.T) {
	plan, _ := fake(config)
	var events []Event
	if _, err := Run(context.Background(), plan, Options{Out: t.TempDir(), Shard: Shard{2, 2},
		Events: func(e Event) { events = append(events, e) }}); err != nil {
		t.Fatal(err)
	}
	if n := len(events); n != 3*(1+2+1)+1 {
		t.Fatalf("%d events, want start, two worlds and end of three units, and the end", n)
	}
	for i, e := range events {
		if e.Total != 3 || i > 0 && e.Fraction < events[i-1].Fraction {
			t.Errorf("event %d: %+v after fraction %g", i, e, events[max(i-1, 0)].Fraction)
		}
	}
	if e := events[1]; e.Kind != Progressed || e.Fraction != 0.5/3 || e.Status != "world" || e.Left <= 0 {
		t.Errorf("second event %+v, want a sixth of the work with an estimate of the time left", e)
	}
	if e := events[len(events)-1]; e.Kind != Finished || e.Done != 3 || e.Fraction != 1 || len(e.Missing) != 4 {
		t.Errorf("last event %+v", e)
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
	plan := &Plan{Experiment: "stateful", Scale: "tiny", Config: 1, Units: []Unit{{Name: "a", Cost: 1}},
		Run: func(ctx context.Context, _ int, _ irl.Progress) (*Result, error) {
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
			return &Result{Rows: []Row{{Environment: "ALE/Pong-v5", Method: "m", Metric: "x"}}}, nil
		}}
	if _, err := Run(t.Context(), plan, Options{Out: dir}); err == nil || found != "" {
		t.Errorf("error %v; found %q before anything was kept", err, found)
	}
	fails = false
	record, err := Run(t.Context(), plan, Options{Out: dir, Resume: true})
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
