package reference

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// best returns the rewards of the best mode found.
func best(t *testing.T, p *irl.Problem) []float64 {
	t.Helper()
	target, err := NewTarget(p)
	if err != nil {
		t.Fatal(err)
	}
	_, searched := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
	found := searched.modes
	if len(found) == 0 {
		t.Fatal("no mode")
	}
	target.LogLikelihood(found[0].u, nil)
	return target.reward
}

// TestGateOfFeatures: the reward behind a gate is a sum over ten features, with random signs, that those elsewhere
// depend on, too.
func TestGateOfFeatures(t *testing.T) {
	const features, elsewhere, goal = 10, 20, 4
	p := gate(t, 40, 1, -10, elsewhere)
	weights := mat.NewDense(p.RewardDim(), features, nil)
	rng := mcmc.Stream(3, 4, 5)
	for i := goal; i < p.RewardDim(); i++ {
		for j := range features {
			w := rng.NormFloat64()
			if i == goal {
				w = math.Copysign(1/math.Sqrt(features), w)
			}
			weights.Set(i, j, w)
		}
	}
	p.Prior = irl.Prior{Mean: p.Prior.Mean, LowRank: weights}
	mean, std := roadSum(40, -10)
	if got := best(t, p)[goal]; math.Abs(got-mean) > std {
		t.Errorf("the best mode has the reward %g, the posterior %g ± %g", got, mean, std)
	}
}

// TestGateOfEqualRewards: the toll behind a gate is worth it only where the mean of four rooms is far out, and
// demonstrations hold the rooms equal, so that none of them can be alone.
func TestGateOfEqualRewards(t *testing.T) {
	const demos, rooms, toll, room, fork, cost = 30, 4, 4, 5, 9, -3.5
	p := gate(t, demos, 1, 0, 0)
	rows, std := append(rowsOf(p.MDP), make([][]mdp.Transition, 4*rooms)...), make([]float64, fork+rooms)
	means := append(p.Prior.Mean, make([]float64, 2*rooms)...)
	means[toll] = cost
	for i := range rooms {
		std[room+i] = 1
		rows[2*toll] = append(rows[2*toll], mdp.Transition{Next: room + i, Prob: 1. / rooms})
		for a := range 2 {
			rows[2*(fork+i)+a] = []mdp.Transition{{Next: room + (i+a)%rooms, Prob: 1}}
			for range 200 {
				p.Demos = append(p.Demos, mdp.Step{State: fork + i, Action: a})
			}
		}
	}
	rows[2*toll+1] = rows[2*toll]
	p.Prior = irl.DiagonalPrior(means, std)
	var err error
	if p.MDP, err = mdp.New(fork+rooms, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	// with the rooms equal, their mean is N(0, 1/4)
	var grid, weights []float64
	for x := -3.; x < 6; x += 1e-3 {
		logLikelihood := -demos * math.Log1p(math.Exp(-2*math.Max(-1, cost+x)))
		grid, weights = append(grid, x), append(weights, math.Exp(logLikelihood-2*x*x))
	}
	mean, deviation := stat.PopMeanStdDev(grid, weights)
	if got := stat.Mean(best(t, p)[room:fork], nil); mean < 3 || math.Abs(got-mean) > deviation {
		t.Errorf("in the best mode the rooms have the mean %g, in the posterior %g ± %g", got, mean, deviation)
	}
}
