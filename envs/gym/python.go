package gym

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const (
	// mend is the command that installs what is missing.
	mend = "go run ./kernel-setup install --with envs"
	// pythonVariable names an interpreter to use instead of the installed one.
	pythonVariable = "BIRL_PYTHON"
)

// findPython returns the path of the interpreter: the chosen one, the environment variable's, the one that kernel-setup
// installed, or the first on PATH. Ours is true for the one that kernel-setup installed.
func findPython(chosen string) (path string, ours bool, err error) {
	if chosen == "" {
		chosen = os.Getenv(pythonVariable)
	}
	if chosen != "" {
		path, err := exec.LookPath(chosen)
		if err != nil {
			return "", false, fmt.Errorf("gym: the Python that was asked for: %w; `%s` installs one", err, mend)
		}
		return path, false, nil
	}
	inside := filepath.Join(".birl", "venv", "bin", "python")
	if runtime.GOOS == "windows" {
		inside = filepath.Join(".birl", "venv", "Scripts", "python.exe")
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", false, fmt.Errorf("gym: looking for Python: %w", err)
	}
	for {
		path := filepath.Join(dir, inside)
		if _, err := os.Stat(path); err == nil {
			return path, true, nil
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, false, nil
		}
	}
	return "", false, fmt.Errorf("gym: there is no Python on this machine's PATH; put Python 3.10 or newer there, then `%s` installs the environments", mend)
}
