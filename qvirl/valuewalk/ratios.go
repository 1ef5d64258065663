package valuewalk

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
)

// Density is an approximation whose density is known, so that it can be compared with the exact posterior's.
// *tabular.Gaussian is one.
type Density interface {
	Approximation
	// ValueLogProbs returns its log density at each row of x, [n, ValueDim], or an irl.ErrNoDensity.
	ValueLogProbs(x *mat.Dense) ([]float64, error)
}

// RewardDensity is an approximation whose density over rewards is known instead. *matched.Warped is one.
type RewardDensity interface {
	Approximation
	// RewardLogProbs returns its log density at rewards, with log β after them if it is inferred, a row each: [n,
	// ValueDim]. The error may be an irl.ErrNoDensity.
	RewardLogProbs(rewards *mat.Dense) ([]float64, error)
}

// LogRatios draws from an approximation and returns the logs of the ratios of the exact posterior's density to its own
// at the draws, each up to a constant. Over rewards, the exact one is prior times likelihood; over values, the change
// of variables adds its determinant. The error is an irl.ErrSingularPrior or an irl.ErrNoDensity where the prior or
// the approximation has no density.
func LogRatios(ctx context.Context, a Approximation, rng *rand.Rand, draws int) ([]float64, error) {
	t, err := newTarget(a.Problem())
	if err != nil {
		return nil, err
	}
	x, err := a.SampleValues(rng, draws)
	if err != nil {
		return nil, err
	}
	_, overValues := a.(Density)
	exact, grad, at := make([]float64, draws), make([]float64, t.dim), mat.DenseCopyOf(x)
	for i := range exact {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		exact[i] = t.eval(x.RawRowView(i), grad)
		if overValues {
			exact[i] += t.logDet()
		} else {
			copy(at.RawRowView(i), t.reward) // log β, if there is one, keeps its place
		}
	}
	var logs []float64
	switch a := a.(type) {
	case Density:
		logs, err = a.ValueLogProbs(at)
	case RewardDensity:
		logs, err = a.RewardLogProbs(at)
	default:
		err = fmt.Errorf("valuewalk: a posterior of type %T over values or rewards: %w", a, irl.ErrNoDensity)
	}
	if err != nil {
		return nil, err
	}
	floats.SubTo(logs, exact, logs)
	return logs, nil
}
