//go:build !linux

package main

import "os/exec"

// endWithParent does nothing where the system has no signal for a parent's death.
func endWithParent(*exec.Cmd) {}
