//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup does nothing where there are no process groups: only the process itself is ended.
func OwnGroup(*exec.Cmd, syscall.Signal) {}

func EndGroup(p *os.Process) error { return p.Kill() }

func KillGroup(p *os.Process) { _ = p.Kill() }

func AskWhere(*os.Process) {}
