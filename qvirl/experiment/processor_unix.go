//go:build unix

package experiment

import (
	"math"
	"syscall"
)

// ProcessorSeconds returns the processor time of the program so far, of all its threads together, in seconds, or NaN if
// it is not known.
func ProcessorSeconds() float64 { return usedSeconds(syscall.RUSAGE_SELF) }

// ChildrenSeconds returns that of the children that have ended, likewise.
func ChildrenSeconds() float64 { return usedSeconds(syscall.RUSAGE_CHILDREN) }

func usedSeconds(who int) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		return math.NaN()
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
