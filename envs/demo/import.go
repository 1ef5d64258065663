package demo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/go-birl/birl/envs/npz"
)

// Layout is how a file that others have made holds its trajectories.
type Layout string

const (
	// Flat is an .npz file with a row for each transition: obs [M, …], action [M], next_obs [M, …] and episode [M],
	// which names the episode by any integer, and, where known, reward [M], terminated [M], truncated [M], seed [M],
	// what the environment was reset with, and expert_logp [M, |A|]. The rows of an episode follow one another in time.
	// Observations of bytes that are stacks of pictures (see Film) become Frames.
	Flat Layout = "flat"
	// Imitation is the .npz file of the Python library imitation: obs [M+n, …], acts [M], terminal [n], indices [n−1],
	// where each episode but the first begins in acts, and, where known, rews [M]. Its infos are not read. It does
	// not tell termination from truncation: an episode is terminated if it is terminal.
	Imitation Layout = "imitation"
	// CSV is a text file with a row for each transition, and the columns of Flat by name: episode, obs_0, obs_1, …,
	// action, next_obs_0, …, and, where known, reward, terminated and truncated (0 or 1, or true or false), and seed.
	CSV Layout = "csv"
)

// ImportOptions say what an imported file does not.
type ImportOptions struct {
	// Description becomes the set's. Actions may be 0: then |A| is one more than the largest action in the file, or
	// what its log-probabilities say. The shape of observations always comes from the file.
	Description Description
	// Layout may be empty: then the file's ending and the names of its arrays tell.
	Layout Layout
}

// Open reads a file of any layout: this project's own, if there is a description beside it that says so, else one to
// import with no options.
func Open(path string) (*Set, error) {
	own, err := described(path)
	if err != nil {
		return nil, err
	}
	if own {
		set, err := Read(path)
		if errors.Is(err, npz.ErrSum) && importable(path) {
			return nil, fmt.Errorf("%w; if it was recorded anew, remove %s, and it is read by its arrays", err,
				DescriptionPath(path))
		}
		return set, err
	}
	set, err := Import(path, ImportOptions{})
	known := slices.Contains([]string{".npz", ".csv"}, strings.ToLower(filepath.Ext(path)))
	if err != nil && !known && !errors.Is(err, fs.ErrNotExist) && otherKind(path) == "" {
		return nil, fmt.Errorf("%w; data sets of Minari and of datasets are read by \"demos convert\"", err)
	}
	return set, err
}

// otherKind says what to do with a file that is no .npz archive, if it is a text or a single array, and else nothing.
func otherKind(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	start := make([]byte, 512)
	n, _ := io.ReadFull(f, start) // fewer will do; of a folder, none
	start = start[:n]
	switch {
	case bytes.HasPrefix(start, []byte("\x93NUMPY")):
		return "is a single array, as of np.save: want an .npz archive, as of np.savez, of obs, action, next_obs and " +
			"episode"
	case n > 0 && !bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && !unicode.IsSpace(r) }):
		return "is a text: tables are read from files with names that end in .csv, or by \"demos convert --layout csv\""
	}
	return ""
}

// Import reads a file that others have made, and checks all of it.
func Import(path string, o ImportOptions) (*Set, error) {
	if o.Layout == "" && strings.EqualFold(filepath.Ext(path), ".csv") {
		o.Layout = CSV
	}
	var set *Set
	var err error
	if o.Layout == CSV {
		set, err = importCSV(path, o)
	} else {
		set, err = importArchive(path, o)
	}
	if err != nil {
		return nil, err
	}
	set.Source = cmp.Or(set.Source, filepath.Base(path))
	if err := set.validate(); err != nil {
		return nil, fmt.Errorf("demo: %s: %w", path, err)
	}
	return set, nil
}

