package variational

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/neural"
)

// The parameters of M inducing points, of which only the displacement is trained.
const (
	paramInducingState     = "inducing.state"     // [M, observation]
	paramInducingAction    = "inducing.action"    // [M, actions], one-hot
	paramInducingSuccessor = "inducing.successor" // [M, m, observation]
	paramInducingWeight    = "inducing.weight"    // [M, m]
	paramDisplacement      = "inducing.displacement"
)

// inducing returns the transitions at the inducing points (Appendix "KL and the loss", last paragraph): each is a
// demonstrated one whose state and successors are displaced together, by up to one of the units in which the network
// sees each feature (see climb): a standard deviation with neural.Config's Unit 0, and a fifth of one of a standardised
// feature by default. What an action changes is taken to be what it changed at the demonstrated state: true nearby
// only, which is why a point can get no farther.
//
// Of the rewards of all states and actions, those at the points are a marginal, whose divergence is at most that of
// all. The points that bring the bound nearest are where the divergence is greatest: there, the displacement climbs,
// while all else descends. Its gradient is therefore reversed.
func inducing(w *neural.Weights) neural.Transitions {
	shift := climb(w.Parameter(paramDisplacement))
	return neural.Transitions{
		State: Add(w.Parameter(paramInducingState), shift), Action: w.Parameter(paramInducingAction),
		Successor: Add(w.Parameter(paramInducingSuccessor), ExpandAxes(shift, 2)),
		Weight:    w.Parameter(paramInducingWeight),
	}
}

// climbRate is how much faster displacements move than other parameters. Adam moves all of them at about the learning
// rate; points that are no faster than the network lag behind it, while it fits the prior at them and nowhere else.
const climbRate = 10

// climb returns the displacements tanh(climbRate x), with their gradient reversed.
func climb(x *Node) *Node {
	return Tanh(MulScalar(Sub(MulScalar(StopGradient(x), 2), x), climbRate))
}

// inducingPoints returns the parameters of m inducing points, undisplaced: m of the demonstrated transitions, spread
// over them.
func inducingPoints(d *neural.Data, m int) ([]neural.Parameter, error) {
	if d.Len() < m {
		return nil, fmt.Errorf("variational: inducing = %d, but there are only %d demonstrated transitions to start "+
			"from", m, d.Len())
	}
	size := len(d.Scale.Mean)
	count, successor, weight := d.Successors, d.Successor, d.Weight
	if count == 0 {
		count, successor, weight = 1, d.Next, d.Discount
	}
	states, actions := make([]float32, 0, m*size), make([]float32, m*d.Actions)
	var successors, weights []float32
	for k, i := range spread(d, m) {
		states = append(states, d.State[i*size:(i+1)*size]...)
		actions[k*d.Actions+int(d.Action[i])] = 1
		successors = append(successors, successor[i*count*size:(i+1)*count*size]...)
		weights = append(weights, weight[i*count:(i+1)*count]...)
	}
	return []neural.Parameter{
		{Name: paramInducingState, Dims: []int{m, size}, Value: states, Fixed: true},
		{Name: paramInducingAction, Dims: []int{m, d.Actions}, Value: actions, Fixed: true},
		{Name: paramInducingSuccessor, Dims: []int{m, count, size}, Value: successors, Fixed: true},
		{Name: paramInducingWeight, Dims: []int{m, count}, Value: weights, Fixed: true},
		{Name: paramDisplacement, Dims: []int{m, size}, Value: make([]float32, m*size), NoDecay: true},
	}, nil
}

// spread returns the indices of m transitions that lie far apart in state ⊕ one-hot action, as networks see them: the
// first one, then always the one that is farthest from all before.
func spread(d *neural.Data, m int) []int {
	size := len(d.Scale.Mean)
	// squared distance of each transition to those chosen
	nearest := slices.Repeat([]float64{math.Inf(1)}, d.Len())
	chosen := make([]int, m)
	for k := 1; k < m; k++ {
		last, farthest := chosen[k-1], 0
		for i := range nearest {
			distance := 0.0
			if d.Action[i] != d.Action[last] {
				distance = 2
			}
			for f := range size {
				x := float64(d.State[i*size+f] - d.State[last*size+f])
				distance += x * x
			}
			nearest[i] = min(nearest[i], distance)
			if nearest[i] > nearest[farthest] {
				farthest = i
			}
		}
		chosen[k] = farthest
	}
	return chosen
}
