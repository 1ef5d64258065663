//go:build installed

// The tests of this file, and of the others with its build tag, need what `kernel-setup install --with envs` installs.
// `kernel-setup test` gives the tag; plain `go test ./...` has to pass with Go alone.

package gym

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The environments of the paper's experiments.
var (
	lunar   = Config{ID: "LunarLander-v3"}
	highway = Config{ID: "highway-fast-v0", Imports: []string{"highway_env"}}
	pong    = Atari("ALE/Pong-v5")
	invader = Atari("ALE/SpaceInvaders-v5")
)

// reference runs testdata/plain.py and returns what it wrote.
func reference(c Config, seeds []int64, raw []byte, dir string) ([]byte, error) {
	python, _, err := findPython("")
	if err != nil {
		return nil, err
	}
	request := c.request()
	request["seeds"] = seeds
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	actions, out := filepath.Join(dir, "actions"), filepath.Join(dir, "out")
	if err := os.WriteFile(actions, raw, 0o600); err != nil {
		return nil, err
	}
	if text, err := exec.Command(python, "-I", "testdata/plain.py", string(text), actions,
		out).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("plain Python: %w\n%s", err, text)
	}
	return os.ReadFile(out)
}

// The bridge gives, to the bit, what Gymnasium's own vector environment gives in plain Python.
func TestEqualsPlainPython(t *testing.T) {
	for _, c := range []struct {
		config        Config
		workers, envs int
		steps         int
		episodes      int // at least so many end
	}{
		{lunar, 2, 2, 1000, 20}, {highway, 2, 1, 150, 15}, {pong, 1, 1, 2000, 1}, {invader, 1, 1, 2000, 2},
		{Config{ID: "CartPole-v1"}, 1, 3, 1000, 30},
		{Config{ID: "FrozenLake-v1", Wrappers: []Wrapper{{Class: "gymnasium.wrappers:FlattenObservation"}}}, 1, 2,
			100, 5},
	} {
		t.Run(strings.ReplaceAll(c.config.ID, "/", "-"), func(t *testing.T) {
			c.config.Workers, c.config.EnvsPerWorker = c.workers, c.envs
			p := open(t, c.config)
			seeds := seedsFrom(100, p.Len())
			actions, raw := randomActions(7, c.steps, p.Len(), p.Spec().Actions)
			plain := make(chan []byte) // plain Python computes meanwhile
			go func() {
				text, err := reference(c.config, seeds, raw, t.TempDir())
				if err != nil {
					t.Error(err)
				}
				plain <- text
			}()
			first, batches := reset(t, p), make([]*Batch, len(actions))
			for k, row := range actions {
				batches[k] = step(t, p, row)
			}
			want := bytes.NewBuffer(<-plain)
			if obs := first; !bytes.Equal(obs.Bytes, want.Next(len(obs.Bytes))) {
				t.Fatal("the first observations differ")
			}
			episodes := 0
			for k, row := range actions {
				b := batches[k]
				rewards := Array{DType: "float64", Bytes: want.Next(8 * p.Len())}.Float64()
				terminated, truncated := want.Next(p.Len()), want.Next(p.Len())
				for i := range row {
					if math.Float64bits(b.Rewards[i]) != math.Float64bits(rewards[i]) ||
						b.Terminated[i] != (terminated[i] != 0) || b.Truncated[i] != (truncated[i] != 0) {
						t.Fatalf("step %d, environment %d: reward %v, terminated %v, truncated %v; plain Python has "+
							"%v, %v, %v",
							k, i, b.Rewards[i], b.Terminated[i], b.Truncated[i], rewards[i], terminated[i],
							truncated[i])
					}
				}
				if !bytes.Equal(b.Obs.Bytes, want.Next(len(b.Obs.Bytes))) {
					t.Fatalf("step %d: the observations differ", k)
				}
				for i := range row {
					if b.Done(i) {
						episodes++
						if !bytes.Equal(b.Final[i].Bytes, want.Next(len(b.Final[i].Bytes))) {
							t.Fatalf("step %d, environment %d: the final observations differ", k, i)
						}
					}
				}
			}
			if want.Len() > 0 || episodes < c.episodes {
				t.Errorf("%d bytes are left over, %d episodes ended, want %d", want.Len(), episodes, c.episodes)
			}
		})
	}
}

func TestSpacesComeAcross(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", EnvsPerWorker: 2})
	s := p.Spec()
	if fmt.Sprint(s.Shape) != "[4]" || s.DType != "float32" || s.Actions != 2 || s.Size() != 4 || p.Len() != 2 {
		t.Errorf("spec %+v", s)
	}
	if s.Versions["gymnasium"] != "1.2.3" {
		t.Errorf("versions %v", s.Versions)
	}
	if s := open(t, pong).Spec(); fmt.Sprint(s.Shape) != "[4 84 84]" || s.DType != "uint8" || s.Actions != 6 ||
		s.Versions["ale-py"] != "0.12.1" {
		t.Errorf("Pong: %v %v, %d actions, versions %v", s.Shape, s.DType, s.Actions, s.Versions)
	}
	start := Config{ID: "Faulty-v0", Imports: []string{"faulty"}, PythonPath: []string{testdata(t)},
		Options: map[string]any{"start": 5}}
	p = open(t, start)
	reset(t, p)
	if b := step(t, p, []int{2}); b.Rewards[0] != 7 { // the environment rewards with its own number of the action
		t.Errorf("action 2 of a space that starts at 5 arrived as %v", b.Rewards[0])
	}
}

