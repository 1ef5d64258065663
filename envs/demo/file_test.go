package demo

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/npz"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	pixels := example(3, 5, 2, 2)
	for i := range pixels.Trajectories {
		x := &pixels.Trajectories[i]
		x.Rewards, x.LogProbs = nil, nil
		for k := range x.Observations {
			x.Observations[k] = float32(uint8(37 * k))
		}
	}
	beta := 3.0
	pixels.Beta = &beta
	for name, want := range map[string]*Set{"vectors": example(20, 4, 3), "numbers": example(2, 4), "pixels": pixels} {
		path := filepath.Join(dir, name+".npz")
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(string) (*Set, error){Read, Open} {
			got, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(want.ObservationShape) == 0 {
				got.ObservationShape = want.ObservationShape // empty or nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	a, err := npz.Open(filepath.Join(dir, "pixels.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if obs, err := a.Array(arrayObservations); err != nil || obs.Type != npz.Int64 {
		t.Errorf("pixels are stored as %v (error %v), want bytes", obs.Type, err)
	}
	pixels.Trajectories[0].Observations[0] = float32(math.Copysign(0, -1))
	if got := pixels.observations().Type; got != npz.Float32 {
		t.Errorf("−0 is stored as %v, which loses its sign", got)
	}
	var d map[string]any
	text, err := os.ReadFile(filepath.Join(dir, "pixels.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"environment": "Example-v1", "beta": 3.0, "trajectories": 3.0,
		"format": format} {
		if d[key] != want {
			t.Errorf("the description's %s is %v, want %v", key, d[key], want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := example(2, 1, 2)
	bad.Trajectories[1].Actions[0] = 7
	for want, c := range map[string]struct {
		set  *Set
		name string
	}{
		"action[0] is 7": {bad, "x.npz"}, "no trajectories": {&Set{Description: Description{Actions: 1}}, "x.npz"},
		"ends in .npz": {example(1, 1, 2), "x.txt"},
	} {
		if err := c.set.Write(filepath.Join(dir, c.name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("refused sets left %v", left)
	}
}

// Each fault of a file is named with the file, the array and the index.
func TestReadNamesTheFault(t *testing.T) {
	good := example(4, 1, 2)
	m := good.Transitions()
	for name, c := range map[string]struct {
		change   func(map[string]npz.Array)
		describe func(*fileDescription)
		want     []string
	}{
		"action out of range": {func(a map[string]npz.Array) { a[arrayActions].Data[2] = 3 }, nil,
			[]string{`array "actions"`, "[2] is 3, want 0 to 2"}},
		"half an action": {func(a map[string]npz.Array) {
			x := a[arrayActions]
			x.Type, x.Data[2] = npz.Float64, 0.5
			a[arrayActions] = x
		}, nil, []string{`array "actions"`, "[2] = 0.5, want a whole number"}},
		"NaN": {func(a map[string]npz.Array) { a[arrayObservations].Data[5] = nan() }, nil,
			[]string{`array "observations"`, "[2] has NaN at 1"}},
		"NaN reward": {func(a map[string]npz.Array) { a[arrayRewards].Data[1] = nan() }, nil,
			[]string{`array "rewards"`, "[1] is NaN"}},
		"empty trajectory": {func(a map[string]npz.Array) { a[arrayLengths].Data[1] = 0 }, nil,
			[]string{`array "lengths"`, "[1] is 0, want 1"}},
		"lengths": {func(a map[string]npz.Array) { a[arrayLengths].Data[1]++ }, nil,
			[]string{`array "lengths"`, "they sum to"}},
		"rank": {func(a map[string]npz.Array) {
			x := a[arrayActions]
			x.Shape = []int{m, 1}
			a[arrayActions] = x
		}, nil, []string{`array "actions"`, "shape", "want 1 dimensions"}},
		"shape": {func(a map[string]npz.Array) {
			x := a[arrayObservations]
			x.Shape = []int{m + 4, 1, 2}
			a[arrayObservations] = x
		}, nil, []string{`array "observations"`, "[1 2]", "[2]"}},
		"flags": {func(a map[string]npz.Array) { a[arrayTruncated] = npz.Ints([]int{0, 1, 2, 0}, 4) }, nil,
			[]string{`array "truncated"`, "[2] is 2"}},
		"missing": {func(a map[string]npz.Array) { delete(a, arrayTerminated) }, nil,
			[]string{"no array", "terminated"}},
		"log_probs": {func(a map[string]npz.Array) {
			x := a[arrayLogProbs]
			x.Shape = []int{m, 1, 3}
			a[arrayLogProbs] = x
		}, nil, []string{`array "log_probs"`}},
		"format":    {nil, func(d *fileDescription) { d.Format = "other" }, []string{`format "other"`}},
		"dimension": {nil, func(d *fileDescription) { d.ObservationShape = []int{-1} }, []string{"shape [-1]"}},
		"size": {nil, func(d *fileDescription) { d.ObservationShape = []int{1 << 40, 1 << 40} },
			[]string{"shape"}},
		"few actions": {nil, func(d *fileDescription) { d.Actions = 1 }, []string{`array "actions"`, "want 0 to 0"}},
		"transitions": {nil, func(d *fileDescription) { d.Transitions = 1 }, []string{"transitions"}},
		"no digest":   {nil, func(d *fileDescription) { d.SHA256 = "" }, []string{"SHA-256"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.npz")
			arrays := good.arrays()
			if c.change != nil {
				c.change(arrays)
			}
			if err := npz.Write(path, arrays); err != nil {
				t.Fatal(err)
			}
			sum, err := FileSum(path)
			if err != nil {
				t.Fatal(err)
			}
			d := fileDescription{Format: format, Description: good.Description, Trajectories: 4, Transitions: m,
				SHA256: sum}
			if c.describe != nil {
				c.describe(&d)
			}
			text, _ := json.Marshal(d)
			if err := os.WriteFile(DescriptionPath(path), text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Read(path)
			if err == nil {
				t.Fatal("it is read")
			}
			for _, want := range append(c.want, "x.") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one with %q", err, want)
				}
			}
		})
	}
}

func nan() float64 { var zero float64; return zero / zero }

func TestDamagedFilesAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := example(4, 1, 2).Write(path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 101 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("the first %d of %d bytes: error %v", n, len(whole), err)
		}
		if _, err := importBytes(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are imported", n, len(whole))
		}
	}
	if err := os.Remove(DescriptionPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "import") {
		t.Errorf("without a description: error %v, want one that speaks of importing", err)
	}
	if err := os.WriteFile(DescriptionPath(path), bytes.Repeat([]byte(" "), maxDescription+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("an endless description: error %v", err)
	}
}

func importBytes(text []byte) (*Set, error) {
	a, err := npz.NewArchive(bytes.NewReader(text), int64(len(text)), "x.npz")
	if err != nil {
		return nil, err
	}
	return importNPZ(a, ImportOptions{})
}

// Whatever the bytes, reading ends with a set that is valid or with an error.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "x.npz")
	if err := example(3, 1, 2).Write(path); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	description, err := os.ReadFile(DescriptionPath(path))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, description)
	for _, write := range []func(string) error{writeFlat, writeImitation} {
		if err := write(path); err != nil {
			f.Fatal(err)
		}
		if text, err = os.ReadFile(path); err != nil {
			f.Fatal(err)
		}
		f.Add(text, description)
	}
	f.Add([]byte(csvExample), []byte("{}"))
	f.Fuzz(func(t *testing.T, text, description []byte) {
		check := func(s *Set, err error) {
			if err == nil {
				err = s.Validate()
				if err != nil {
					t.Errorf("an invalid set was read: %v", err)
				}
			}
		}
		var d fileDescription
		if parseDescription(description, "x.json", format, &d) == nil && d.check() == nil {
			if a, err := npz.NewArchive(bytes.NewReader(text), int64(len(text)), "x.npz"); err == nil {
				check(unpack(a, &d))
			}
		}
		if s, err := importBytes(text); err == nil {
			_ = s.Validate() // which Import would call
		}
		check(readCSV(bytes.NewReader(text), "x.csv", ImportOptions{}))
	})
}

// What the fuzzer does for hours, for a second: thousands of damaged copies of each layout, of which none is a
// surprise.
func TestMutations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	r := rand.New(rand.NewPCG(1, 2))
	read := 0
	for _, write := range []func(string) error{example(3, 1, 2).Write, writeFlat, writeImitation} {
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := readDescription(DescriptionPath(path))
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			text := bytes.Clone(whole)
			for range 1 + r.IntN(3) {
				text[r.IntN(len(text))] = byte(r.Uint32())
			}
			a, err := npz.NewArchive(bytes.NewReader(text), int64(len(text)), "x.npz")
			if err != nil {
				continue
			}
			if s, err := unpack(a, d); err == nil {
				read++
				if err := s.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = importBytes(text)
		}
	}
	if read == 0 || read > 1500 { // a change may hit what nobody reads, such as a time stamp
		t.Errorf("%d damaged files were read", read)
	}
}

// TestPartsReplaceNoFile: neither the arrays nor the description of an earlier part is replaced by a later one.
func TestPartsReplaceNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"x.npz", "x.partial.npz", "x.partial-2.npz", "x.partial-3.npz"} {
		got := PartialPath(filepath.Join(dir, "x.npz"))
		if filepath.Base(got) != want {
			t.Errorf("the part goes to %s, want %s", got, want)
		}
		file := got
		if want == "x.partial-2.npz" {
			file = DescriptionPath(got) // is enough to be in the way
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
