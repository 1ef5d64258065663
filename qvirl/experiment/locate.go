package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Locate returns where a file of the project is, which is named relative to the working folder or one above it. The
// error wraps fs.ErrNotExist where it is in none.
func Locate(path string) (string, error) {
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
			return "", fmt.Errorf("experiment: the file %s in this folder or above it: %w; `go run ./qvirl/cmd/qvirl "+
				"expert --help` tells how experts and their demonstrations are made", path, fs.ErrNotExist)
		}
		dir = filepath.Dir(dir)
	}
}
