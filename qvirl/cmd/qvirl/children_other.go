//go:build !unix

package main

import "math"

// ownSeconds and childrenSeconds return NaN: the system does not tell.
func ownSeconds() float64 { return math.NaN() }

func childrenSeconds() float64 { return math.NaN() }
