//go:build !linux

package command

import "os/exec"

// EndWithParent does nothing where the system has no signal for a parent's death.
func EndWithParent(*exec.Cmd) {}
