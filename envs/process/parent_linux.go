package process

import (
	"os/exec"
	"syscall"
)

// EndWithParent asks the kernel to send a signal to the process that a command is to start if this one is killed.
func EndWithParent(c *exec.Cmd, signal syscall.Signal) { attributes(c).Pdeathsig = signal }
