//go:build unix

package experiment

import (
	"math"
	"syscall"
)

// processorSeconds returns the processor time of the program so far, of all its threads together, or NaN if it is not
// known.
func processorSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return math.NaN()
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
