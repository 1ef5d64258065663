package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

// peers are No-U-Turn samplers in Python of the same exact posterior, which the project does not install.
var peers = []string{"numpyro", "blackjax"}

// Iterations of each of a peer's two chains: those that adapt it, and those that are kept.
const peerWarmup, peerDraws = 300, 700

//go:embed peers/sampler.py
var peerSampler []byte

// peerCommand returns the command that samples the posterior of a problem by a peer, in the Python that has it, and a
// function that removes the files that it reads.
func peerCommand(ctx context.Context, python, name string, problem *irl.Problem) (*exec.Cmd, func(), error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	script, file := filepath.Join(dir, "sampler.py"), filepath.Join(dir, "problem.npz")
	if err := errors.Join(os.WriteFile(script, peerSampler, 0o644), problemfile.Write(file, problem)); err != nil {
		remove()
		return nil, nil, err
	}
	return exec.CommandContext(ctx, python, script, name, file, strconv.Itoa(peerWarmup), strconv.Itoa(peerDraws), "1"),
		remove, nil
}

// missingPeer returns why a method that is a peer cannot be measured; nil of others and where it can.
func missingPeer(ctx context.Context, python, name string) error {
	if !slices.Contains(peers, name) {
		return nil
	}
	if python == "" {
		return fmt.Errorf("%s is left out: --python does not say which Python has it", name)
	}
	if err := exec.CommandContext(ctx, python, "-c", "import jax, numpyro, "+name).Run(); err != nil {
		return fmt.Errorf("%s is left out: %s does not import jax, numpyro and it: %w", name, python, err)
	}
	return nil
}
