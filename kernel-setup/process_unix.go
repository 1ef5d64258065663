//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"

	commands "github.com/go-birl/birl/envs/command"
)

// ownGroup puts the command into a process group of its own, so that it can be stopped together with its children.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	commands.EndWithParent(cmd) // so that no pip goes on writing into an environment that the next install repairs
}

func interruptGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup ends what is left of the group; that there may be nothing left is no error.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
