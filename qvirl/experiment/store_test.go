package experiment

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/method"
)

// TestOnlyWhatChangedIsComputed: another setting of one method, and more worlds, in a folder that holds results.
func TestOnlyWhatChangedIsComputed(t *testing.T) {
	dir, said := filepath.Join(t.TempDir(), "[seeds] 1*"), "" // whose name is no pattern
	run := func(c fakeConfig, units int32) {
		t.Helper()
		calls.Store(0)
		said = ""
		record, err := Run(t.Context(), fake(c), Options{Out: dir, Events: func(e progress.Event) {
			if e.Unit == "" {
				said += strings.Join(e.Notes, "\n")
			}
		}})
		if err != nil || !record.Complete || calls.Load() != units {
			t.Errorf("%+v: computed %d units (error %v), want %d", c, calls.Load(), err, units)
		}
		reference := t.TempDir()
		if _, err := Run(t.Context(), fake(c), Options{Out: reference}); err != nil {
			t.Fatal(err)
		}
		if read(t, dir, RowsFile) != read(t, reference, RowsFile) {
			t.Errorf("%+v: the rows are not those of a run from scratch", c)
		}
	}
	run(config, 14)
	if said != "" {
		t.Errorf("at first: %q", said)
	}
	run(fakeConfig{Worlds: 14, Chunk: 2, Offset: 1}, 7)
	if !strings.Contains(said, "b: ") || !strings.Contains(said, "7 units") || strings.Contains(said, "a: ") {
		t.Errorf("after a change of b: %q", said)
	}
	run(config, 0) // as before
	run(fakeConfig{Worlds: 18, Chunk: 2}, 4)
	if said != "" {
		t.Errorf("with more worlds: %q", said)
	}
	run(config, 0)
	if !strings.HasPrefix(said, "4 units of another config, such as b-worlds-0014, ") {
		t.Errorf("with fewer worlds: %q", said)
	}
	run(fakeConfig{Worlds: 14, Chunk: 7}, 4)

	for _, path := range []string{UnitsDir, PlanFile} { // as results are published
		if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	run(fakeConfig{Worlds: 14, Chunk: 7}, 0)
	units := filepath.Join(dir, UnitsDir)
	stored, err := fs.Glob(os.DirFS(units), "a-*")
	if err != nil || len(stored) == 0 {
		t.Fatalf("%d files of a, error %v", len(stored), err)
	}
	for _, name := range stored { // as units of b that are computed beside published results
		if err := os.Remove(filepath.Join(units, name)); err != nil {
			t.Fatal(err)
		}
	}
	run(fakeConfig{Worlds: 14, Chunk: 7}, 0)
	data := filepath.Join(t.TempDir(), "data")
	for i, text := range []string{"one", "two", "two"} {
		if err := os.WriteFile(data, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		plan := fake(fakeConfig{Worlds: 2, Chunk: 2})
		plan.Units[0].Data = []string{data}
		calls.Store(0)
		if _, err := Run(t.Context(), plan, Options{Out: dir}); err != nil || calls.Load() != []int32{2, 1, 0}[i] {
			t.Errorf("data %q: computed %d units, error %v", text, calls.Load(), err)
		}
	}
	for i, version := range []int{0, 1, 1, 0} {
		plan := fake(fakeConfig{Worlds: 2, Chunk: 2})
		plan.Units[0].Version = version
		calls.Store(0)
		if _, err := Run(t.Context(), plan, Options{Out: dir}); err != nil || calls.Load() != []int32{1, 1, 0, 0}[i] {
			t.Errorf("version %d: computed %d units, error %v", version, calls.Load(), err)
		}
	}
}

// TestKeysTellSeedsApart that are the same number as float64s.
func TestKeysTellSeedsApart(t *testing.T) {
	p := &Plan{Experiment: "e", Units: []Unit{{Name: "a", On: []uint64{1 << 60}}, {Name: "b", On: []uint64{1<<60 + 1}}}}
	keys, err := p.Keys()
	if err != nil || keys[0] == keys[1] {
		t.Errorf("keys %q, error %v", keys, err)
	}
}

// TestKeysHaveTheVersionsOfCode: those of other methods' code, but for first versions, which leave a key as it was.
func TestKeysHaveTheVersionsOfCode(t *testing.T) {
	defer func() { versionOf = method.Version }()
	key := func(version int, code ...string) string {
		versionOf = func(name string) int {
			if name == "reference" {
				return version
			}
			return 1
		}
		keys, err := (&Plan{Experiment: "e", Units: []Unit{{Name: "a", Method: "a", On: 1, Code: code}}}).Keys()
		if err != nil {
			t.Fatal(err)
		}
		return keys[0]
	}
	if first := key(1); key(1, "reference") != first || key(2) != first || key(2, "reference") == first ||
		key(2, "reference") == key(3, "reference") {
		t.Error("keys do not tell versions of the reference apart, or tell apart what does not depend on it")
	}
}

// finished returns a folder in which all units of a plan have run, and their keys.
func finished(t *testing.T) (dir string, plan *Plan, keys []string) {
	t.Helper()
	dir, plan = t.TempDir(), fake(config)
	if _, err := Run(t.Context(), plan, Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	keys, err := plan.Keys()
	if err != nil {
		t.Fatal(err)
	}
	return dir, plan, keys
}

// TestUnitsThatCannotBeKeptAnew: a unit whose new rows were not written is computed again, as one between whose two
// files the run was killed.
func TestUnitsThatCannotBeKeptAnew(t *testing.T) {
	want := whole(t)
	dir, plan, keys := finished(t)
	rows := store{dir, nil}.path("a-worlds-0002", keys[3], ".csv")
	if err := errors.Join(os.Remove(rows), os.Mkdir(rows, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), plan, Options{Out: dir, Anew: true}); err == nil ||
		!strings.Contains(err.Error(), rows) {
		t.Errorf("error %v, want one that names %s", err, rows)
	}
	if err := os.Remove(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), plan, Options{Out: dir}); err != nil || read(t, dir, RowsFile) != want {
		t.Errorf("error %v, or rows differ", err)
	}
}

// TestRunBetweenTwoFilesOfAnother begins when another process has written its rows and not yet its record.
func TestRunBetweenTwoFilesOfAnother(t *testing.T) {
	plan, dir := fake(config), t.TempDir()
	plan.of = nil // a plan that goes on from no other
	if _, err := Run(t.Context(), plan, Options{Out: dir, Shard: Shard{1, 2}}); err != nil {
		t.Fatal(err)
	}
	record := read(t, dir, RunFile)
	if err := os.Remove(filepath.Join(dir, RunFile)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() {
		if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(record), 0o644); err != nil {
			t.Error(err)
		}
	})
	if _, err := Run(t.Context(), plan, Options{Out: dir, Shard: Shard{2, 2}}); err != nil {
		t.Error(err)
	}
}

// TestRowsWithoutARecord: a run that was killed between the two files, or met a full disk, is gone on with; rows that
// would be lost are not.
func TestRowsWithoutARecord(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"damaged": func(path string) error { return os.Truncate(path, 100) },
	} {
		dir := t.TempDir()
		if _, err := Run(t.Context(), fake(config), Options{Out: dir, Shard: Shard{1, 2}}); err != nil {
			t.Fatal(err)
		}
		if err := damage(filepath.Join(dir, RunFile)); err != nil {
			t.Fatal(err)
		}
		other := fake(fakeConfig{Worlds: 14, Chunk: 2, Offset: 1})
		if _, err := Run(t.Context(), other, Options{Out: dir}); err == nil ||
			!strings.Contains(err.Error(), "move rows.csv and run.json away") {
			t.Errorf("%s: rows of other settings: error %v", name, err)
		}
		if record, err := Run(t.Context(), fake(config), Options{Out: dir}); err != nil || !record.Complete ||
			read(t, dir, RowsFile) != whole(t) {
			t.Errorf("%s: error %v, or rows differ", name, err)
		}
	}
}

