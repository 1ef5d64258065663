//go:build !unix

package experiment

import "math"

// ProcessorSeconds returns NaN: the system does not tell.
func ProcessorSeconds() float64 { return math.NaN() }

// ChildrenSeconds returns NaN, likewise.
func ChildrenSeconds() float64 { return math.NaN() }
