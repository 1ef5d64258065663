package demo

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Taken returns how often each action was taken, of those that were.
func (s *Set) Taken() map[int]int {
	taken := map[int]int{}
	for _, t := range s.Trajectories {
		for _, a := range t.Actions {
			taken[a]++
		}
	}
	return taken
}

// Remarks says in sentences what a file may have meant otherwise than it is read.
func (s *Set) Remarks() (out []string) {
	const named = 10 // of the actions that never occur
	taken := s.Taken()
	if never := s.Actions - len(taken); never > 0 {
		var some []string
		for a := 0; len(some) < min(never, named); a++ {
			if taken[a] == 0 {
				some = append(some, strconv.Itoa(a))
			}
		}
		if never > named {
			some = append(some, "…")
		}
		out = append(out, fmt.Sprintf("%d of %d actions never occur: %s; actions count from 0, wherever the "+
			"environment's begin", never, s.Actions, strings.Join(some, " ")))
	}
	shape := s.ObservationShape
	switch {
	case s.Replay != nil || len(s.Trajectories) == 0 || s.Trajectories[0].Frames != nil:
	case len(shape) == 0 && s.whole():
		out = append(out, "observations are single whole numbers, and are read as one feature: states that are only "+
			"numbered need a feature each, 1 in that state and 0 in others")
	case len(shape) > 1:
		out = append(out, fmt.Sprintf("observations of the shape %v are read as %d features: pictures are bytes "+
			"[frames, height, width]", shape, s.ObservationSize()))
	}
	return out
}

// whole reports whether all numbers of all observations are whole.
func (s *Set) whole() bool {
	return !slices.ContainsFunc(s.Trajectories, func(t Trajectory) bool {
		return slices.ContainsFunc(t.Observations, func(x float32) bool { return x != float32(math.Trunc(float64(x))) })
	})
}
