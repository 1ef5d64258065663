package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-birl/birl/envs/demo"
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

// Demonstrations reads the demonstrations in a file that Locate finds, which may not say that they are in another
// environment.
func Demonstrations(path, environment string) (*demo.Set, error) {
	at, err := Locate(path)
	if err != nil {
		return nil, err
	}
	set, err := demo.Open(at)
	if err == nil && set.Environment != "" && set.Environment != environment {
		err = fmt.Errorf("experiment: %s is of %q, want demonstrations in %q", path, set.Environment, environment)
	}
	return set, err
}