// TestOddObservations: a Box of the shape (), and one of big-endian numbers, are stepped, reset, restored, branched and
// collected as others are.
func TestOddObservations(t *testing.T) {
	for name, dtype := range map[string]string{"a single number": "float32", "big-endian": ">f4"} {
		t.Run(name, func(t *testing.T) { stepSingleNumbers(t, dtype) })
	}
}

func stepSingleNumbers(t *testing.T, dtype string) {
	c := Config{ID: "Faulty-v0", Imports: []string{"faulty"}, PythonPath: []string{testdata(t)}, EnvsPerWorker: 2,
		Options: map[string]any{"shape": []int{}, "length": 3, "dtype": dtype}}
	p := open(t, c)
	if s := p.Spec(); len(s.Shape) != 0 || s.Size() != 1 {
		t.Errorf("spec %+v", s)
	}
	same := func(what string, got Array, want ...float32) {
		t.Helper()
		if diff := cmp.Diff(want, got.Float32()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	same("reset", reset(t, p), 0, 0)
	same("step", step(t, p, []int{0, 1}).Obs, 1, 1)
	snapshot, err := p.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	branches, err := p.Branch(t.Context(), 1, 0, []int64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	same("branches", branches.Obs, 2, 2, 2)
	step(t, p, []int{0, 1})
	last := step(t, p, []int{0, 1})
	same("after the end", last.Obs, 0, 0)
	same("the end", last.Final[1], 3)
	restored, err := p.Restore(t.Context(), 0, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	same("restored", restored, 1)
	c.Autoreset = Disabled
	episodes, err := Collect(t.Context(), open(t, c), RandomPolicy(3), CollectOptions{Episodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range episodes {
		if diff := cmp.Diff([]float32{0, 1, 2, 3}, e.Observations); diff != "" {
			t.Errorf("an episode (-want +got):\n%s", diff)
		}
	}
}

func testdata(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Without autoreset, an ended episode's last observation stays, and the caller resets with a seed that makes it repeat.
func TestResetsWithoutAutoreset(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", Workers: 2, EnvsPerWorker: 2, Autoreset: Disabled})
	first := reset(t, p)
	var b *Batch
	for steps := 0; ; steps++ {
		if b = step(t, p, []int{0, 1, 0, 1}); b.Terminated[2] {
			if x := b.Obs.Row(2).Float64(); math.Abs(x[0]) <= 2.4 && math.Abs(x[2]) <= 0.209 {
				t.Errorf("the last observation %v is not out of bounds", x)
			}
			break
		}
		if steps > 100 {
			t.Fatal("always pushing left never ends")
		}
	}
	var ended []int
	for i := range p.Len() {
		if b.Done(i) {
			ended = append(ended, i)
		}
	}
	again, err := p.ResetEnvs(t.Context(), ended, seedsFrom(100+int64(ended[0]), len(ended))[:len(ended)])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Row(0).Bytes, first.Row(ended[0]).Bytes) {
		t.Error("the same seed begins differently")
	}
	for _, bad := range []struct {
		envs  []int
		seeds []int64
	}{{[]int{4}, nil}, {[]int{-1}, nil}, {[]int{1, 1}, nil}, {[]int{0}, []int64{1, 2}}, {[]int{0}, []int64{-3}}} {
		if _, err := p.ResetEnvs(t.Context(), bad.envs, bad.seeds); err == nil {
			t.Errorf("reset of %v with seeds %v is accepted", bad.envs, bad.seeds)
		}
	}
}

func TestRenders(t *testing.T) {
	p := open(t, Config{ID: "LunarLander-v3", Options: map[string]any{"render_mode": "rgb_array"}})
	reset(t, p)
	picture, err := p.Render(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]byte]bool{}
	for i := 0; i < len(picture.Pix); i += 4 {
		colours[[3]byte(picture.Pix[i:i+3])] = true
	}
	if b := picture.Bounds(); b.Dx() != 600 || b.Dy() != 400 || len(colours) < 3 {
		t.Errorf("a picture of %v in %d colours", b, len(colours))
	}
	plain := open(t, Config{ID: "CartPole-v1"})
	reset(t, plain)
	if _, err := plain.Render(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "render_mode") {
		t.Errorf("error %v, want one that names the option", err)
	}
	step(t, plain, []int{0}) // the refusal did no harm
}
