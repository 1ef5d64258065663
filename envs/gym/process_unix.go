//go:build unix

package gym

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts a worker into a process group of its own: Ctrl-C at a terminal then reaches this program alone, which
// ends its workers in order, and a worker can be ended together with what it started.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
}

// killGroup ends the process group at once; that there may be nothing left is no error.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// askWhere makes a worker write where it is to its standard error.
func askWhere(p *os.Process) { _ = p.Signal(syscall.SIGUSR1) }
