//go:build installed

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
)

// Files that the libraries themselves have written (testdata/make.py) hold what was put into them.
func TestConvertWhatLibrariesStore(t *testing.T) {
	command.UseInstallation()
	python := os.Getenv(command.PythonVariable)
	text, err := os.ReadFile("testdata/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth []struct {
		Observations          [][]float32
		Actions               []int
		Rewards               []float64
		Terminated, Truncated bool
	}
	if err := json.Unmarshal(text, &truth); err != nil || len(truth) != 3 {
		t.Fatalf("%d episodes, error %v", len(truth), err)
	}
	for name, c := range map[string]struct {
		path, module, environment string
		truncation                bool // whether the layout tells it from a record that was stopped
	}{
		"Minari":              {"testdata/minari", "h5py", "CartPole-v1", true},
		"Minari's file":       {"testdata/minari/data/main_data.hdf5", "h5py", "CartPole-v1", true},
		"imitation":           {"testdata/imitation", "pyarrow", "", false},
		"imitation's shard":   {"testdata/imitation/data-00000-of-00001.arrow", "pyarrow", "", false},
		"imitation's parquet": {"", "pyarrow", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "x.npz")
			if exec.Command(python, "-I", "-c", "import "+c.module).Run() != nil {
				status, _, stderr := run(t, "convert", "testdata/imitation", "--out", out)
				if status != 1 || !strings.Contains(stderr, "lacks pyarrow: install it there") {
					t.Errorf("status %d, %q", status, stderr)
				}
				t.Logf("NOT TESTED: %s has no %s", python, c.module)
				return
			}
			if c.path == "" {
				c.path = filepath.Join(t.TempDir(), "x.parquet")
				err := exec.Command(python, "-I", "-c", "import sys, pyarrow.ipc as i, pyarrow.parquet as q; "+
					"q.write_table(i.open_stream(sys.argv[1]).read_all(), sys.argv[2])",
					"testdata/imitation/data-00000-of-00001.arrow", c.path).Run()
				if err != nil {
					t.Fatal(err)
				}
			}
			status, stdout, stderr := run(t, "convert", c.path, "--out", out)
			if status != 0 {
				t.Fatal(stderr)
			}
			set, err := demo.Read(out)
			if err != nil {
				t.Fatal(err)
			}
			if set.Environment != c.environment || len(set.Trajectories) != len(truth) ||
				set.Source != filepath.Base(c.path) || !strings.Contains(stdout, "3 trajectories") {
				t.Errorf("%+v; convert says %s", set.Description, stdout)
			}
			for i, want := range truth {
				got := set.Trajectories[i]
				if got.Terminated != want.Terminated || got.Truncated != (want.Truncated && c.truncation) {
					t.Errorf("episode %d: terminated %v, truncated %v", i, got.Terminated, got.Truncated)
				}
				if c.truncation && got.Seed != int64(i) || !c.truncation && got.Seed != demo.NoSeed {
					t.Errorf("episode %d has the seed %d", i, got.Seed)
				}
				if got.Len() != len(want.Actions) {
					t.Fatalf("episode %d has %d steps, want %d", i, got.Len(), len(want.Actions))
				}
				for k, o := range want.Observations {
					for j, x := range o {
						if got.Observation(k)[j] != x {
							t.Fatalf("episode %d: observation[%d][%d] = %g, want %g", i, k, j, got.Observation(k)[j], x)
						}
					}
					if k < got.Len() && (got.Actions[k] != want.Actions[k] || got.Rewards[k] != want.Rewards[k]) {
						t.Fatalf("episode %d: action[%d] %d with the reward %g, want %d and %g", i, k, got.Actions[k],
							got.Rewards[k], want.Actions[k], want.Rewards[k])
					}
				}
			}
		})
	}
	// Actions count from 0, and there are as many as the file says.
	if exec.Command(python, "-I", "-c", "import h5py").Run() == nil {
		dir, out := t.TempDir(), filepath.Join(t.TempDir(), "x.npz")
		if err := os.CopyFS(dir, os.DirFS("testdata/minari")); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "data", "metadata.json")
		text, err := os.ReadFile(path)
		text = []byte(strings.Replace(string(text), `\"start\": 0, \"n\": 2`, `\"start\": -1, \"n\": 4`, 1))
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := run(t, "convert", dir, "--out", out); status != 0 {
			t.Fatal(stderr)
		}
		set, err := demo.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range truth[0].Actions {
			if got := set.Trajectories[0].Actions[k]; got != want+1 || set.Actions != 4 {
				t.Fatalf("action[%d] is %d of %d, want %d of 4", k, got, set.Actions, want+1)
			}
		}
	}
	// Errors name the file that was given, not one in between.
	if exec.Command(python, "-I", "-c", "import h5py").Run() == nil {
		bad := filepath.Join(t.TempDir(), "bad.hdf5")
		text, err := os.ReadFile("testdata/minari/data/main_data.hdf5")
		if err == nil {
			err = os.WriteFile(bad, text, 0o600)
		}
		if err == nil {
			err = exec.Command(python, "-I", "-c", "import sys, h5py; "+
				"h5py.File(sys.argv[1], 'r+')['episode_0/rewards'][2] = float('nan')", bad).Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		status, _, stderr := run(t, "convert", bad, "--out", filepath.Join(t.TempDir(), "x.npz"))
		if want := "error: demo: " + bad + `: array "reward": [2] is NaN`; status != 1 || !strings.HasPrefix(stderr, want) {
			t.Errorf("status %d, %q, want %q", status, stderr, want)
		}
	}
	if exec.Command(python, "-I", "-c", "import h5py").Run() == nil {
		part := filepath.Join(t.TempDir(), "part.hdf5")
		const script = "import sys, h5py; " +
			"h5py.File(sys.argv[1], 'w').create_dataset('episode_0/observations', data=[[0.5]])"
		if err := exec.Command(python, "-I", "-c", script, part).Run(); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := run(t, "convert", part, "--out", filepath.Join(t.TempDir(), "x.npz"))
		if status != 1 || !strings.Contains(stderr, "episode_0/actions is missing") {
			t.Errorf("without actions: status %d, %q", status, stderr)
		}
	}
	// What is none of these says so.
	empty, splits, arrow := t.TempDir(), t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(splits, "dataset_dict.json"), []byte(`{"splits": ["train", "test"]}`), 0o600),
		os.Mkdir(filepath.Join(arrow, "data"), 0o700),
		os.WriteFile(filepath.Join(arrow, "data", "metadata.json"), []byte(`{"data_format": "arrow"}`), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for want, path := range map[string]string{"it holds no episodes": empty, "absent.hdf5": "absent.hdf5",
		"it has the splits train, test: convert the folder of one of them": splits,
		"Minari's arrow format, of which only hdf5 is read":                arrow} {
		if path != "absent.hdf5" && exec.Command(python, "-I", "-c", "import pyarrow").Run() != nil {
			continue
		}
		status, _, stderr := run(t, "convert", path, "--out", filepath.Join(t.TempDir(), "x.npz"))
		if status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %q, want %q", path, status, stderr, want)
		}
	}
}

