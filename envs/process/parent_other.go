//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// EndWithParent does nothing where the system has no signal for a parent's death.
func EndWithParent(*exec.Cmd, syscall.Signal) {}
