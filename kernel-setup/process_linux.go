package main

import (
	"os/exec"
	"syscall"
)

// endWithParent asks the kernel to end the child if kernel-setup itself is killed, so that no pip goes on writing
// into a virtual environment that the next install is repairing.
func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
}