// Pictures stay bytes, and what a folder of datasets does not name, such as a cache, is not read.
func TestConvertPicturesOfDatasets(t *testing.T) {
	command.UseInstallation()
	python, folder := os.Getenv(command.PythonVariable), t.TempDir()
	if exec.Command(python, "-I", "-c", "import pyarrow").Run() != nil {
		t.Logf("NOT TESTED: %s has no pyarrow", python)
		return
	}
	const script = `
import json, pyarrow as pa, sys
frames = [[[10 * t, 200], [3, t], [t, 0]] for t in range(6)]
kind = pa.uint8()
for _ in range(4):
    kind = pa.list_(kind)
table = pa.table({"obs": pa.array([[frames[t : t + 2] for t in range(5)]], kind), "acts": [[0, 1, 0, 1]],
                  "terminal": [True]})
for name in ("data-00000-of-00001.arrow", "cache-1.arrow"):
    with pa.ipc.new_stream(f"{sys.argv[1]}/{name}", table.schema) as w:
        w.write_table(table)
json.dump({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}, open(sys.argv[1] + "/state.json", "w"))
`
	if err := exec.Command(python, "-I", "-c", script, folder).Run(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "x.npz")
	if status, _, stderr := run(t, "convert", folder, "--out", out); status != 0 {
		t.Fatal(stderr)
	}
	set, err := demo.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	f := set.Trajectories[0].Frames
	if len(set.Trajectories) != 1 || f == nil || f.Stack != 2 || len(f.Pixels) != 6*6 || f.Pixels[6*5] != 50 {
		t.Errorf("%d trajectories, of which the first holds the frames %+v", len(set.Trajectories), f)
	}
}

// An interpreter without NumPy is told as one, as one without the other libraries is.
func TestPythonWithoutNumPy(t *testing.T) {
	command.UseInstallation()
	bare := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\nexec '" + os.Getenv(command.PythonVariable) + "' -S \"$@\"\n" // without installed packages
	if err := os.WriteFile(bare, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := run(t, "convert", "testdata/imitation", "--python", bare, "--out",
		filepath.Join(t.TempDir(), "x.npz"))
	if status != 1 || !strings.Contains(stderr, "lacks numpy: install it there, or name another") {
		t.Errorf("status %d, %q", status, stderr)
	}
}
