package gym

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/demo"
)

// ReplayOptions say how to replay. The zero value of every field is a default.
type ReplayOptions struct {
	// Python and PythonPath are those of [Config], and so are Workers and EnvsPerWorker, but for their defaults: a
	// process for each core, and in each as many of the trajectories as come to it, 8 at most.
	Python                 string
	PythonPath             []string
	Workers, EnvsPerWorker int
	// Progress is told how many trajectories are done, if it is not nil.
	Progress func(done int)
}

// ReplayError says that a replay gave something else than was recorded.
type ReplayError struct {
	ID         string            // of the environment
	Trajectory int               // its index
	Seed       int64             // what its environment was reset with
	What       string            // the difference
	Recorded   map[string]string // versions of the packages that it was recorded with
	Here       map[string]string // and of those that are installed
}

// Error implements the error interface.
func (e *ReplayError) Error() string {
	cause := "these versions are the same: the environment does not follow from its seed and actions alone, or the " +
		"file was changed"
	if !maps.Equal(e.Recorded, e.Here) {
		cause = "install the versions that it was recorded with"
	}
	return fmt.Sprintf("gym: %s, trajectory %d (seed %d): the replay %s; recorded with %s, replayed with %s: %s", e.ID,
		e.Trajectory, e.Seed, e.What, versionText(e.Recorded), versionText(e.Here), cause)
}

func versionText(versions map[string]string) string {
	if len(versions) == 0 {
		return "versions not known"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		words = append(words, name+" "+versions[name])
	}
	return strings.Join(words, ", ")
}

