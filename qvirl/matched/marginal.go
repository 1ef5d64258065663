package matched

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// warpedNormal is the distribution of a warp of N(mean, std²).
type warpedNormal struct {
	warp      Warp
	mean, std float64
	m, s      float64 // mean and standard deviation of the warped
}

func newWarpedNormal(w Warp, mean, std float64) warpedNormal {
	n := warpedNormal{warp: w, mean: mean, std: std, m: mean, s: std}
	if w != identity {
		n.m, n.s = moments(n.at)
	}
	return n
}

// at returns what becomes of z of the standard normal.
func (n warpedNormal) at(z float64) float64 { return n.warp.Of(n.mean + n.std*z) }

func (n warpedNormal) Mean() float64   { return n.m }
func (n warpedNormal) StdDev() float64 { return n.s }

func (n warpedNormal) Quantile(p float64) float64 { return n.at(distuv.UnitNormal.Quantile(p)) }

func (n warpedNormal) LogProb(x float64) float64 {
	z, slope := n.warp.undo(x)
	return distuv.Normal{Mu: n.mean, Sigma: n.std}.LogProb(z) + slope
}

// expOf is the distribution of the exponential of what has another.
type expOf struct {
	log  warpedNormal
	m, s float64
}

func newExpOf(log warpedNormal) expOf {
	e := expOf{log: log}
	if log.warp == identity {
		normal := distuv.LogNormal{Mu: log.mean, Sigma: log.std}
		e.m, e.s = normal.Mean(), normal.StdDev()
	} else {
		e.m, e.s = moments(func(z float64) float64 { return math.Exp(log.at(z)) })
	}
	return e
}

func (e expOf) Mean() float64   { return e.m }
func (e expOf) StdDev() float64 { return e.s }

func (e expOf) Quantile(p float64) float64 { return math.Exp(e.log.Quantile(p)) }

func (e expOf) LogProb(x float64) float64 {
	if !(x > 0) {
		return math.Inf(-1)
	}
	return e.log.LogProb(math.Log(x)) - math.Log(x)
}

// The middle of the standard normal that moments are integrals over. Beyond, with a share of 6e-7, those of the
// exponential of a warp with heavy tails do not exist.
const (
	middle     = 5.
	middleStep = 1. / 64
)

// moments returns the mean and standard deviation of f of a standard normal, by the trapezoidal rule.
func moments(f func(z float64) float64) (mean, std float64) {
	var values, weights []float64
	for z := -middle; z <= middle; z += middleStep {
		values, weights = append(values, f(z)), append(weights, math.Exp(-z*z/2))
	}
	return stat.PopMeanStdDev(values, weights)
}
