package demo

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/npz"
)

// TestSeedsAreRead from the flat layout and CSV files, and are one an episode.
func TestSeedsAreRead(t *testing.T) {
	arrays := flatArrays()
	arrays["seed"] = npz.Ints([]int{11, 11, NoSeed}, 3)
	lines := strings.Split(csvExample, "\n")
	text := strings.Join([]string{lines[0] + ",seed", lines[1] + ",11", lines[2] + ",11", lines[3] + ",-1", ""}, "\n")
	dir := t.TempDir()
	table, archive := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.npz")
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := npz.Write(archive, arrays); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{table, archive} {
		set, err := Open(path)
		if err != nil || set.Trajectories[0].Seed != 11 || set.Trajectories[1].Seed != NoSeed || len(set.Ignored) > 0 {
			t.Errorf("%s: %+v (error %v)", path, set, err)
		}
	}
	arrays["seed"] = npz.Ints([]int{11, 12, 13}, 3)
	if err := npz.Write(archive, arrays); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(archive); err == nil || !strings.Contains(err.Error(), "seed 11 and row 1 the seed 12") {
		t.Errorf("two seeds in an episode: %v", err)
	}
	if err := os.WriteFile(table, []byte(strings.Replace(text, ",11", ",-2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(table); err == nil || !strings.Contains(err.Error(), `seed is "-2"`) {
		t.Errorf("a bad seed: %v", err)
	}
}

// Two episodes of two and of one transitions, in each layout.
var imported = []Trajectory{
	{Observations: []float32{1, 2, 3, 4, 5, 6}, Actions: []int{0, 2}, Rewards: []float64{0.5, -1}, Terminated: true,
		Seed: NoSeed},
	{Observations: []float32{7, 8, 9, 10}, Actions: []int{1}, Rewards: []float64{2}, Truncated: true, Seed: NoSeed},
}

func flatArrays() map[string]npz.Array {
	return map[string]npz.Array{
		"obs":      {Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 7, 8}, Type: npz.Float32},
		"next_obs": {Shape: []int{3, 2}, Data: []float64{3, 4, 5, 6, 9, 10}, Type: npz.Float32},
		"action":   npz.Ints([]int{0, 2, 1}, 3), "reward": npz.Floats([]float64{0.5, -1, 2}, 3),
		"episode":    npz.Ints([]int{5, 5, 2}, 3),
		"terminated": npz.Bools([]bool{false, true, false}, 3), "truncated": npz.Bools([]bool{false, false, true}, 3),
	}
}

func imitationArrays() map[string]npz.Array {
	return map[string]npz.Array{
		"obs":  {Shape: []int{5, 2}, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Type: npz.Float32},
		"acts": npz.Ints([]int{0, 2, 1}, 3), "rews": npz.Floats([]float64{0.5, -1, 2}, 3),
		"indices": npz.Ints([]int{2}, 1), "terminal": npz.Bools([]bool{true, false}, 2),
	}
}

const csvExample = `episode,obs_0,obs_1,action,reward,next_obs_0,next_obs_1,terminated,truncated
5,1,2,0,0.5,3,4,0,0
5,3,4,2,-1,5,6,1,0
2,7,8,1,2,9,10,false,true
`

func writeFlat(path string) error      { return npz.Write(path, flatArrays()) }
func writeImitation(path string) error { return npz.Write(path, imitationArrays()) }

func TestEveryLayoutGivesTheSame(t *testing.T) {
	for name, write := range map[string]func(string) error{
		"flat.npz": writeFlat, "imitation.npz": writeImitation,
		"text.csv": func(path string) error { return os.WriteFile(path, []byte(csvExample), 0o600) },
		"floats.npz": func(path string) error { // whole ones, as NumPy makes them of tables
			arrays := flatArrays()
			arrays["action"] = npz.Array{Shape: []int{3}, Data: []float64{0, 2, 1}, Type: npz.Float32}
			arrays["episode"] = npz.Floats([]float64{5, 5, 2}, 3)
			arrays["terminated"] = npz.Floats([]float64{0, 1, 0}, 3)
			return npz.Write(path, arrays)
		},
		"float32s.npz": func(path string) error {
			arrays := flatArrays()
			arrays["episode"] = npz.Array{Shape: []int{3}, Data: []float64{5, 5, 2}, Type: npz.Float32}
			arrays["truncated"] = npz.Array{Shape: []int{3}, Data: []float64{0, 0, 1}, Type: npz.Float32}
			return npz.Write(path, arrays)
		},
		"floats.csv": func(path string) error {
			text := strings.ReplaceAll(strings.ReplaceAll(csvExample, ",2,", ",2.0,"), ",1,0\n", ",1.0,0.0\n")
			return os.WriteFile(path, []byte(text), 0o600)
		},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		got, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(imported)
		if name == "imitation.npz" {
			want[1].Truncated = false // the layout does not tell
		}
		if diff := cmp.Diff(want, got.Trajectories); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Actions != 3 || !slices.Equal(got.ObservationShape, []int{2}) || got.Source != name {
			t.Errorf("%s: description %+v", name, got.Description)
		}
		more, err := Import(path, ImportOptions{Description: Description{Environment: "Mine-v0", Actions: 5}})
		if err != nil || more.Actions != 5 || more.Environment != "Mine-v0" {
			t.Errorf("%s with a description: %+v, error %v", name, more, err)
		}
		if _, err := Import(path, ImportOptions{Description: Description{Actions: 2}}); err == nil ||
			!strings.HasPrefix(err.Error(), "demo: "+path+": trajectory 0: action[1] is 2") {
			t.Errorf("%s with two actions: error %v", name, err)
		}
		stored := filepath.Join(t.TempDir(), "stored.npz")
		if err := more.Write(stored); err != nil {
			t.Fatal(err)
		}
		if again, err := Open(stored); err != nil || !cmp.Equal(again, more) {
			t.Errorf("%s is not the same after having been stored (error %v)", name, err)
		}
	}
}

func TestImportNamesTheFault(t *testing.T) {
	for name, c := range map[string]struct {
		arrays map[string]npz.Array
		change func(map[string]npz.Array)
		want   string
	}{
		"torn": {flatArrays(), func(a map[string]npz.Array) { a["next_obs"].Data[1] = 0 },
			"next_obs[0] is not obs[1]"},
		"middle": {flatArrays(), func(a map[string]npz.Array) { a["terminated"].Data[0] = 1 },
			"row 0 ends episode 5"},
		"cut off in the middle": {flatArrays(), func(a map[string]npz.Array) { a["truncated"].Data[0] = 1 },
			"row 0 ends episode 5"},
		"interleaved": {flatArrays(), func(a map[string]npz.Array) { copy(a["episode"].Data, []float64{5, 2, 5}) },
			"row 2 goes on with episode 5"},
		"rows": {flatArrays(), func(a map[string]npz.Array) { a["action"] = npz.Ints([]int{0, 1}, 2) },
			`array "action": it has 2 rows, want 3, as many as episode has`},
		"one-hot actions": {flatArrays(), func(a map[string]npz.Array) { a["action"] = npz.Ints(make([]int, 9), 3, 3) },
			`array "action": it has the shape [3 3], want 1 dimensions; of one-hot rows argmax(1) gives the ` +
				"actions"},
		"a column of actions": {flatArrays(), func(a map[string]npz.Array) {
			a["action"] = npz.Ints([]int{0, 2, 1}, 3, 1)
		},
			`array "action": it has the shape [3 1], want 1 dimensions, as reshape(-1) gives`},
		"real actions": {flatArrays(), func(a map[string]npz.Array) {
			a["action"] = npz.Floats([]float64{0, 2, 0.5}, 3)
		},
			`array "action": [2] = 0.5, want a whole number`},
		"half an end": {flatArrays(), func(a map[string]npz.Array) {
			a["terminated"] = npz.Floats([]float64{0, 0.5, 0}, 3)
		}, `array "terminated": [1] is 0.5, want 0 or 1`},
		"an end that is not known": {flatArrays(), func(a map[string]npz.Array) {
			a["truncated"] = npz.Floats([]float64{0, 0, nan()}, 3)
		}, `array "truncated": [2] is NaN, want 0 or 1`},
		"truth values": {flatArrays(), func(a map[string]npz.Array) {
			a["action"] = npz.Bools([]bool{false, true, false}, 3)
		}, `array "action": it holds truth values, want integers`},
		"nothing": {flatArrays(), func(a map[string]npz.Array) { clear(a) }, "it holds no arrays"},
		"nothing observed": {flatArrays(), func(a map[string]npz.Array) { a["obs"] = npz.Floats(nil, 3, 0) },
			`array "obs": its shape is [3 0], want at least one number`},
		"negative": {flatArrays(), func(a map[string]npz.Array) { a["action"].Data[1] = -1 },
			`array "action": [1] is -1; actions count from 0`},
		"no action's number": {flatArrays(), func(a map[string]npz.Array) { a["action"].Data[1] = 1e9 },
			`array "action": [1] is 1000000000; no environment has so many actions`},
		"NaN": {flatArrays(), func(a map[string]npz.Array) { a["obs"].Data[3] = nan() },
			`array "obs": [1] has NaN at 1`},
		"infinite": {flatArrays(), func(a map[string]npz.Array) { a["next_obs"].Data[1] = math.Inf(-1) },
			`array "next_obs": [0][1] is -Inf`},
		"beyond float32": {flatArrays(), func(a map[string]npz.Array) {
			x := a["obs"]
			x.Data[3], x.Type = 1e300, npz.Float64
			a["obs"] = x
		}, `array "obs": [1][1] is +Inf, want a finite number that float32 holds`},
		"reward": {flatArrays(), func(a map[string]npz.Array) {
			a["reward"] = npz.Floats([]float64{0, 1e300, 0}, 3)
		}, `array "reward": [1] is 1e+300, want a number of magnitude at most 1e+100; where rewards are not known, ` +
			"leave the array out"},
		"large episodes": {flatArrays(), func(a map[string]npz.Array) {
			copy(a["episode"].Data, []float64{1 << 53, 1 << 53, 5})
		}, `array "episode": [0] is about 9007199254740992`},
		"episodes of half an integer": {flatArrays(), func(a map[string]npz.Array) {
			a["episode"] = npz.Floats([]float64{5, 5.5, 2}, 3)
		}, `array "episode": [1] = 5.5, want a whole number`},
		"large episodes as float32": {flatArrays(), func(a map[string]npz.Array) {
			a["episode"] = npz.Array{Shape: []int{3}, Data: []float64{5, 5, 1 << 24}, Type: npz.Float32}
		}, `array "episode": [2] is about 16777216; beyond 2²⁴`},
		"empty": {flatArrays(), func(a map[string]npz.Array) { emptied(a) }, "no transitions"},
		"expert_logp": {flatArrays(), func(a map[string]npz.Array) {
			a["expert_logp"] = npz.Floats([]float64{-1, -1,
				-1}, 3)
		}, `array "expert_logp"`},
		"expert_logp of too few actions": {flatArrays(), func(a map[string]npz.Array) {
			half := math.Log(1. / 2)
			a["expert_logp"] = npz.Floats([]float64{half, half, half, half, half, half}, 3, 2)
			copy(a["action"].Data, []float64{0, 2, 1})
		}, `array "expert_logp": its rows have 2 numbers, want one for each action, and action[1] is 2`},
		"logits": {flatArrays(), func(a map[string]npz.Array) {
			sixth := math.Log(1. / 6)
			a["expert_logp"] = npz.Floats([]float64{sixth, math.Log(1. / 2), math.Log(1. / 3), 0, math.Inf(-1),
				math.Inf(-1), -1, -2, -3}, 3, 3)
		}, `array "expert_logp": [2] holds logarithms of probabilities that sum to 0.553, want 1`},
		"no layout": {flatArrays(), func(a map[string]npz.Array) { delete(a, "next_obs") }, "neither next_obs"},
		"indices": {imitationArrays(), func(a map[string]npz.Array) { a["indices"].Data[0] = 3 },
			`array "indices": [0] is 3, want 1 to 2`},
		"empty episode": {imitationArrays(), func(a map[string]npz.Array) { a["indices"] = npz.Ints([]int{2, 2}, 2) },
			"without transitions"},
		"observations": {imitationArrays(), func(a map[string]npz.Array) { a["obs"] = flatArrays()["obs"] },
			`array "obs": it has 3 rows, want 5, those of acts and one more of each episode`},
		"no observations": {imitationArrays(), func(a map[string]npz.Array) {
			a["obs"] = npz.Array{Shape: []int{5, 0},
				Type: npz.Float32}
		}, "shape"},
	} {
		t.Run(name, func(t *testing.T) {
			c.change(c.arrays)
			path := filepath.Join(t.TempDir(), "x.npz")
			if err := npz.Write(path, c.arrays); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "x.npz") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":   {"", "empty"},
		"header":    {"a,b\n1,2\n", "episode, action"},
		"twice":     {"episode,episode\n", "twice"},
		"no rows":   {"episode,action,obs_0,next_obs_0\n", "no transitions"},
		"short row": {"episode,action,obs_0,next_obs_0\n1,0,1\n", "line 2: it has 3 fields, want 4 as the header has"},
		"long row":  {"episode,action,obs_0,next_obs_0\n1,0,1,2\n1,0,2,3,4\n", "line 3: it has 5 fields, want 4"},
		"gap": {"episode,action,obs_0,next_obs_0,obs_2,next_obs_2\n1,0,1,2,3,4\n",
			`"obs_2", but obs_1 or next_obs_1 is missing`},
		"no next": {"episode,action,obs_0,obs_1,next_obs_0\n1,0,1,2,3\n",
			`"obs_1", but obs_1 or next_obs_1 is missing`},
		"zeros":       {"episode,action,obs_0,next_obs_0,obs_01,next_obs_01\n1,0,1,2,3,4\n", `"obs_01", but obs_1 or`},
		"again zeros": {"episode,action,obs_0,next_obs_0,obs_00\n1,0,1,2,3\n", `"obs_00", but`},
		"semicolons":  {"episode;action;obs_0;next_obs_0\n1;0;1,5;2\n", "separated by semicolons"},
		"tabs":        {"episode\taction\tobs_0\tnext_obs_0\n1\t0\t1\t2\n", "separated by tabs"},
		"archive":     {"PK\x03\x04\x14", "is a zip archive"},
		"UTF-16":      {"\xff\xfee\x00p\x00", "UTF-16"},
		"word":        {"episode,action,obs_0,next_obs_0\n1,0,1,2\n1,0,2,three\n", "line 3: next_obs_0"},
		"NaN":         {"episode,action,obs_0,next_obs_0\n1,0,NaN,2\n", "line 2: obs_0"},
		"blank lines": {"episode,action,obs_0,next_obs_0\n\n\n1,0,NaN,2\n", "line 4: obs_0"},
		"negative action": {"episode,action,obs_0,next_obs_0\n1,-1,1,2\n",
			"line 2: action is -1; actions count from 0, wherever the environment's begin: subtract"},
		"no action's number": {"episode,action,obs_0,next_obs_0\n1,1e9,1,2\n",
			"line 2: action is 1000000000; no environment has so many actions"},
		"half action":  {"episode,action,obs_0,next_obs_0\n1,0.5,1,2\n", "line 2: action"},
		"huge episode": {"episode,action,obs_0,next_obs_0\n1e19,0,1,2\n", "line 2: episode is"},
		"reward": {"episode,action,obs_0,next_obs_0,reward\n1,0,1,2,much\n",
			`line 2: reward is "much", want a number of magnitude at most 1e+100; where rewards are not known, leave the ` +
				"column out"},
		"flag": {"episode,action,obs_0,next_obs_0,truncated\n1,0,1,2,maybe\n", "line 2: truncated"},
		"half a flag": {"episode,action,obs_0,next_obs_0,truncated\n1,0,1,2,0.5\n",
			`line 2: truncated is "0.5", want 0 or 1, or true or false`},
		"two separators": {"episode;action\tobs_0\n", "separated by semicolons"},
	} {
		if _, err := readCSV(strings.NewReader(c.text), "x.csv", ImportOptions{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("CSV, %s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestByteOrderMarkIsNoPartOfAName(t *testing.T) {
	set, err := readCSV(strings.NewReader("\xef\xbb\xbfepisode,action,obs_0,next_obs_0\n1,0,1,2\n"), "x.csv",
		ImportOptions{})
	if err != nil || set.Trajectories[0].Observations[1] != 2 {
		t.Errorf("%+v, error %v", set, err)
	}
}

// What is not read is told: it may be a misspelt name.
func TestIgnoredArrays(t *testing.T) {
	for name, c := range map[string]struct {
		arrays map[string]npz.Array
		extra  []string
		want   []string
	}{
		"flat":      {flatArrays(), []string{"dones", "rewards"}, []string{"dones", "rewards"}},
		"imitation": {imitationArrays(), []string{"infos", "reward"}, []string{"reward"}},
	} {
		for _, extra := range c.extra {
			c.arrays[extra] = npz.Bools([]bool{true}, 1)
		}
		path := filepath.Join(t.TempDir(), "x.npz")
		if err := npz.Write(path, c.arrays); err != nil {
			t.Fatal(err)
		}
		if set, err := Open(path); err != nil || !slices.Equal(set.Ignored, c.want) {
			t.Errorf("%s: %+v, error %v, want %v ignored", name, set, err, c.want)
		}
	}
	set, err := readCSV(strings.NewReader(",episode,action,obs_0,next_obs_0,Terminated\n0,1,0,1,2,1\n"), "x.csv",
		ImportOptions{})
	if err != nil || !slices.Equal(set.Ignored, []string{"Terminated"}) {
		t.Errorf("CSV: %+v, error %v", set, err)
	}
}

// emptied takes all rows away.
func emptied(arrays map[string]npz.Array) {
	for name, a := range arrays {
		a.Shape, a.Data = append([]int{0}, a.Shape[1:]...), nil
		arrays[name] = a
	}
}

func TestOneImitationEpisode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	a := imitationArrays()
	a["indices"] = npz.Floats(nil, 0) // as NumPy's cumsum of an empty list has it
	a["terminal"] = npz.Bools([]bool{true}, 1)
	a["obs"] = npz.Array{Shape: []int{4, 2}, Data: make([]float64, 8)}
	if err := npz.Write(path, a); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path); err != nil || len(s.Trajectories) != 1 || s.Trajectories[0].Len() != 3 {
		t.Errorf("%+v, error %v", s, err)
	}
}

// Demonstrations that this project did not make lie beside its clone on machines that develop it; they are no part of
// it.
func TestIndependentSource(t *testing.T) {
	const folder = "../../../shared/demos"
	if _, err := os.Stat(folder); err != nil {
		t.Logf("NOT TESTED: there are no demonstrations of others in %s", folder)
		return
	}
	for name, want := range map[string]struct {
		episodes, steps, size, actions int
		meanReturn, returnWithin       float64
		logLikelihood                  float64 // of the expert; 0 where it is not known
	}{
		"cartpole_imitation_testdata": {57, 26964, 4, 2, 473, 1, 0},
		"lunarlander_zoo_ppo":         {50, 46492, 8, 4, 150, 5, -0.87},
		"cartpole_zoo_qrdqn_beta3":    {60, 30000, 4, 2, 500, 0, -0.555},
		"acrobot_zoo_qrdqn_beta3":     {200, 18481, 6, 3, -91, 1, -0.550},
	} {
		s, err := Open(filepath.Join(folder, name+".npz"))
		if err != nil {
			t.Error(err)
			continue
		}
		if len(s.Trajectories) != want.episodes || s.Transitions() != want.steps || s.ObservationSize() != want.size ||
			s.Actions != want.actions {
			t.Errorf("%s: %d trajectories, %d transitions, observations %v, %d actions", name, len(s.Trajectories),
				s.Transitions(), s.ObservationShape, s.Actions)
		}
		if r := s.Returns(); !scalar.EqualWithinAbs(r.Mean, want.meanReturn, want.returnWithin) {
			t.Errorf("%s: mean return %g, want %g", name, r.Mean, want.meanReturn)
		}
		// printed to two or three digits
		if got, ok := s.ExpertLogLikelihood(); ok != (want.logLikelihood != 0) ||
			!scalar.EqualWithinAbs(got, want.logLikelihood, 0.006) {
			t.Errorf("%s: expert log-likelihood %g (%v), want %g", name, got, ok, want.logLikelihood)
		}
		parts, err := Split(s.Trajectories, 1, 40, 5, 5)
		if err != nil || len(parts[0]) != 40 {
			t.Errorf("%s: a split gives %d parts, error %v", name, len(parts), err)
		}
		again := filepath.Join(t.TempDir(), name+".npz")
		if err := s.Write(again); err != nil {
			t.Error(err)
		} else if stored, err := Read(again); err != nil || !cmp.Equal(stored, s) {
			t.Errorf("%s is not the same after having been stored (error %v)", name, err)
		}
	}
}

// TestOpensBesideOtherJSON: what lies beside a file of another layout is no description unless it has a format of
// this project's.
func TestOpensBesideOtherJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	beside := func(text string) {
		if err := os.WriteFile(DescriptionPath(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, write := range map[string]func(string) error{"flat": writeFlat, "imitation": writeImitation} {
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`{"seed": 3, "env": "Mine-v0"}`, `{"format": "flat"}`, `{"format": 3}`, `[1, 2]`,
			`null`, `"format"`, "", "# notes"} {
			beside(text)
			if s, err := Open(path); err != nil || len(s.Trajectories) != 2 {
				t.Errorf("%s beside %q: error %v", name, text, err)
			}
		}
		beside(`{"format": "birl-demonstrations-9"}`)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), `"birl-demonstrations-9"`) {
			t.Errorf("%s beside a description of another format: error %v", name, err)
		}
	}
	if err := example(2, 1, 2).Write(path); err != nil {
		t.Fatal(err)
	}
	beside(`{"format": "birl-demon`)
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "needs its description x.json, whole") {
		t.Errorf("beside a description that is cut off: error %v", err)
	}
}

// TestRecordedAnew: a file of another layout over one of this project's own is refused, with the way out, which works.
// One that is damaged is told no way.
func TestRecordedAnew(t *testing.T) {
	const remedy = "if it was recorded anew, remove "
	path := filepath.Join(t.TempDir(), "x.npz")
	for name, write := range map[string]func(string) error{"flat": writeFlat, "imitation": writeImitation} {
		if err := example(2, 1, 2).Write(path); err != nil {
			t.Fatal(err)
		}
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), remedy+DescriptionPath(path)) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := os.Remove(DescriptionPath(path)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(path); err != nil || len(s.Trajectories) != 2 {
			t.Errorf("%s, by its arrays: error %v", name, err)
		}
	}
	if err := example(2, 1, 2).Write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "damaged") ||
		strings.Contains(err.Error(), remedy) {
		t.Errorf("a damaged file: error %v", err)
	}
}

