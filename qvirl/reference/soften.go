package reference

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Temperatures of soft planning, in standard deviations of the reward that the prior knows least, and of the one that
// it knows best.
const (
	softest = 4
	hardest = 1. / 32
)

// soften returns tries from a mode towards what explains the demonstrations of an expert that plans softly. A value is
// that of the best action, and what does not pay has no share in it: where an explanation pays only as a whole, such as
// several rewards that must all be high, no reward alone changes the likelihood, or none without loss. An expert that
// is paid for the entropy of what it does (see mdp.Solver.SolveSoft) goes everywhere a little: the gradient of its
// likelihood tells which rewards share in explanations far out, and climbs lead towards them, from one temperature to
// the next.
func (e *explorer) soften(from *mode) (tries []try) {
	explained, reach, end := e.LogLikelihood(from.u, nil), e.reach(from.u), e.work()+climbWork
	least, most := math.Inf(1), 0.0
	for _, v := range e.problem.Prior.Variances() {
		if v > 0 {
			least, most = math.Min(least, math.Sqrt(v)), math.Max(most, math.Sqrt(v))
		}
	}
	var temperatures []float64
	for t := softest * most; t >= hardest*least; t /= 2 {
		temperatures = append(temperatures, t)
	}
	for _, t := range temperatures {
		way := make([]float64, e.Dim())
		e.temperature = t
		e.LogLikelihood(from.u, way)
		if e.temperature = 0; from.follow(way) {
			tries = append(tries, e.along(way, from.u, explained, reach)...)
		}
	}
	at := from.u
	for _, t := range temperatures {
		if e.work() > end || e.ctx.Err() != nil {
			break
		}
		e.temperature = t
		at = e.climb(at)
		e.temperature = 0
		tries = e.append(tries, at)
	}
	return tries
}

// reach is how far out a mode may be that counts beside one at u: see farther.
func (t *Target) reach(u []float64) float64 {
	return math.Sqrt(2*(floats.Sum(t.lacks(u))+inferior) + floats.Dot(u, u))
}