// Replay returns a set with the observations that its episodes, begun from their seeds, show under their actions, in
// the environment that its Replay says how to make. A [*ReplayError] says that rewards, an end, or the SHA-256 of the
// observations are not those that were recorded.
func Replay(ctx context.Context, set *demo.Set, o ReplayOptions) (*demo.Set, error) {
	if set.Replay == nil {
		return nil, fmt.Errorf("gym: the demonstrations of %s do not say how to make their environment, which a "+
			"replay wants", set.Environment)
	}
	out := *set
	var err error
	out.Trajectories, _, err = replay(ctx, set, o, func(_ int, t *demo.Trajectory) { t.Digest = "" })
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// Show returns the set of the same episodes as they are seen in another environment, of the same actions and rewards:
// in gym.Atari, say, those of gym.AtariMemory. Observations are not kept but by their digests; Replay gives them.
func Show(ctx context.Context, set *demo.Set, c Config, o ReplayOptions) (*demo.Set, error) {
	out := *set
	out.Environment = c.ID
	out.Replay, out.Made = c.Recipe(), nil
	unseen := out
	unseen.ObservationShape = nil
	unseen.Trajectories = slices.Clone(set.Trajectories)
	for i := range unseen.Trajectories {
		unseen.Trajectories[i].Digest = ""
	}
	var spec Spec
	var err error
	out.Trajectories, spec, err = replay(ctx, &unseen, o, func(_ int, t *demo.Trajectory) {
		t.Digest = t.Sum()
		t.Observations, t.Frames = nil, nil
	})
	if err != nil {
		return nil, err
	}
	out.ObservationShape, out.Versions = append([]int{}, spec.Shape...), spec.Versions
	return &out, nil
}

// Observe returns some trajectories of a set with their observations, by a replay where the set is stored without: of
// these trajectories alone, in whose order a [*ReplayError] counts.
func Observe(ctx context.Context, set *demo.Set, some []demo.Trajectory, o ReplayOptions) (*demo.Set, error) {
	of := *set
	of.Trajectories = some
	if set.Replay == nil {
		return &of, nil
	}
	return Replay(ctx, &of, o)
}

// OpenDemos reads a file of demonstrations as demo.Open does, and replays those that are stored without observations.
// demo.Open and Observe are to be preferred for a part of a file.
func OpenDemos(ctx context.Context, path string, o ReplayOptions) (*demo.Set, error) {
	set, err := demo.Open(path)
	if err != nil {
		return nil, err
	}
	if set, err = Observe(ctx, set, set.Trajectories, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return set, nil
}

// Recipe returns what makes the environment again; its PythonPath is the reader's own matter.
func (c Config) Recipe() *demo.Recipe {
	return &demo.Recipe{Imports: c.Imports, Options: c.Options, Wrappers: c.Wrappers}
}

// replay plays the trajectories of a set again, and lets done take from each, as soon as it has ended, what is not to
// be kept.
func replay(ctx context.Context, set *demo.Set, o ReplayOptions, done func(i int, t *demo.Trajectory)) (
	[]demo.Trajectory, Spec, error) {
	if err := checkScripts(set); err != nil {
		return nil, Spec{}, err
	}
	r, n := set.Replay, len(set.Trajectories)
	o.Workers = cmp.Or(o.Workers, max(1, min(runtime.GOMAXPROCS(0), n)))
	if o.EnvsPerWorker == 0 {
		o.EnvsPerWorker = max(1, min(8, (n+o.Workers-1)/o.Workers))
	}
	p, err := Open(ctx, Config{ID: set.Environment, Imports: r.Imports, Options: r.Options, Wrappers: r.Wrappers,
		Python: o.Python, PythonPath: o.PythonPath, Workers: o.Workers, EnvsPerWorker: o.EnvsPerWorker,
		Autoreset: Disabled})
	if err != nil {
		return nil, Spec{}, err
	}
	defer p.Close()
	if p.spec.Actions != set.Actions || set.ObservationShape != nil &&
		!slices.Equal(p.spec.Shape, set.ObservationShape) {
		return nil, Spec{}, fmt.Errorf("gym: %s: %w: the environment has observations %v and %d actions, the set %v "+
			"and %d", set.Environment, demo.ErrFrames, p.spec.Shape, p.spec.Actions, set.ObservationShape, set.Actions)
	}
	c := newCollector(p, CollectOptions{Episodes: n, Progress: o.Progress})
	c.scripts = set.Trajectories
	c.finish = func(e *episode) error {
		was, is := &set.Trajectories[e.number], &e.trajectory
		if what := difference(was, is); what != "" {
			return &ReplayError{ID: set.Environment, Trajectory: e.number, Seed: was.Seed, What: what,
				Recorded: set.Versions, Here: p.spec.Versions}
		}
		is.Rewards, is.LogProbs = was.Rewards, was.LogProbs
		done(e.number, is)
		return nil
	}
	if err := c.run(ctx, nil); err != nil {
		return nil, Spec{}, err
	}
	out := make([]demo.Trajectory, len(c.all))
	for i, e := range c.all {
		out[i] = e.trajectory
	}
	return out, p.spec, nil
}

// checkScripts refuses a set that nothing can be replayed of.
func checkScripts(set *demo.Set) error {
	if len(set.Trajectories) == 0 {
		return fmt.Errorf("gym: there are no trajectories to replay")
	}
	for i := range set.Trajectories {
		t := &set.Trajectories[i]
		if t.Seed < 0 || t.Len() == 0 {
			return fmt.Errorf("gym: trajectory %d has the seed %d and %d actions; a replay wants a seed and an action",
				i, t.Seed, t.Len())
		}
		if at := slices.IndexFunc(t.Actions, func(a int) bool { return a < 0 || a >= set.Actions }); at >= 0 {
			return fmt.Errorf("gym: trajectory %d: action[%d] is %d, want 0 to %d", i, at, t.Actions[at], set.Actions-1)
		}
	}
	return nil
}

// difference says in which way a replayed trajectory is not the recorded one, and is empty if it is.
func difference(was, is *demo.Trajectory) string {
	if is.Len() < was.Len() {
		return fmt.Sprintf("ended after %d of %d steps", is.Len(), was.Len())
	}
	if is.Terminated != was.Terminated || is.Truncated != was.Truncated {
		return fmt.Sprintf("was terminated %v and truncated %v at the end, not %v and %v", is.Terminated, is.Truncated,
			was.Terminated, was.Truncated)
	}
	if was.Rewards != nil {
		for k, r := range was.Rewards {
			if is.Rewards[k] != r {
				return fmt.Sprintf("gave the reward %g in step %d, not %g", is.Rewards[k], k, r)
			}
		}
	}
	if was.Digest == "" {
		return ""
	}
	if sum := is.Sum(); sum != was.Digest {
		return fmt.Sprintf("showed observations of the SHA-256 %s, not %s", sum, was.Digest)
	}
	return ""
}
