package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles writes files, named relative to dir, with the folders they need.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLayoutIsFoundFromInside(t *testing.T) {
	l := clone(t)
	inside := filepath.Join(l.root, "notebooks", "deep")
	// A module inside the clone is not the clone.
	writeFiles(t, l.root, map[string]string{"notebooks/go.mod": "module example.com/other\n", "notebooks/deep/x": ""})
	got, err := findLayout(inside)
	if err != nil || got.root != l.root {
		t.Errorf("from %s: root %q, error %v, want %q", inside, got.root, err, l.root)
	}
	if _, err := findLayout(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not inside a clone") {
		t.Errorf("outside of a clone: error %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	l := clone(t)
	t.Setenv("PYTHONPATH", "/elsewhere")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod -buildvcs=false")
	t.Setenv("JUPYTER_PATH", "/mine")
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", "")
	t.Setenv("BIRL_PYTHON", "")
	t.Setenv("XLA_FLAGS", "--mine")
	writeFiles(t, l.scripts(), map[string]string{filepath.Base(l.python()): ""})
	writeFiles(t, l.private(), map[string]string{"nvidia/cu13/lib/libcudart.so.13": ""})
	got := map[string]string{}
	for _, e := range l.environment("SCALE=paper", "GOFLAGS_NOT=1") {
		key, value, _ := strings.Cut(e, "=")
		got[key] = value
	}
	for key, want := range map[string]string{
		"PYTHONPATH": "", "GOWORK": "", "GOFLAGS": "-buildvcs=false", "SCALE": "paper",
		"JUPYTER_PATH":             l.jupyter() + string(os.PathListSeparator) + "/mine",
		"PJRT_PLUGIN_LIBRARY_PATH": l.plugins(),
		"BIRL_PYTHON":              l.python(),
		"XLA_FLAGS":                "--mine",
		"JUPYTER_CONFIG_DIR":       l.private("jupyter", "config"),
		"JUPYTER_DATA_DIR":         l.private("jupyter", "data"),
		"GOMLX_NO_AUTO_INSTALL":    "1",
		"GOPJRT_CUDA_CHECKS":       "no",
	} {
		if got[key] != want {
			t.Errorf("%s=%q, want %q", key, got[key], want)
		}
	}
	if !strings.HasPrefix(got["PATH"], l.scripts()+string(os.PathListSeparator)+l.bin()) {
		t.Errorf("PATH begins otherwise than with the installed programs: %q", got["PATH"])
	}
	if want := filepath.Join(l.nvidia(), "cu13", "lib"); !strings.HasPrefix(got["LD_LIBRARY_PATH"], want) {
		t.Errorf("LD_LIBRARY_PATH %q does not begin with %q", got["LD_LIBRARY_PATH"], want)
	}
}
