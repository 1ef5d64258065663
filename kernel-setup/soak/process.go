package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
)

// look returns what this process holds, after a collection of garbage.
func look() (s state, err error) {
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return s, errors.New("soak: there is no /proc/self/statm; soak needs Linux")
	}
	var size, resident int
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return s, fmt.Errorf("soak: /proc/self/statm: %w", err)
	}
	handles, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return s, fmt.Errorf("soak: %w", err)
	}
	return state{float64(resident * os.Getpagesize()), len(handles), runtime.NumGoroutine()}, nil
}

// children returns the processes whose parent is this one.
func children() (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is right
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())) {
			continue // ended, perhaps
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
