package valuewalk

import "github.com/go-birl/birl/qvirl/mcmc"

// Diagnostics says how well a posterior was sampled.
type Diagnostics struct {
	mcmc.Diagnostics

	Divergences   int // trajectories after the warm-up whose energy error exceeded 1000 nats
	StepSize      float64
	LeapfrogSteps float64 // mean number in a trajectory
}
