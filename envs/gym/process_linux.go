package gym

import "syscall"

// endWithParent has the system end a worker if this process is killed. A worker that waits for a request notices by itself;
// this is for one in the middle of a step.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
