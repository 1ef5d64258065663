package mcmc

import (
	"math"
	"math/rand/v2"
)

// StepSize adapts the step size of an integrator by dual averaging towards an acceptance probability (Hoffman and
// Gelman, 2014, Algorithm 5, with their constants).
type StepSize struct {
	target, centre   float64
	deficit, average float64
	count            float64
}

// NewStepSize starts from a step size, towards an acceptance probability.
func NewStepSize(step, target float64) StepSize {
	return StepSize{target: target, centre: math.Log(10 * step), average: math.Log(step)}
}

// Next returns the step size to try after a transition with the given acceptance probability.
func (a *StepSize) Next(accept float64) float64 {
	const shrink, delay, forget = 0.05, 10, 0.75
	a.count++
	a.deficit += (a.target - accept - a.deficit) / (a.count + delay)
	log := a.centre - math.Sqrt(a.count)/shrink*a.deficit
	a.average += math.Pow(a.count, -forget) * (log - a.average)
	return math.Exp(log)
}

// Average returns the averaged step size.
func (a *StepSize) Average() float64 { return math.Exp(a.average) }

// MeanStep returns the geometric mean of the step sizes of several chains.
func MeanStep[C any](chains []C, step func(C) float64) float64 {
	log := 0.0
	for _, k := range chains {
		log += math.Log(step(k)) / float64(len(chains))
	}
	return math.Exp(log)
}

// Leapfrogs returns the number of steps of a trajectory of a mean length, jittered uniformly by half of it, which keeps
// trajectories from closing on themselves (Neal, 2011): at most limit, however short the steps are.
func Leapfrogs(rng *rand.Rand, length, step float64, limit int) int {
	return int(math.Min(math.Ceil((0.5+rng.Float64())*length/step), float64(limit)))
}
