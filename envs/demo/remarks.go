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
	if s.Incomplete != "" {
		out = append(out, s.Incomplete)
	}
	taken := s.Taken()
	if never := s.Actions - len(taken); never > 0 {
		var some []int
		for a := 0; len(some) < min(never, named); a++ {
			if taken[a] == 0 {
				some = append(some, a)
			}
		}
		out = append(out, fmt.Sprintf("%d of %d actions never occur: %s; actions count from 0, wherever the "+
			"environment's begin", never, s.Actions, list(some, never)))
	}
	if len(taken) == 1 {
		out = append(out, "only one action was ever taken: demonstrations tell what is preferred by other choices too")
	}
	if _, _, unknown := s.Ends(); unknown > 0 && unknown == len(s.Trajectories) {
		out = append(out, "no trajectory is marked as terminated or truncated: all are read as cut off by whoever "+
			"recorded them, and none shows what ends an episode")
	}
	if n := len(s.Merged); n > 0 {
		out = append(out, fmt.Sprintf("observations are read as float32, which is too coarse for most changes from "+
			"row to row of the features %s: subtract an offset before storing them, such as the first time from times",
			list(s.Merged, n)))
	}
	constant := slices.DeleteFunc(s.constant(), func(f int) bool { return slices.Contains(s.Merged, f) })
	if n := len(constant); n > 0 {
		out = append(out, fmt.Sprintf("of the %d features, counted from 0, some are the same in all observations: %s",
			s.ObservationSize(), list(constant, n)))
	}
	shape := s.ObservationShape
	switch {
	case s.Replay != nil || len(s.Trajectories) == 0 || s.Trajectories[0].Frames != nil:
	case s.ObservationSize() == 1 && s.whole():
		out = append(out, "observations are single whole numbers, and are read as one feature: states that are only "+
			"numbered need a feature each, 1 in that state and 0 in others")
	case len(shape) > 1:
		out = append(out, fmt.Sprintf("observations of the shape %v are read as %d features: pictures are bytes "+
			"[frames, height, width] with at least two frames, and each observation is the one before it without its "+
			"first frame, and a frame more", shape, s.ObservationSize()))
	}
	return out
}

// named is how many actions or features a remark names.
const named = 10

// list returns the first of n numbers as text.
func list(numbers []int, n int) string {
	var some []string
	for _, k := range numbers[:min(len(numbers), named)] {
		some = append(some, strconv.Itoa(k))
	}
	if n > named {
		some = append(some, "…")
	}
	return strings.Join(some, " ")
}

// constant returns the features that are the same in all observations. Pixels are none.
func (s *Set) constant() (features []int) {
	if len(s.Trajectories) == 0 || s.Trajectories[0].Observations == nil {
		return nil
	}
	size, first := s.ObservationSize(), s.Trajectories[0].Observations
	varies := make([]bool, size)
	for _, t := range s.Trajectories {
		for i, x := range t.Observations {
			varies[i%size] = varies[i%size] || x != first[i%size]
		}
	}
	for f, v := range varies {
		if !v {
			features = append(features, f)
		}
	}
	return features
}

// rounding watches each column of numbers that become float32s.
type rounding []column

// column is what a rounding has seen of one: how often its number changed from row to row, and how many of these
// changes float32 does not show.
type column struct {
	last, low, high   float64
	changed, vanished int
}

// add takes the next number of column i.
func (r *rounding) add(i int, v float64) {
	const noise = 1e-12 // what arithmetic in float64 may leave of equal numbers
	for len(*r) <= i {
		*r = append(*r, column{last: v, low: v, high: v})
	}
	c := &(*r)[i]
	if math.Abs(v-c.last) > noise*math.Abs(v) {
		c.changed++
		if float32(v) == float32(c.last) {
			c.vanished++
		}
	}
	c.last, c.low, c.high = v, min(c.low, v), max(c.high, v)
}

// merged returns the columns of which float32 shows less than half of the changes, unless it has many numbers for their
// range, within which these changes are small then.
func (r rounding) merged() (columns []int) {
	const ulp, many = 1.0 / (1 << 23), 1 << 20
	for i, c := range r {
		step := ulp * max(math.Abs(c.low), math.Abs(c.high))
		if 2*c.vanished > c.changed && c.high-c.low < many*step {
			columns = append(columns, i)
		}
	}
	return columns
}

// whole reports whether all numbers of all observations are whole.
func (s *Set) whole() bool {
	return !slices.ContainsFunc(s.Trajectories, func(t Trajectory) bool {
		return slices.ContainsFunc(t.Observations, func(x float32) bool { return x != float32(math.Trunc(float64(x))) })
	})
}
