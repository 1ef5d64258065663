package neural

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/demo"
)

// Successors are further states that the transitions of a trajectory of T transitions could have led to, m − 1 for each
// beside the one that it did lead to: draws of a simulator. A learner takes the mean of all m for the expectation over
// the successor (Appendix "Evaluating Expectations over Next States").
type Successors struct {
	Observations []float32 // [T, m − 1, observation]
	Terminated   []bool    // [T, m − 1]: which of them end the episode
}

// successors returns m, the number of successors of each transition of the task's runs; 1 if they have no further ones.
func (t *Task) successors() int {
	if s := t.Runs[0].Successors; len(s) > 0 && t.Runs[0].Demos[0].Len() > 0 {
		return 1 + len(s[0].Terminated)/t.Runs[0].Demos[0].Len()
	}
	return 1
}

// checkSuccessors refuses further successors of trajectories other than m − 1 of each transition, or with numbers that
// are not finite.
func (t *Task) checkSuccessors(of []demo.Trajectory, successors []Successors) error {
	m := t.successors()
	if m == 1 && len(successors) == 0 {
		return nil
	}
	if len(successors) != len(of) {
		return fmt.Errorf("further successors of %d trajectories, want those of all %d", len(successors), len(of))
	}
	for i := range of {
		s, n := &successors[i], of[i].Len()*(m-1)
		if m == 1 || len(s.Terminated) != n || len(s.Observations) != n*t.Observation {
			return fmt.Errorf("trajectory %d: %d flags and %d numbers of further successors of %d transitions, want "+
				"as many successors of each as in the first trajectory of run 0 (%d), at least one, of %d numbers",
				i, len(s.Terminated), len(s.Observations), of[i].Len(), m-1, t.Observation)
		}
		for k, x := range s.Observations {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("trajectory %d: further successor[%d][%d] is %g, want a finite number", i,
					k/t.Observation, k%t.Observation, x)
			}
		}
	}
	return nil
}

// addSuccessors adds further successors of the transitions of trajectories, which the data is of; none change nothing.
func (d *Data) addSuccessors(of []demo.Trajectory, successors []Successors, discount float64) {
	if len(successors) == 0 {
		return
	}
	d.Successors = 1 + len(successors[0].Terminated)/of[0].Len()
	size := d.size()
	i := 0
	for t := range of {
		further := d.Scale.Apply(successors[t].Observations)
		for k := range of[t].Len() {
			from, to := k*(d.Successors-1), (k+1)*(d.Successors-1)
			d.Successor = append(append(d.Successor, d.Next[i*size:(i+1)*size]...), further[from*size:to*size]...)
			factors := []float32{d.Discount[i]}
			for _, ended := range successors[t].Terminated[from:to] {
				factor := float32(discount)
				if ended {
					factor = 0
				}
				factors = append(factors, factor)
			}
			d.Weight = append(d.Weight, weights(d.Successor[i*d.Successors*size:], factors)...)
			i++
		}
	}
}

// weights returns the weights of m successors of a transition, given their states [m, observation] and discounts [m]:
// their discounts by m, with those of equal successors merged.
func weights(states, discounts []float32) []float32 {
	out := Merged(states, discounts)
	for k := range out {
		out[k] /= float32(len(out))
	}
	return out
}

// Merged returns the weights [m] of successors with the given states [m, observation], where of equal ones with equal
// weights the first has those of all: that several draws coincide does not make the values of one state independent,
// and where the dynamics are deterministic all is as with one successor.
func Merged[T float32 | float64](states []float32, weights []T) []T {
	size := len(states) / len(weights)
	at := func(k int) []float32 { return states[k*size : (k+1)*size] }
	out := make([]T, len(weights))
	for k, weight := range weights {
		first := 0
		for weights[first] != weight || !slices.Equal(at(first), at(k)) {
			first++
		}
		out[first] += weight
	}
	return out
}
