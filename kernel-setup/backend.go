package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-birl/birl/envs/progress"
)

// backendEnv is the part of the environment that chooses what notebooks compute on: the named backend, or pure Go
// where the user did without XLA and the caller's own environment names none. Otherwise it is empty, and the notebooks
// choose the best that is installed.
func backendEnv(l layout, name string) ([]string, error) {
	if name != "" {
		return []string{backendVariable + "=" + name}, nil
	}
	s, err := loadState(l.state())
	if err != nil || !s.Choices.NoXLA || os.Getenv(backendVariable) != "" {
		return nil, err
	}
	return []string{backendVariable + "=go"}, nil
}

// probeLimit is how long a one-line computation may take; it needs less than a second.
const probeLimit = 60 * time.Second

// probed is the outcome of a one-line computation on a backend.
type probed struct {
	Value        float64 `json:"value"`
	Milliseconds int64   `json:"milliseconds"`
}

// probeStep computes one line on each installed plugin, so that a plugin that does not work on this machine is
// reported by the installation and not by the first notebook. Building the probe also compiles what notebooks link to.
func (l layout) probeStep(goMod string, plugins []plugin) step {
	inputs := []string{"probe 1", goMod}
	for _, p := range plugins {
		inputs = append(inputs, p.sum)
	}
	return step{
		name:   "probe",
		title:  "A computation on XLA",
		digest: digest(inputs...),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			say("compiling GoMLX, about a minute the first time")
			if err := buildProbe(ctx, l, say); err != nil {
				return nil, err
			}
			for _, p := range plugins {
				if p.name == cudaPlugin.name && !hasNVIDIA() {
					continue // cannot work, and the user has been told
				}
				say("computing on xla:" + p.name)
				if _, err := probe(ctx, l, "xla:"+l.plugin(p)); err != nil {
					return nil, hinted{err, "compute on the pure Go backend: go run ./kernel-setup install --no-xla"}
				}
			}
			return outputsOf(l.private(), true, "bin/"+filepath.Base(l.tool("probe")))
		},
	}
}

// buildProbe compiles the probe, which takes a second when nothing has changed.
func buildProbe(ctx context.Context, l layout, say func(string)) error {
	return buildTool(ctx, l, "probe", "./kernel-setup/probe", say)
}

// probe computes 3² + 4² on the named backend in a process of its own. buildProbe must have succeeded.
func probe(ctx context.Context, l layout, backend string) (probed, error) {
	limited, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var got probed
	var problem error
	var words []string
	run := command{
		name: l.tool("probe"), args: []string{backend}, dir: l.root, env: l.environment(), grace: time.Second,
		stdout: func(line string) { problem = json.Unmarshal([]byte(line), &got) },
		output: func(line string) {
			if len(words) < 3 {
				words = append(words, cut(line, 300))
			}
		},
	}
	err := run.run(limited)
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return probed{}, fmt.Errorf("no answer within %s", progress.Brief(probeLimit))
	case err != nil:
		return probed{}, probeError(err, words)
	case problem != nil:
		return probed{}, problem
	case got.Value != 25:
		return probed{}, fmt.Errorf("3² + 4² came out as %v", got.Value)
	}
	return got, nil
}

// probeError picks the telling lines of a probe that failed: its last one if it ended by itself, its first ones if it
// crashed, because a crash says its cause before it lists registers.
func probeError(err error, first []string) error {
	failed, ok := errors.AsType[*commandError](err)
	if !ok || len(failed.Tail) == 0 {
		return err
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return errors.New(failed.Tail[len(failed.Tail)-1])
	}
	return errors.New(strings.Join(first, "\n"))
}
