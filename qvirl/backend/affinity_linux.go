package backend

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// seeingOneProcessor calls f where the system says that there is one processor, so that an XLA client made there starts
// one thread for its operations instead of one a processor: with several, it cuts even a small matrix product into
// tasks, and the threads spend their time taking them from each other. The threads may run anywhere afterwards. Where
// the system does not allow it, f is called as it is.
func seeingOneProcessor(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if unix.SchedGetaffinity(0, &all) != nil {
		f()
		return
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	before := threads()
	if unix.SchedSetaffinity(0, &one) != nil {
		f()
		return
	}
	f()
	for id := range threads() {
		if !before[id] {
			_ = unix.SchedSetaffinity(id, &all) // a thread that has ended meanwhile needs none
		}
	}
	_ = unix.SchedSetaffinity(0, &all) // what it was set to before cannot be refused
}

// threads returns the numbers of the threads of this process.
func threads() map[int]bool {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	ids := map[int]bool{}
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids[id] = true
		}
	}
	return ids
}
