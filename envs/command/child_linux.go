package command

import (
	"os/exec"
	"syscall"
)

// EndWithParent asks the kernel to end the process that a command is to start, by SIGTERM, if this one is killed.
func EndWithParent(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGTERM
}
