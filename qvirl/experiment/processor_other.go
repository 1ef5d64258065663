//go:build !unix

package experiment

import "math"

// ProcessorSeconds and ChildrenSeconds return NaN: the system does not tell.
func ProcessorSeconds() float64 { return math.NaN() }

func ChildrenSeconds() float64 { return math.NaN() }
