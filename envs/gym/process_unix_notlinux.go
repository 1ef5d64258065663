//go:build unix && !linux

package gym

import "syscall"

// endWithParent does nothing where the system has no signal for a parent's death: a worker ends when it has finished
// the request it is at.
func endWithParent(*syscall.SysProcAttr) {}
