package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// specClone returns a clone with this repository's kernelspec.
func specClone(t *testing.T) layout {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("jupyter", "kernels", kernelName, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	l := clone(t)
	writeFiles(t, l.kernelspec(), map[string]string{"kernel.json": string(text)})
	return l
}

func TestKernelspecStartsTheClone(t *testing.T) {
	l, data := specClone(t), t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", data)
	prefix := t.TempDir()
	for where, want := range map[string]string{userKernelspec: filepath.Join(data, "kernels", kernelName),
		prefix: filepath.Join(prefix, "share", "jupyter", "kernels", kernelName)} {
		for range 2 { // the second time it replaces its own
			folder, err := writeKernelspec(l, where)
			if err != nil || folder != want {
				t.Fatalf("%s: folder %s, error %v, want %s", where, folder, err, want)
			}
		}
		text, err := os.ReadFile(filepath.Join(want, "kernel.json"))
		if err != nil {
			t.Fatal(err)
		}
		var spec struct {
			Argv      []string
			Language  string
			Interrupt string `json:"interrupt_mode"`
		}
		if err := json.Unmarshal(text, &spec); err != nil || len(spec.Argv) != 3 ||
			spec.Argv[1] != filepath.Join(l.kernelspec(), "launch.sh") || spec.Argv[2] != "{connection_file}" ||
			spec.Language != "go" || spec.Interrupt != "message" {
			t.Errorf("%s: %s, error %v", where, text, err)
		}
	}
	// A kernel of somebody else's stays.
	const other = `{"argv": ["/home/me/go/bin/gonb", "--kernel", "{connection_file}"], "display_name": "Go (gonb)"}`
	writeFiles(t, filepath.Join(data, "kernels", kernelName), map[string]string{"kernel.json": other})
	if _, err := writeKernelspec(l, userKernelspec); err == nil || !strings.Contains(err.Error(), "What to do") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if text, err := os.ReadFile(filepath.Join(data, "kernels", kernelName, "kernel.json")); string(text) != other {
		t.Errorf("the other kernel is now %s (error %v)", text, err)
	}
}

func TestUserJupyter(t *testing.T) {
	t.Setenv("JUPYTER_DATA_DIR", "")
	t.Setenv("HOME", "/home/me")
	t.Setenv("XDG_DATA_HOME", "")
	if runtime.GOOS != "linux" {
		return
	}
	if got, err := userJupyter(); got != "/home/me/.local/share/jupyter" || err != nil {
		t.Errorf("%s, error %v", got, err)
	}
	t.Setenv("XDG_DATA_HOME", "/data")
	if got, err := userJupyter(); got != "/data/jupyter" || err != nil {
		t.Errorf("%s, error %v", got, err)
	}
}
