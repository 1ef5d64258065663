//go:build unix

// Package process ends processes that this one started: with all that they have started, or when this one is killed.
package process

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup puts a command into a process group of its own: Ctrl-C at a terminal then reaches this program alone, and
// the command can be ended together with what it started. If this program is killed, the command gets the signal, as
// EndWithParent has it.
func OwnGroup(c *exec.Cmd, signal syscall.Signal) {
	EndWithParent(c, signal)
	attributes(c).Setpgid = true
}

func attributes(c *exec.Cmd) *syscall.SysProcAttr {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	return c.SysProcAttr
}

// EndGroup asks a process and its group to end.
func EndGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// KillGroup ends what is left of the group at once; that there may be nothing left is no error.
func KillGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// AskWhere sends SIGUSR1, after which Python's faulthandler can write where a process is.
func AskWhere(p *os.Process) { _ = p.Signal(syscall.SIGUSR1) }
