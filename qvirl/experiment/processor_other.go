//go:build !unix

package experiment

import "math"

// processorSeconds would return the processor time of the program; it is not known here.
func processorSeconds() float64 { return math.NaN() }
