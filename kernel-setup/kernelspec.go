package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
)

// kernelName is what notebooks know the Go kernel by, and the name of its folder.
const kernelName = "gonb"

// userKernelspec stands for the Jupyter folder of the user's own, in place of a prefix.
const userKernelspec = "user"

// userJupyter is the folder in which every Jupyter of the user looks for kernels.
func userJupyter() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Jupyter"), nil
	case "windows":
		if dir := os.Getenv("APPDATA"); dir != "" {
			return filepath.Join(dir, "jupyter"), nil
		}
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// writeKernelspec writes a kernelspec that starts this clone's kernel, for the user or below a prefix such as a virtual
// environment, and returns its folder. It refuses to replace a kernel of the same name that is not of a clone.
func writeKernelspec(l layout, where string) (folder string, err error) {
	jupyter := filepath.Join(where, "share", "jupyter")
	if where == userKernelspec {
		if jupyter, err = userJupyter(); err != nil {
			return "", err
		}
	}
	launch := filepath.Join(l.kernelspec(), "launch.sh")
	var spec map[string]any
	if err := atomicfile.ReadJSON(filepath.Join(l.kernelspec(), "kernel.json"), &spec); err != nil {
		return "", err
	}
	spec["argv"] = []string{"sh", launch, "{connection_file}"}
	if folder, err = filepath.Abs(filepath.Join(jupyter, "kernels", kernelName)); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "kernel.json")
	former, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err == nil && !ofAClone(former) {
		return "", fmt.Errorf("%s is another Go kernel's, which is left alone\n  What to do: remove that folder, or "+
			"name a prefix of its own: --kernelspec PREFIX, and JUPYTER_PATH=PREFIX/share/jupyter where it is to be "+
			"found", path)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return folder, atomicfile.WriteJSON(path, spec)
}

// ofAClone reports whether a kernelspec starts the kernel of a clone of this repository, wherever that is or was.
func ofAClone(spec []byte) bool {
	var s struct {
		Argv []string `json:"argv"`
	}
	end := filepath.Join("kernel-setup", "jupyter", "kernels", kernelName, "launch.sh")
	return json.Unmarshal(spec, &s) == nil && len(s.Argv) == 3 && strings.HasSuffix(s.Argv[1], end)
}
