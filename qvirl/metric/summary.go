package metric

import (
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
