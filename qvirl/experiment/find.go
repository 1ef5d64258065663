package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FindFile looks for a file in the working folder and those above it.
func FindFile(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("experiment: looking for %s: %w", path, err)
	}
	for {
		at := filepath.Join(dir, path)
		if _, err := os.Stat(at); err == nil {
			return at, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("experiment: %w", err)
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("experiment: there is no file %s in this folder or above it; `go run "+
				"./qvirl/cmd/qvirl expert demonstrate --help` tells how to make it", path)
		}
		dir = filepath.Dir(dir)
	}
}
