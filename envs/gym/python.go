package gym

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// mend is the command that installs what is missing.
	mend = "go run ./kernel-setup install --with envs"
	// pythonVariable names the interpreter to use.
	pythonVariable = "BIRL_PYTHON"
)

// findPython returns the path of the interpreter: the chosen one, the environment variable's, or the first on PATH.
// Ours is true for one that kernel-setup installed.
func findPython(chosen string) (path string, ours bool, err error) {
	chosen = cmp.Or(chosen, os.Getenv(pythonVariable))
	if chosen != "" {
		path, err := exec.LookPath(chosen)
		if err != nil {
			return "", false, fmt.Errorf("gym: the Python that was asked for: %w; `%s` installs one", err, mend)
		}
		return path, installed(path), nil
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, false, nil
		}
	}
	return "", false, fmt.Errorf("gym: there is no Python on this machine's PATH, and neither Config.Python nor %s "+
		"names one; put Python 3.10 or newer there, then `%s` installs the environments", pythonVariable, mend)
}

// installed tells by its path, …/.birl/venv/bin/python, whether kernel-setup installed an interpreter.
func installed(path string) bool {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return len(parts) >= 4 && slices.Equal(parts[len(parts)-4:len(parts)-2], []string{".birl", "venv"})
}
