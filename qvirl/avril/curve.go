package avril

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// Lambdas is the grid over which λ is chosen for five actions: from the prior to collapse, dense below 1/5.
var Lambdas = []float64{0, 0.02, 0.05, 0.1, 0.13, 0.15, 0.17, 0.18, 0.19, 0.2, 0.25, 0.3, 0.5, 1}

// World is a held-out world to choose λ on.
type World struct {
	Problem    *irl.Problem
	Truth      *metric.Truth
	References metric.References
}

// CurvePoint is what one λ gives.
type CurvePoint struct {
	Lambda    float64
	Results   []metric.Result // one a world
	Collapsed float64         // fraction of all rewards that collapsed
}

// Summary averages the metrics over the worlds.
func (p CurvePoint) Summary() map[string]metric.Summary { return metric.SummariseResults(p.Results) }

// Curve fits the worlds at each λ, everything else as in c, and measures the posteriors by the given number of samples.
// progress counts the values of λ.
func Curve(ctx context.Context, c Config, lambdas []float64, worlds []World, samples int,
	progress irl.Progress) ([]CurvePoint, error) {
	problems := make([]*irl.Problem, len(worlds))
	for i, w := range worlds {
		problems[i] = w.Problem
	}
	out := make([]CurvePoint, 0, len(lambdas))
	for _, lambda := range lambdas {
		c.Lambda = lambda
		method, err := New(c)
		if err != nil {
			return nil, err
		}
		posteriors, err := method.Fit(ctx, problems, nil)
		if err != nil {
			return nil, err
		}
		point := CurvePoint{Lambda: lambda}
		rewards := 0
		for i, post := range posteriors {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			drawn, err := post.Sample(rand.New(rand.NewPCG(c.Seed, sampleStream)), samples)
			if err != nil {
				return nil, err
			}
			result, err := metric.Evaluate(post, drawn, worlds[i].Truth, worlds[i].References)
			if err != nil {
				return nil, fmt.Errorf("avril: λ = %g, world %d: %w", lambda, i, err)
			}
			point.Results = append(point.Results, result)
			point.Collapsed += float64(post.(*Posterior).diagnostics.Collapsed)
			rewards += worlds[i].Problem.RewardDim()
		}
		point.Collapsed /= float64(rewards)
		out = append(out, point)
		progress.Report(len(out), len(lambdas), fmt.Sprintf("λ = %g", lambda))
	}
	return out, nil
}

// sampleStream is the random stream of the samples by which posteriors are measured; the optimisation's is 0.
const sampleStream = 1

// BestLambda returns the λ of the curve with the smallest mean W1 to the exact reference, as the paper chose it.
func BestLambda(curve []CurvePoint) (float64, error) {
	best, lambda := math.Inf(1), math.NaN()
	for _, p := range curve {
		if w1, ok := p.Summary()[metric.W1]; ok && w1.Mean < best {
			best, lambda = w1.Mean, p.Lambda
		}
	}
	if math.IsNaN(lambda) {
		return 0, errors.New("avril: the curve holds no W1: the worlds need an exact reference")
	}
	return lambda, nil
}
