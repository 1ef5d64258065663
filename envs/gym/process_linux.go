package gym

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe returns a pipe of which a read blocks the thread. Those of os.Pipe are watched by a thread of the runtime, and
// whatever comes wakes it, on a processor that the worker could use.
func pipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

// readable reports whether a read from the file returns at once.
func readable(f *os.File) bool {
	fds := [1]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, _ := unix.Poll(fds[:], 0)
	return n != 0
}

// yield lets other goroutines and other processes run that wait for this processor.
func yield() {
	runtime.Gosched()
	_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}