// TestRecordsNameTheirMachines: who reads one finds the machine of each unit.
func TestRecordsNameTheirMachines(t *testing.T) {
	for want, change := range map[string]func(r *Record){
		"it names no machine": func(r *Record) { r.Machines = nil },
		"is of machine 1, of": func(r *Record) { r.Units[2].Machine = 1 },
		"is of machine -1":    func(r *Record) { r.Units[0].Machine = -1 },
	} {
		dir := t.TempDir()
		record, err := Run(t.Context(), fake(config), Options{Out: dir})
		if err != nil {
			t.Fatal(err)
		}
		change(record)
		if err := atomicfile.WriteJSON(filepath.Join(dir, RunFile), record); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadResults(dir); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), RunFile) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestPublishedResultsOfOtherPlans are refused, and stay as they are.
func TestPublishedResultsOfOtherPlans(t *testing.T) {
	for want, change := range map[string]func(r *Record, rows *[]Row){
		"none of its plan's": func(r *Record, _ *[]Row) { r.Units[0].Unit = "elsewhere" },
		"with the key \"\"":  func(r *Record, _ *[]Row) { r.Units[0].Key = "" },
		"are of no unit":     func(r *Record, rows *[]Row) { (*rows)[0].Seed = 99 },
		"or of two":          func(r *Record, _ *[]Row) { r.Units = append(r.Units, r.Units[0]) },
		"a stored config":    func(r *Record, _ *[]Row) { r.Config = []byte(`"none"`) },
	} {
		dir := t.TempDir()
		if _, err := Run(t.Context(), fake(config), Options{Out: dir}); err != nil {
			t.Fatal(err)
		}
		rows, record, err := ReadResults(dir)
		if err != nil {
			t.Fatal(err)
		}
		change(record, &rows)
		if err := (store{dir: dir}).write(record, rows); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, UnitsDir)); err != nil {
			t.Fatal(err)
		}
		before := read(t, dir, RowsFile) + read(t, dir, RunFile)
		if _, err := Run(t.Context(), fake(config), Options{Out: dir}); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "use another folder") {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if read(t, dir, RowsFile)+read(t, dir, RunFile) != before {
			t.Errorf("%s: what was published has changed", want)
		}
	}
}

