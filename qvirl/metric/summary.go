package metric

import "gonum.org/v1/gonum/stat"

// Summary is a metric averaged over worlds.
type Summary struct {
	N      int     // number of worlds
	Mean   float64 // NaN for none
	StdErr float64 // standard error of the mean; 0 for a single world
}

// Summarise averages the values of a metric, one a world.
func Summarise(values []float64) Summary {
	s := Summary{N: len(values), Mean: stat.Mean(values, nil)}
	if s.N > 1 {
		s.StdErr = stat.StdErr(stat.StdDev(values, nil), float64(s.N))
	}
	return s
}
