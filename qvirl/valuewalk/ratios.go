package valuewalk

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Density is an approximation whose density is known, so that it can be compared with the exact posterior's.
// *tabular.Gaussian is one.
type Density interface {
	Approximation
	// ValueLogProbs returns its log density at each row of x, [n, RewardDim].
	ValueLogProbs(x *mat.Dense) ([]float64, error)
}

// RewardDensity is an approximation whose density over rewards is known instead. *matched.Warped is one.
type RewardDensity interface {
	Approximation
	// RewardLogProbs returns its log density at rewards, with log β after them if it is inferred, a row each: [n,
	// ValueDim].
	RewardLogProbs(rewards *mat.Dense) ([]float64, error)
}

// LogRatios draws from an approximation and returns the logs of the ratios of the exact posterior's density to its own
// at the draws, each up to a constant. The prior and the approximation must have a density. Over rewards, the exact one
// is prior times likelihood; over values, the change of variables adds its determinant.
func LogRatios(a Approximation, rng *rand.Rand, draws int) ([]float64, error) {
	t, err := newTarget(a.Problem())
	if err != nil {
		return nil, err
	}
	x, err := a.SampleValues(rng, draws)
	if err != nil {
		return nil, err
	}
	exact, grad := make([]float64, draws), make([]float64, t.dim)
	var logs []float64
	switch a := a.(type) {
	case Density:
		for i := range exact {
			exact[i] = t.eval(x.RawRowView(i), grad) + t.logDet()
		}
		logs, err = a.ValueLogProbs(x)
	case RewardDensity:
		rewards := mat.DenseCopyOf(x) // with log β, if there is one, in its place
		for i := range exact {
			exact[i] = t.eval(x.RawRowView(i), grad)
			copy(rewards.RawRowView(i), t.reward)
		}
		logs, err = a.RewardLogProbs(rewards)
	default:
		err = fmt.Errorf("valuewalk: a posterior of type %T has no density over values or rewards to compare", a)
	}
	if err != nil {
		return nil, err
	}
	floats.SubTo(logs, exact, logs)
	return logs, nil
}