// TestFoldersWithOtherResultsAreProtected: what cannot be gone on from stays as it is.
func TestFoldersWithOtherResultsAreProtected(t *testing.T) {
	for name, text := range map[string]string{
		"units/metre.json": `{"length": 1}`, // is nobody's
		"rows.csv":         "a,b\n1,2\n",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), fake(config), Options{Out: dir}); (err == nil) != (name != RowsFile) {
			t.Errorf("%s: error %v", name, err)
		}
		if read(t, path) != text {
			t.Errorf("%s became %q", name, read(t, path))
		}
	}
	dir := t.TempDir()
	if _, err := Run(t.Context(), fake(config), Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	other := fake(config)
	other.Experiment = "another"
	for _, path := range []string{"", UnitsDir, PlanFile} { // that is taken away
		if path != "" {
			if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Run(t.Context(), other, Options{Out: dir}); err == nil ||
			!strings.Contains(err.Error(), "not of another") {
			t.Errorf("results of another experiment, without %q: %v", path, err)
		}
	}
}

// TestRowsOfAnotherScaleAreProtected, unless the plan has all of them too.
func TestRowsOfAnotherScaleAreProtected(t *testing.T) {
	dir, _, _ := finished(t)
	before := read(t, dir, RowsFile) + read(t, dir, RunFile) + read(t, dir, PlanFile)
	other := fake(fakeConfig{Worlds: 14, Chunk: 2, Offset: 1})
	other.Scale = "paper"
	_, err := Run(t.Context(), other, Options{Out: dir})
	if want := "holds 28 rows of fake at scale quick, in place of which would be those at scale paper"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	if read(t, dir, RowsFile)+read(t, dir, RunFile)+read(t, dir, PlanFile) != before {
		t.Error("the folder was changed")
	}
	more := fake(fakeConfig{Worlds: 16, Chunk: 2})
	more.Scale = "paper"
	if record, err := Run(t.Context(), more, Options{Out: dir}); err != nil || record.Rows != 32 ||
		record.Scale != "paper" {
		t.Errorf("a scale that has all units: %+v, error %v", record, err)
	}
}

func TestDamagedUnitsAreNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(unit string) error
		want   string
	}{
		"changed rows": {func(u string) error { return os.WriteFile(u+".csv", []byte("x"), 0o644) }, "was changed"},
		"missing rows": {func(u string) error { return os.Remove(u + ".csv") }, "remove the .json beside"},
		"truncated record": {func(u string) error { return os.Truncate(u+".json", 100) },
			"is damaged: unexpected end of JSON input; remove it"},
		"another's record": {func(u string) error {
			others, err := filepath.Glob(filepath.Join(filepath.Dir(u), "b-worlds-0002.*.json"))
			if err != nil {
				return err
			}
			text, err := os.ReadFile(others[0])
			if err != nil {
				return err
			}
			return os.WriteFile(u+".json", text, 0o644)
		}, "is not the record of unit"},
	} {
		dir, plan, keys := finished(t)
		if err := c.damage(store{dir, nil}.path("a-worlds-0002", keys[3], "")); err != nil {
			t.Fatal(err)
		}
		_, before := Left(plan, Options{Out: dir}) // anything is computed
		_, err := Run(context.Background(), plan, Options{Out: dir})
		for _, err := range []error{before, err} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: going on: error %v, want one with %q", name, err, c.want)
			}
		}
	}
}

func TestUnfinishedUnitsAreComputedAgain(t *testing.T) {
	want := whole(t)
	dir, plan, keys := finished(t)
	if err := os.Remove(store{dir, nil}.path("a-worlds-0002", keys[3], ".json")); err != nil {
		t.Fatal(err) // a crash between the two files
	}
	calls.Store(0)
	if _, err := Run(context.Background(), plan, Options{Out: dir}); err != nil || calls.Load() != 1 {
		t.Errorf("computed %d units, error %v, want 1", calls.Load(), err)
	}
	if read(t, dir, RowsFile) != want {
		t.Error("rows differ")
	}
}

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	plan := fake(config)
	calls.Store(0)
	out := filepath.Join(file, "out")
	if _, err := Run(context.Background(), plan, Options{Out: out}); err == nil ||
		!strings.Contains(err.Error(), out) || calls.Load() != 0 {
		t.Errorf("error %v after %d units, want one that names the folder before any unit", err, calls.Load())
	}
}