func importArchive(path string, o ImportOptions) (*Set, error) {
	a, err := npz.Open(path)
	if err != nil {
		if kind := otherKind(path); kind != "" {
			return nil, fmt.Errorf("demo: %s %s", path, kind)
		}
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer a.Close()
	return importNPZ(a, o)
}

func importNPZ(a *npz.Archive, o ImportOptions) (*Set, error) {
	a.Limit = maxNumbers
	if o.Layout == "" {
		if o.Layout = layoutOf(a); o.Layout == "" {
			if own, err := described(a.Path()); err == nil && own {
				return nil, fmt.Errorf("demo: %s is in this project's layout already, and is read as it is; where it "+
					"holds seeds and actions, \"demos convert --plain\" stores observations", a.Path())
			}
			return nil, fmt.Errorf("demo: %s has neither next_obs, as the flat layout, nor acts, as imitation's; it "+
				"holds %s; a file of this project's own layout needs its description %s, whole", a.Path(),
				cmp.Or(strings.Join(a.Names(), ", "), "no arrays"), filepath.Base(DescriptionPath(a.Path())))
		}
	}
	switch o.Layout {
	case Flat:
		return importFlat(&source{archive: a}, o)
	case Imitation:
		return importImitation(&source{archive: a}, o)
	}
	return nil, fmt.Errorf("demo: %s: there is no layout %q of .npz files; there are %s and %s", a.Path(), o.Layout,
		Flat, Imitation)
}

// layoutOf returns the layout that the names of the arrays tell, and none for those of no layout to import.
func layoutOf(a *npz.Archive) Layout {
	switch {
	case a.Has("next_obs"):
		return Flat
	case a.Has("acts"):
		return Imitation
	}
	return ""
}

// importable reports whether the file at path has arrays of a layout to import.
func importable(path string) bool {
	a, err := npz.Open(path)
	if err != nil {
		return false
	}
	defer a.Close()
	return layoutOf(a) != ""
}

// flat holds transitions row by row, as the flat layout and CSV do.
type flat struct {
	name                  string // of the file, for errors
	shape                 []int  // of an observation
	obs, next             []float32
	rounding              rounding // of obs, in CSV
	actions, episodes     []int
	seeds                 []int // of each row's episode; nil where they are not known
	rewards               []float64
	logProbs              []float32
	terminated, truncated []bool
}

func importFlat(s *source, o ImportOptions) (*Set, error) {
	episode := s.array("episode", 1, -1, npz.Int64, npz.Float64, npz.Float32)
	m := len(episode.Data)
	s.count = ", as many as episode has"
	f := flat{name: s.archive.Path(), episodes: npz.Narrow[int](episode.Data)}
	rounded, power := float64(maxSeed), "2⁵³"
	if episode.Type == npz.Float32 {
		rounded, power = 1<<24, "2²⁴"
	}
	for i, v := range episode.Data {
		if math.Abs(v) >= rounded { // already
			s.fail("episode", "[%d] is about %.0f; beyond %s integers are rounded and episodes would merge: "+
				"number them anew", i, v, power)
		}
	}
	if err := episode.CheckWhole(""); err != nil {
		s.fail("episode", "%v", err)
	}
	f.actions = s.actions("action", m)
	f.shape, f.obs = s.observations("obs", m)
	nextShape, next := s.observations("next_obs", m)
	if !slices.Equal(nextShape, f.shape) {
		s.fail("next_obs", "its observations have the shape %v, those of obs %v", nextShape, f.shape)
	}
	f.next, f.rewards = next, optional(s, "reward", m, s.rewards)
	f.seeds = optional(s, "seed", m, func(name string, n int) []int { return s.integers(name, n, NoSeed, maxSeed) })
	f.terminated, f.truncated = optional(s, "terminated", m, s.flags), optional(s, "truncated", m, s.flags)
	if s.archive.Has("expert_logp") {
		shape, data := s.rows("expert_logp", m, nil)
		if len(shape) != 1 || o.Description.Actions != 0 && shape[0] != o.Description.Actions {
			s.fail("expert_logp", "its rows have the shape %v, want one number for each action", shape)
		} else {
			f.logProbs, o.Description.Actions = data, shape[0]
			if i := slices.IndexFunc(f.actions, func(a int) bool { return a >= shape[0] }); i >= 0 {
				s.fail("expert_logp", "its rows have %d numbers, want one for each action, and action[%d] is %d",
					shape[0], i, f.actions[i])
			}
		}
		for i := 0; s.err == nil && i < m; i++ {
			sum := 0.0
			for _, x := range data[i*shape[0] : (i+1)*shape[0]] {
				sum += math.Exp(float64(x))
			}
			if math.Abs(sum-1) > 0.01 { // what half precision makes of 1
				s.fail("expert_logp", "[%d] holds logarithms of probabilities that sum to %.3g, want 1", i, sum)
			}
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	set, err := f.set(o)
	if err != nil {
		return nil, err
	}
	if s.archive.HoldsBytes("obs") && s.archive.HoldsBytes("next_obs") {
		Film(set.Trajectories, set.ObservationShape)
	}
	set.Merged = s.rounding.merged()
	set.Ignored = without(s.archive.Names(), "obs", "next_obs", "action", "episode", "reward", "terminated",
		"truncated", "seed", "expert_logp")
	return set, nil
}

// without returns the names that are not among the known ones.
func without(names []string, known ...string) (others []string) {
	for _, name := range names {
		if !slices.Contains(known, name) {
			others = append(others, name)
		}
	}
	return others
}

// set cuts the rows into trajectories.
func (f *flat) set(o ImportOptions) (*Set, error) {
	m := len(f.episodes)
	if m == 0 {
		return nil, fmt.Errorf("demo: %s has no transitions", f.name)
	}
	set := newSet(o, f.shape, f.actions)
	size := set.ObservationSize()
	seen := map[int]bool{}
	for from := 0; from < m; {
		id, to := f.episodes[from], from+1
		for to < m && f.episodes[to] == id {
			to++
		}
		if seen[id] {
			return nil, fmt.Errorf("demo: %s: row %d goes on with episode %d, which had ended: want the rows of an "+
				"episode together, in the order of time", f.name, from, id)
		}
		seen[id] = true
		t := Trajectory{
			Observations: append(slices.Clone(f.obs[from*size:to*size]), f.next[(to-1)*size:to*size]...),
			Actions:      f.actions[from:to:to],
			Rewards:      cut(f.rewards, from, to), LogProbs: cut(f.logProbs, from*set.Actions, to*set.Actions),
			Terminated: f.terminated != nil && f.terminated[to-1], Truncated: f.truncated != nil &&
				f.truncated[to-1], Seed: NoSeed,
		}
		if f.seeds != nil {
			t.Seed = int64(f.seeds[from])
		}
		for i := from; i < to-1; i++ {
			if f.terminated != nil && f.terminated[i] || f.truncated != nil && f.truncated[i] {
				return nil, fmt.Errorf("demo: %s: row %d ends episode %d, and row %d goes on with it", f.name, i, id,
					i+1)
			}
			if f.seeds != nil && f.seeds[i+1] != f.seeds[i] {
				return nil, fmt.Errorf("demo: %s: row %d has the seed %d and row %d the seed %d, though both are of "+
					"episode %d", f.name, i, f.seeds[i], i+1, f.seeds[i+1], id)
			}
			if !slices.Equal(f.next[i*size:(i+1)*size], f.obs[(i+1)*size:(i+2)*size]) {
				return nil, fmt.Errorf("demo: %s: next_obs[%d] is not obs[%d], though both are of episode %d", f.name,
					i, i+1, id)
			}
		}
		set.Trajectories = append(set.Trajectories, t)
		from = to
	}
	return set, nil
}

func importImitation(s *source, o ImportOptions) (*Set, error) {
	actions := s.actions("acts", -1)
	m := len(actions)
	if m == 0 {
		s.fail("acts", "it is empty")
	}
	starts := s.integers("indices", -1, 1, float64(m-1))
	n := len(starts) + 1
	for i := 1; i < len(starts); i++ {
		if starts[i] <= starts[i-1] {
			s.fail("indices", "[%d] is %d after %d: an episode without transitions", i, starts[i], starts[i-1])
		}
	}
	s.count = ", one for each episode: one more than indices has"
	terminal := s.flags("terminal", n)
	s.count = ", those of acts and one more of each episode"
	shape, obs := s.observations("obs", m+n)
	s.count = ", as many as acts has"
	rewards := optional(s, "rews", m, s.rewards)
	if s.err != nil {
		return nil, s.err
	}
	set := newSet(o, shape, actions)
	size, from := set.ObservationSize(), 0
	for i, to := range append(starts, m) {
		set.Trajectories = append(set.Trajectories, Trajectory{
			Observations: cut(obs, (from+i)*size, (to+i+1)*size), Actions: cut(actions, from, to),
			Rewards:    cut(rewards, from, to),
			Terminated: terminal[i], Seed: NoSeed,
		})
		from = to
	}
	if s.archive.HoldsBytes("obs") {
		Film(set.Trajectories, set.ObservationShape)
	}
	set.Merged = s.rounding.merged()
	set.Ignored = without(s.archive.Names(), "obs", "acts", "indices", "terminal", "rews", "infos")
	return set, nil
}

// newSet returns a set without trajectories.
func newSet(o ImportOptions, shape, actions []int) *Set {
	set := &Set{Description: o.Description}
	set.ObservationShape = slices.Clone(shape)
	if set.Actions == 0 {
		set.Actions = slices.Max(actions) + 1
	}
	return set
}
