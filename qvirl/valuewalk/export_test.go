package valuewalk

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/irl"
)

// What the tests of the matched posterior, in a package of their own, start from.
var (
	Isotropic    = isotropic
	Spoilt       = spoilt
	ExactSmall   = exactSmall
	SmallWorld   = smallWorld
	RefineStarts = refine
)

// Must is must for values of any type.
func Must[T any](v T, err error) T { return must(v, err) }

// Moments are those of each reward and each optimal state value.
type Moments struct{ Reward, Value []distuv.Normal }

// TractableMoments returns a problem with few rewards, and the moments of its posterior by quadrature.
func TractableMoments(t testing.TB) (*irl.Problem, Moments) {
	test := tractables(t)[0]
	exact := quadrature(t, test.problem, test.grid)
	of := func(column [][]float64) []distuv.Normal {
		out := make([]distuv.Normal, len(column[0]))
		for i := range out {
			mean := exact.expect(column, i, func(x float64) float64 { return x })
			variance := exact.expect(column, i, func(x float64) float64 { return (x - mean) * (x - mean) })
			out[i] = distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance)}
		}
		return out
	}
	return test.problem, Moments{of(exact.reward), of(exact.value)}
}

// BetaMoments returns a problem with an unknown β, and the mean and variance of the posterior of log β by quadrature.
func BetaMoments(t *testing.T) (p *irl.Problem, mean, variance float64) {
	p = betaProblem(t)
	points, weights, _ := betaQuadrature(t, p, 60)
	for i, b := range points {
		mean += weights[i] * b
	}
	for i, b := range points {
		variance += weights[i] * (b - mean) * (b - mean)
	}
	return p, mean, variance
}
