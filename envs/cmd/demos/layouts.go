package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/process"
)

// layouts is the Python program that reads the layouts that Python's own libraries store.
//
//go:embed layouts.py
var layouts string

// needsPython reports whether a file or folder is of a layout that Python reads: of Minari, or of datasets.
func needsPython(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() ||
		slices.Contains([]string{".hdf5", ".h5", ".arrow", ".parquet"}, strings.ToLower(filepath.Ext(path)))
}

// importByPython reads such a file by the interpreter, or where that is empty by the one of Gymnasium's environments.
func importByPython(ctx context.Context, python, path string, o demo.ImportOptions) (*demo.Set, error) {
	if python == "" {
		command.UseInstallation()
		if python = os.Getenv(command.PythonVariable); python == "" {
			python = "python3"
		}
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "demos-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flat := filepath.Join(dir, "flat.npz")
	run := exec.CommandContext(ctx, python, "-I", "-", path, flat)
	process.EndWithParent(run, syscall.SIGTERM)
	run.Stdin = strings.NewReader(layouts)
	var said bytes.Buffer
	run.Stderr = &said
	about, err := run.Output()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, failed := errors.AsType[*exec.ExitError](err); !failed {
			return nil, fmt.Errorf("reading %s needs Python: %w; install it with: go run ./kernel-setup install "+
				"--with envs", path, err)
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%s: %s", path, lines[len(lines)-1])
	}
	var described demo.Description
	if err := json.Unmarshal(about, &described); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o.Description.Environment = cmp.Or(o.Description.Environment, described.Environment)
	o.Description.Actions = cmp.Or(o.Description.Actions, described.Actions)
	o.Description.Source, o.Layout = filepath.Base(filepath.Clean(path)), demo.Flat
	set, err := demo.Import(flat, o)
	if err != nil { // names the file in between
		return nil, errors.New(strings.ReplaceAll(err.Error(), flat, path))
	}
	return set, nil
}
