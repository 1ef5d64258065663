//go:build unix

package main

import (
	"math"
	"syscall"
)

// ownSeconds returns the processor time of this process so far, and childrenSeconds that of its children that have
// ended, in seconds, or NaN if it is not known.
func ownSeconds() float64 { return usedSeconds(syscall.RUSAGE_SELF) }

func childrenSeconds() float64 { return usedSeconds(syscall.RUSAGE_CHILDREN) }

func usedSeconds(who int) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		return math.NaN()
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
