package main

import "syscall"

// endWithParent asks the kernel to end the child if kernel-setup itself is killed, so that no pip goes on writing
// into a virtual environment that the next install is repairing.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
