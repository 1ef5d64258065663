package expert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-birl/birl/envs/npz"
)

const runFormat = "birl-expert-run-1"

// headerArray holds the run's header, the bytes of its JSON.
const headerArray = "header"

// runHeader is what a stored run holds beside its arrays.
type runHeader struct {
	Format   string  `json:"format"`
	Config   Config  `json:"config"`
	Steps    int     `json:"steps"`
	Episodes int     `json:"episodes"`
	Next     int     `json:"next"` // place in the replay
	Kept     int     `json:"kept,omitempty"`
	Seconds  float64 `json:"seconds"`
	Curve    []Point `json:"curve"`
	Source   string  `json:"source,omitempty"`
}

// bestPrefix begins the names of the arrays of the best network.
const bestPrefix = "best."

// store writes the run to the checkpoint. What a kill leaves is the checkpoint before it.
func (t *trainer) store() error {
	path := t.options.Checkpoint
	if path == "" {
		return nil
	}
	arrays, err := t.learner.state()
	if err != nil {
		return err
	}
	t.replay.store(arrays)
	for name, a := range t.best.arrays() {
		arrays[bestPrefix+name] = a
	}
	text, err := json.Marshal(runHeader{runFormat, t.config, t.steps, t.episodes, t.replay.next, t.replay.kept,
		t.seconds, t.curve, t.options.Source})
	if err != nil {
		return fmt.Errorf("expert: the run cannot be stored: %w", err)
	}
	arrays[headerArray] = npz.Array{Shape: []int{len(text)}, Data: npz.Widen(text), Type: npz.Uint8}
	if err := npz.Write(path, arrays); err != nil {
		return fmt.Errorf("expert: the run cannot be stored: %w", err)
	}
	return nil
}

// ErrCheckpoint is wrapped by errors about a checkpoint that training cannot go on from.
var ErrCheckpoint = errors.New("without the file, training begins anew")

// resume goes on from the checkpoint, and reports whether there is one.
func (t *trainer) resume() (bool, error) {
	path := t.options.Checkpoint
	if path == "" {
		return false, nil
	}
	if filepath.Ext(path) != ".npz" {
		return false, fmt.Errorf("expert: Options.Checkpoint is %s, want a name that ends in .npz", path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return false, fmt.Errorf("expert: there is no folder for Options.Checkpoint: %w", err)
		}
		return false, nil
	}
	if err := t.load(path); err != nil {
		return false, fmt.Errorf("expert: cannot go on from the checkpoint: %w; %w", err, ErrCheckpoint)
	}
	return true, nil
}

// load reads a stored run.
func (t *trainer) load(path string) error {
	a, err := npz.Open(path)
	if err != nil {
		return err
	}
	defer a.Close()
	a.Limit = max(maxNumbers, t.replay.capacity*max(1, t.replay.size))
	stored, err := a.Array(headerArray)
	if err != nil {
		return err
	}
	var h runHeader
	if err := json.Unmarshal(npz.Narrow[byte](stored.Data), &h); err != nil || h.Format != runFormat {
		return fmt.Errorf("%s holds no run of the format %q", path, runFormat)
	}
	if name := difference(h.Config, t.config); name != "" {
		return fmt.Errorf("%s is of a run with another %q in its config", path, name)
	}
	if h.Source != t.options.Source {
		return fmt.Errorf("%s is of a run with the rewards or limits %q, this one has %q", path, h.Source,
			t.options.Source)
	}
	if h.Steps < 1 || h.Steps > t.config.Steps || h.Steps%t.config.SegmentSteps != 0 || h.Episodes < 0 ||
		len(h.Curve) != h.Steps/t.config.SegmentSteps {
		return fmt.Errorf("%s says that it is at %d steps with %d points of the curve", path, h.Steps, len(h.Curve))
	}
	if err := t.learner.setState(a.Array); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.replay.load(a, t.learner.actions, h.Next, h.Kept); err != nil {
		return err
	}
	if t.selects() {
		t.best, err = networkOf(t.learner.widths, func(name string) (*npz.Array, error) {
			return a.Array(bestPrefix + name)
		})
		if err != nil {
			return fmt.Errorf("%s: the best network: %w", path, err)
		}
	}
	t.steps, t.episodes, t.seconds, t.curve = h.Steps, h.Episodes, h.Seconds, h.Curve
	return nil
}

// difference names the first field by name in which two configs differ, as it is stored; it is empty if there is none.
func difference(a, b Config) string {
	fields := func(c Config) (m map[string]json.RawMessage) {
		text, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil { // an infinity or NaN, which Validate refuses
			panic(err)
		}
		return m
	}
	x, y := fields(a), fields(b)
	all := slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y)))
	slices.Sort(all)
	for _, name := range all {
		if string(x[name]) != string(y[name]) {
			return name
		}
	}
	return ""
}
