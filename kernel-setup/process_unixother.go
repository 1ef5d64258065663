//go:build unix && !linux

package main

import "syscall"

// endWithParent does nothing where the system has no signal for a parent's death.
func endWithParent(*syscall.SysProcAttr) {}
