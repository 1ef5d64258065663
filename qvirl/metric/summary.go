package metric

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// Summarise averages the values of a metric, one a world: NaN for none. The standard error is 0 for a single one.
func Summarise(values []float64) exhibit.Estimate {
	e := exhibit.Estimate{N: len(values), Mean: stat.Mean(values, nil)}
	if e.N > 1 {
		e.StdErr = stat.StdErr(stat.StdDev(values, nil), float64(e.N))
	}
	return e
}

// RankCorrelation returns Spearman's rank correlation of two series of as many numbers: NaN where all of one are equal.
func RankCorrelation(x, y []float64) float64 { return stat.Correlation(ranks(x), ranks(y), nil) }

// ranks returns how many numbers each of them exceeds, where each of those that equal it counts half.
func ranks(x []float64) []float64 {
	sorted, out := slices.Sorted(slices.Values(x)), make([]float64, len(x))
	for i, v := range x {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		out[i] = float64(first+last-1) / 2
	}
	return out
}