// TestInputs: a JSON file is one of them if it describes the arrays beside it.
func TestInputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := example(2, 1, 2).Write(path); err != nil {
		t.Fatal(err)
	}
	table := strings.TrimSuffix(path, ".npz") + ".csv"
	for of, want := range map[string][]string{path: Files(path), table: {table}} {
		if got := Inputs(of); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", of, got, want)
		}
	}
	if err := os.WriteFile(DescriptionPath(path), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Inputs(path); !slices.Equal(got, []string{path}) {
		t.Errorf("beside other JSON: %v", got)
	}
}

// TestOtherKinds: files that are no archives are told what to do with them; those that are not there, nothing.
func TestOtherKinds(t *testing.T) {
	const minari, single, text, archive = "data sets of Minari", "is a single array, as of np.save",
		`is a text: tables are read from files with names that end in .csv, or by "demos convert --layout csv"`,
		"is not an .npz archive"
	for name, c := range map[string]struct{ content, want string }{
		"x.tsv": {"episode\taction\n", text}, "x.txt": {"épisode", text}, "x.npz": {csvExample, text},
		"x.npy": {"\x93NUMPY\x01\x00", single}, "x.hdf5": {"\x89HDF\r\n\x1a\n", minari}, "x.arrow": {"", minari},
		"short.npz": {"PK\x03\x04", archive},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), minari) != (c.want == minari) ||
			strings.Contains(err.Error(), archive) != (c.want == archive || c.want == minari) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), minari) {
		t.Errorf("a folder: error %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); err == nil || strings.Contains(err.Error(), minari) {
		t.Errorf("no file: error %v", err)
	}
}
