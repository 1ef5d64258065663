//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// ownGroup does nothing where there are no process groups: only the child itself is stopped.
func ownGroup(*exec.Cmd) {}

func interruptGroup(p *os.Process) error { return p.Kill() }

func killGroup(*os.Process) {}
